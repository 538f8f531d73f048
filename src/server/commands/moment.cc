#include "server/commands/moment.h"

#include <limits>

#include "server/text.h"

namespace lapse::server {

namespace {

using std::chrono::milliseconds;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

struct Unit {
  std::string_view name;
  int64_t ms;
};
constexpr Unit kUnits[] = {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};

}  // namespace

std::optional<milliseconds> to_duration(std::string_view text) {
  const size_t digits = text.find_first_not_of("0123456789");
  if (digits == std::string_view::npos) return std::nullopt;
  const std::optional<int64_t> number = to_integer(text.substr(0, digits));
  if (!number) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (!same_word(text.substr(digits), unit.name)) continue;
    if (*number > kMax / unit.ms) return std::nullopt;
    return milliseconds(*number * unit.ms);
  }
  return std::nullopt;
}

std::string duration_text(milliseconds duration) {
  for (const Unit& unit : kUnits) {
    if (duration.count() % unit.ms == 0 && (duration.count() > 0 || unit.ms == 1))
      return std::to_string(duration.count() / unit.ms).append(unit.name);
  }
  return {};
}

Result<int64_t> to_moment_ms(const Call& call, std::string_view text) {
  const int64_t now_ms = call.now_ms();
  if (same_word(text, "now")) return now_ms;
  if (const std::optional<int64_t> unix_ms = to_integer(text); unix_ms && *unix_ms >= 0) return *unix_ms;
  if (text.starts_with('-') || text.starts_with('+')) {
    const std::optional<milliseconds> away = to_duration(text.substr(1));
    if (away && text.front() == '-' && away->count() <= now_ms) return now_ms - away->count();
    if (away && text.front() == '+' && away->count() <= kMax - now_ms) return now_ms + away->count();
  }
  return refuse(
      "ERR invalid time: milliseconds since 1970, or a duration from now as in -5m or +10s, or now");
}

}  // namespace lapse::server
