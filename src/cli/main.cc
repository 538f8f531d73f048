// lapse: the command line.
//
//   lapse serve [FILE] [--port 6379] …     serves a store to Redis clients

#include <iostream>
#include <string_view>
#include <vector>

#include "cli/serve.h"

namespace {

constexpr std::string_view kUsage =
    "usage: lapse serve [FILE] [--setting value …]     serves a store to Redis clients\n"
    "       lapse serve --help                         the settings\n"
    "       lapse --version\n";

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  const std::string_view verb = arguments.empty() ? "" : arguments[0];
  if (verb == "serve") return lapse::cli::serve(std::span(arguments).subspan(1));
  if (verb == "--version") {
    std::cout << "lapse " << LAPSE_VERSION << "\n";
    return 0;
  }
  const bool asked = verb == "--help" || verb == "help";
  (asked ? std::cout : std::cerr) << kUsage;
  return asked ? 0 : 2;
}
