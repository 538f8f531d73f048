#include "server/statistics.h"

namespace lapse::server {

namespace {
constexpr size_t kMostErrorCodes = 128;  // Redis's limit, too: some codes quote what a client sent
}

void CommandStatistics::add_call(uint64_t took_us) {
  ++calls;
  us += took_us;
  size_t duration = 0;
  while (duration + 1 < by_duration.size() && took_us > longest_us(duration)) ++duration;
  ++by_duration[duration];
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

void Statistics::take_rate(int64_t steady_ms) {
  constexpr int64_t kEveryMs = 1'000;
  const int64_t passed_ms = steady_ms - rate_taken_at_ms_;
  if (passed_ms < kEveryMs) return;
  commands_per_second = (commands - commands_then_) * 1'000 / static_cast<uint64_t>(passed_ms);
  rate_taken_at_ms_ = steady_ms;
  commands_then_ = commands;
}

}  // namespace lapse::server
