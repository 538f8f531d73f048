// lapse-bench: Lapse measured beside other stores. One subcommand a layer.

#include <cstdio>
#include <exception>
#include <string_view>

#include "bench/engine_command.h"
#include "bench/server_command.h"
#include "bench/store_command.h"
#include "bench/usage.h"

namespace lapse::bench {
namespace {

struct Command {
  std::string_view name;
  std::string_view help;
  int (*run)(const Arguments& arguments);
};

constexpr Command kCommands[] = {
    {"engine", kEngineHelp, run_engine_command},
    {"store", kStoreHelp, run_store_command},
    {"server", kServerHelp, run_server_command},
};

void print_help() {
  std::puts("lapse-bench: Lapse measured beside other stores\n");
  for (const Command& command : kCommands) std::puts(command.help.data());
}

int run(const Arguments& arguments) {
  if (arguments.empty()) throw UsageError("which benchmark?");
  for (const std::string_view argument : arguments) {
    if (argument == "--help" || argument == "-h") return print_help(), 0;
  }
  for (const Command& command : kCommands) {
    if (arguments[0] == command.name) return command.run({arguments.begin() + 1, arguments.end()});
  }
  throw UsageError("there is no benchmark named " + std::string(arguments[0]));
}

}  // namespace
}  // namespace lapse::bench

int main(int argc, char** argv) {
  try {
    return lapse::bench::run({argv + 1, argv + argc});
  } catch (const lapse::bench::UsageError& error) {
    std::fprintf(stderr, "lapse-bench: %s (see lapse-bench --help)\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lapse-bench: %s\n", error.what());
    return 1;
  }
}
