// Strings that are numbers.

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/values.h"
#include "server/text.h"

namespace lapse::server {

namespace {

Result<int64_t> integer_argument(std::string_view text) {
  const std::optional<int64_t> number = to_integer(text);
  if (!number) return not_an_integer();
  return *number;
}

Status add(Call& call, int64_t by) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const std::optional<std::string> value, keys->get(call[1]));
  LAPSE_TRY_ASSIGN(const int64_t present, value ? integer_argument(*value) : Result<int64_t>(0));
  int64_t sum = 0;
  if (__builtin_add_overflow(present, by, &sum)) return refuse("ERR increment or decrement would overflow");
  LAPSE_TRY(change_value(call, call[1], std::to_string(sum), "incrby"));
  call.reply.integer(sum);
  return {};
}

Status incr(Call& call) { return add(call, 1); }
Status decr(Call& call) { return add(call, -1); }

Status incrby(Call& call) {
  LAPSE_TRY_ASSIGN(const int64_t by, integer_argument(call[2]));
  return add(call, by);
}

Status decrby(Call& call) {
  LAPSE_TRY_ASSIGN(const int64_t by, integer_argument(call[2]));
  if (by == std::numeric_limits<int64_t>::min()) return refuse("ERR decrement would overflow");
  return add(call, -by);
}

// Longer than any number that INCRBYFLOAT writes.
constexpr size_t kLongestReal = 5 * 1024;

// As strtold reads it, hexadecimal and "inf" included; but nothing before or behind it, and nothing beyond the type.
Result<long double> real_argument(std::string_view text) {
  const Status refusal = refuse("ERR value is not a valid float");
  const auto is_blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  if (text.empty() || text.size() >= kLongestReal || is_blank(text[0])) return refusal;
  const std::string terminated(text);
  char* end = nullptr;
  errno = 0;
  const long double number = std::strtold(terminated.c_str(), &end);
  if (end != terminated.c_str() + terminated.size() || std::isnan(number)) return refusal;
  if (errno == ERANGE && (std::isinf(number) || number == 0)) return refusal;
  return number;
}

// With up to 17 decimals, and never with an exponent: what people typed comes out as they typed it.
std::string to_decimal(long double number) {
  char digits[kLongestReal];
  const int length = std::snprintf(digits, sizeof digits, "%.17Lf", number);
  std::string text(digits, static_cast<size_t>(length));
  text.resize(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

Status incrbyfloat(Call& call) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const std::optional<std::string> value, keys->get(call[1]));
  LAPSE_TRY_ASSIGN(const long double present, value ? real_argument(*value) : Result<long double>(0.0L));
  LAPSE_TRY_ASSIGN(const long double by, real_argument(call[2]));
  const long double sum = present + by;
  if (!std::isfinite(sum)) return refuse("ERR increment would produce NaN or Infinity");
  const std::string text = to_decimal(sum);
  LAPSE_TRY(change_value(call, call[1], text, "incrbyfloat"));
  call.reply.bulk(text);
  return {};
}

constexpr uint32_t kFlags = kWrite | kDenyOom | kFast;

constexpr Command kCommands[] = {
    {"incr", 2, kFlags, kOneKey, "string", "1.0.0", "Adds one to a number.", incr},
    {"decr", 2, kFlags, kOneKey, "string", "1.0.0", "Takes one from a number.", decr},
    {"incrby", 3, kFlags, kOneKey, "string", "1.0.0", "Adds to a number.", incrby},
    {"decrby", 3, kFlags, kOneKey, "string", "1.0.0", "Takes from a number.", decrby},
    {"incrbyfloat", 3, kFlags, kOneKey, "string", "2.6.0", "Adds to a number with decimals.", incrbyfloat},
};

}  // namespace

std::span<const Command> number_commands() { return kCommands; }

}  // namespace lapse::server
