// Lifetimes: giving keys a deadline, asking for it, taking it away.

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/lifetime_options.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

// ------------------------------------------------------------------------------------------- EXPIRE …

// [NX | XX] [GT | LT]
struct ExpireConditions {
  bool if_none = false;
  bool if_any = false;
  bool if_later = false;
  bool if_sooner = false;

  // A permanent key ends later than any deadline.
  bool allow(int64_t present_ms, int64_t wanted_ms) const {
    if (if_none && present_ms != kNever) return false;
    if (if_any && present_ms == kNever) return false;
    if (if_later && wanted_ms <= present_ms) return false;
    return !if_sooner || wanted_ms < present_ms;
  }
  // What the store is to hold to: a family's jitter and max_ttl change what is wanted.
  Only only() const {
    if (if_later) return Only::kIfLater;
    return if_sooner ? Only::kIfSooner : Only::kAlways;
  }
};

Result<ExpireConditions> parse_conditions(const Call& call) {
  ExpireConditions conditions;
  for (const std::string_view word : call.arguments.subspan(3)) {
    if (same_word(word, "NX")) {
      conditions.if_none = true;
    } else if (same_word(word, "XX")) {
      conditions.if_any = true;
    } else if (same_word(word, "GT")) {
      conditions.if_later = true;
    } else if (same_word(word, "LT")) {
      conditions.if_sooner = true;
    } else {
      return refuse("ERR Unsupported option " + std::string(word));
    }
  }
  if (conditions.if_none && (conditions.if_any || conditions.if_later || conditions.if_sooner))
    return refuse("ERR NX and XX, GT or LT options at the same time are not compatible");
  if (conditions.if_later && conditions.if_sooner)
    return refuse("ERR GT and LT options at the same time are not compatible");
  return conditions;
}

// A deadline that has passed already deletes. Returns whether it was set.
Result<bool> set_deadline(const Call& call, std::string_view key, const Deadline& deadline, Only only) {
  LAPSE_TRY_ASSIGN(Keyspace * keys, call.write());
  if (deadline.has_passed(call)) {
    LAPSE_TRY(keys->erase(key));
    call.changed(kGeneric, "del", key);
    return true;
  }
  LAPSE_TRY_ASSIGN(const bool is_set, expire_at(call, keys, key, deadline, only));
  if (is_set) call.changed(kGeneric, "expire", key);
  return is_set;
}

Status expire(Call& call, TimeUnit unit, TimeFrom from) {
  LAPSE_TRY_ASSIGN(const ExpireConditions conditions, parse_conditions(call));
  LAPSE_TRY_ASSIGN(const Deadline deadline, to_deadline(call, call[2], unit, from));
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const std::optional<int64_t> present_ms, keys->deadline_of(call[1]));
  bool is_set = false;
  if (present_ms && conditions.allow(*present_ms, deadline.ms)) {
    LAPSE_TRY_ASSIGN(is_set, set_deadline(call, call[1], deadline, conditions.only()));
  }
  call.reply.integer(is_set ? 1 : 0);
  return {};
}

Status expire_seconds(Call& call) { return expire(call, TimeUnit::kSeconds, TimeFrom::kNow); }
Status expire_ms(Call& call) { return expire(call, TimeUnit::kMilliseconds, TimeFrom::kNow); }
Status expire_at_seconds(Call& call) { return expire(call, TimeUnit::kSeconds, TimeFrom::kEpoch); }
Status expire_at_ms(Call& call) { return expire(call, TimeUnit::kMilliseconds, TimeFrom::kEpoch); }

Status persist(Call& call) {
  LAPSE_TRY_ASSIGN(Keyspace * keys, call.write());
  LAPSE_TRY_ASSIGN(const bool had_deadline, keys->persist(call[1]));
  if (had_deadline) call.changed(kGeneric, "persist", call[1]);
  call.reply.integer(had_deadline ? 1 : 0);
  return {};
}

// ---------------------------------------------------------------------------------------------- TTL …

constexpr int64_t kNoKey = -2;
constexpr int64_t kNoDeadline = -1;

Status tell_deadline(Call& call, TimeUnit unit, TimeFrom from) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const std::optional<int64_t> deadline_ms, keys->deadline_of(call[1]));
  call.looked_up(call[1], deadline_ms.has_value());
  if (!deadline_ms || *deadline_ms == kNever) {
    call.reply.integer(deadline_ms ? kNoDeadline : kNoKey);
    return {};
  }
  const int64_t ms = from == TimeFrom::kNow ? *deadline_ms - call.now_ms() : *deadline_ms;
  call.reply.integer(unit == TimeUnit::kSeconds ? ms / 1000 + (ms % 1000 >= 500 ? 1 : 0) : ms);
  return {};
}

Status ttl(Call& call) { return tell_deadline(call, TimeUnit::kSeconds, TimeFrom::kNow); }
Status pttl(Call& call) { return tell_deadline(call, TimeUnit::kMilliseconds, TimeFrom::kNow); }
Status expiretime(Call& call) { return tell_deadline(call, TimeUnit::kSeconds, TimeFrom::kEpoch); }
Status pexpiretime(Call& call) { return tell_deadline(call, TimeUnit::kMilliseconds, TimeFrom::kEpoch); }

constexpr KeyPositions kOneKey = {1, 1, 1};
constexpr uint32_t kFastWrite = kWrite | kFast;
constexpr uint32_t kFastRead = kReadOnly | kFast;

constexpr Command kCommands[] = {
    {"expire", -3, kFastWrite, kOneKey, "generic", "1.0.0", "Gives a key so many seconds to live.",
     expire_seconds},
    {"expireat", -3, kFastWrite, kOneKey, "generic", "1.2.0", "Lets a key live until a Unix time in seconds.",
     expire_at_seconds},
    {"expiretime", 2, kFastRead, kOneKey, "generic", "7.0.0",
     "Returns the deadline of a key as a Unix time in seconds.", expiretime},
    {"persist", 2, kFastWrite, kOneKey, "generic", "2.2.0", "Takes a key's deadline away.", persist},
    {"pexpire", -3, kFastWrite, kOneKey, "generic", "2.6.0", "Gives a key so many milliseconds to live.",
     expire_ms},
    {"pexpireat", -3, kFastWrite, kOneKey, "generic", "2.6.0",
     "Lets a key live until a Unix time in milliseconds.", expire_at_ms},
    {"pexpiretime", 2, kFastRead, kOneKey, "generic", "7.0.0",
     "Returns the deadline of a key as a Unix time in milliseconds.", pexpiretime},
    {"pttl", 2, kFastRead, kOneKey, "generic", "2.6.0", "Returns the milliseconds that a key has left.",
     pttl},
    {"ttl", 2, kFastRead, kOneKey, "generic", "1.0.0", "Returns the seconds that a key has left.", ttl},
};

}  // namespace

std::span<const Command> expire_commands() { return kCommands; }

}  // namespace lapse::server
