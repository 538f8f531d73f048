#include "server/statistics.h"

namespace lapse::server {

namespace {
constexpr size_t kMostErrorCodes = 128;  // Redis's limit, too: some codes quote what a client sent
}

void Statistics::count_error(std::string_view text) {
  ++error_replies;
  std::string code(text.substr(0, text.find(' ')));
  const auto at = errors_by_code.find(code);
  if (at != errors_by_code.end()) {
    ++at->second;
  } else if (errors_by_code.size() < kMostErrorCodes) {
    errors_by_code.emplace(std::move(code), 1);
  }
}

}  // namespace lapse::server
