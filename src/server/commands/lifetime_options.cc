#include "server/commands/lifetime_options.h"

#include <limits>

#include "base/try.h"
#include "server/text.h"

namespace lapse::server {

namespace {

Status invalid_expire_time(const Call& call) {
  return refuse("ERR invalid expire time in '" + std::string(call.command.name) + "' command");
}

struct Word {
  std::string_view word;
  TimeUnit unit;
  TimeFrom from;
};
constexpr Word kWords[] = {{"EX", TimeUnit::kSeconds, TimeFrom::kNow},
                           {"PX", TimeUnit::kMilliseconds, TimeFrom::kNow},
                           {"EXAT", TimeUnit::kSeconds, TimeFrom::kEpoch},
                           {"PXAT", TimeUnit::kMilliseconds, TimeFrom::kEpoch}};

}  // namespace

// Checked before the arithmetic: nothing here may overflow.
Result<int64_t> to_deadline_ms(const Call& call, std::string_view number, TimeUnit unit, TimeFrom from) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const std::optional<int64_t> given = to_integer(number);
  if (!given) return not_an_integer();
  int64_t ms = *given;
  if (unit == TimeUnit::kSeconds) {
    if (ms > kMax / 1000 || ms < std::numeric_limits<int64_t>::min() / 1000) return invalid_expire_time(call);
    ms *= 1000;
  }
  if (from == TimeFrom::kNow) {
    if (ms > kMax - call.now_ms()) return invalid_expire_time(call);
    ms += call.now_ms();
  }
  return ms;
}

Result<int64_t> to_new_deadline_ms(const Call& call, std::string_view number, TimeUnit unit, TimeFrom from) {
  const std::optional<int64_t> given = to_integer(number);
  if (given && *given <= 0) return invalid_expire_time(call);
  return to_deadline_ms(call, number, unit, from);
}

Result<std::optional<int64_t>> take_deadline(const Call& call, size_t* i) {
  if (*i + 1 >= call.size()) return std::optional<int64_t>();
  for (const Word& word : kWords) {
    if (!same_word(call[*i], word.word)) continue;
    LAPSE_TRY_ASSIGN(const int64_t deadline_ms, to_new_deadline_ms(call, call[*i + 1], word.unit, word.from));
    ++*i;
    return std::optional<int64_t>(deadline_ms);
  }
  return std::optional<int64_t>();
}

}  // namespace lapse::server
