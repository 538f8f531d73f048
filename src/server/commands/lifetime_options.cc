#include "server/commands/lifetime_options.h"

#include <limits>

#include "base/try.h"
#include "server/text.h"

namespace lapse::server {

namespace {

Status invalid_expire_time(const Call& call) {
  return refuse("ERR invalid expire time in '" + std::string(call.command.name) + "' command");
}

}  // namespace

// Checked before the arithmetic: nothing here may overflow.
Result<Deadline> to_deadline(const Call& call, std::string_view number, TimeUnit unit, TimeFrom from) {
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
  if (ms == kNever) return invalid_expire_time(call);  // the store's word for a key that stays
  return Deadline{ms, from};
}

Result<Deadline> to_new_deadline(const Call& call, std::string_view number, TimeUnit unit, TimeFrom from) {
  const std::optional<int64_t> given = to_integer(number);
  if (given && *given <= 0) return invalid_expire_time(call);
  return to_deadline(call, number, unit, from);
}

Result<bool> expire_at(const Call& call, Keyspace* keys, std::string_view key, const Deadline& deadline,
                       Only only) {
  if (deadline.from == TimeFrom::kEpoch) return keys->expire_at(key, deadline.ms, only);
  return keys->expire(key, std::chrono::milliseconds(deadline.ms - call.now_ms()), only);
}

struct LifetimeOptions::Word {
  std::string_view word;
  Besides only_for;  // kNothing: for all commands, and a number follows
  TimeUnit unit = TimeUnit::kSeconds;
  TimeFrom from = TimeFrom::kNow;
};

const LifetimeOptions::Word LifetimeOptions::kWords[] = {
    {"EX", Besides::kNothing, TimeUnit::kSeconds, TimeFrom::kNow},
    {"PX", Besides::kNothing, TimeUnit::kMilliseconds, TimeFrom::kNow},
    {"EXAT", Besides::kNothing, TimeUnit::kSeconds, TimeFrom::kEpoch},
    {"PXAT", Besides::kNothing, TimeUnit::kMilliseconds, TimeFrom::kEpoch},
    {"KEEPTTL", Besides::kKeepTtl},
    {"PERSIST", Besides::kPersist},
};

bool LifetimeOptions::take(const Call& call, size_t* i) {
  for (const Word& word : kWords) {
    if (!same_word(call[*i], word.word)) continue;
    const bool has_number = word.only_for == Besides::kNothing;
    if (word_ != nullptr && word_ != &word) return false;
    if (!has_number && word.only_for != besides_) return false;
    if (has_number && *i + 1 == call.size()) return false;
    word_ = &word;
    if (has_number) number_ = call[++*i];
    return true;
  }
  return false;
}

bool LifetimeOptions::keeps_ttl() const { return word_ != nullptr && word_->only_for == Besides::kKeepTtl; }
bool LifetimeOptions::persists() const { return word_ != nullptr && word_->only_for == Besides::kPersist; }

Result<std::optional<Deadline>> LifetimeOptions::deadline(const Call& call) const {
  if (word_ == nullptr || word_->only_for != Besides::kNothing) return std::optional<Deadline>();
  LAPSE_TRY_ASSIGN(const Deadline deadline, to_new_deadline(call, number_, word_->unit, word_->from));
  return std::optional(deadline);
}

}  // namespace lapse::server
