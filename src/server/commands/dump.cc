// DUMP and RESTORE: a value as bytes that any Redis takes.

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/lifetime_options.h"
#include "server/dump_payload.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

Status dump(Call& call) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const std::optional<std::string> value, keys->get(call[1]));
  call.looked_up(call[1], value.has_value());
  if (value) {
    call.reply.bulk(to_dump_payload(*value));
  } else {
    call.reply.null();
  }
  return {};
}

// RESTORE key ttl payload [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency]
struct RestoreOptions {
  bool replace = false;
  bool absolute = false;
};

// Access times and frequencies are not kept: they are only checked.
Result<RestoreOptions> parse_restore(const Call& call) {
  constexpr int64_t kHighestFrequency = 255;
  RestoreOptions options;
  bool has_idle_time = false;
  bool has_frequency = false;
  for (size_t i = 4; i < call.size(); ++i) {
    const bool has_more = i + 1 < call.size();
    if (same_word(call[i], "REPLACE")) {
      options.replace = true;
    } else if (same_word(call[i], "ABSTTL")) {
      options.absolute = true;
    } else if (same_word(call[i], "IDLETIME") && has_more && !has_frequency) {
      const std::optional<int64_t> seconds = to_integer(call[++i]);
      if (!seconds) return not_an_integer();
      if (*seconds < 0) return refuse("ERR Invalid IDLETIME value, must be >= 0");
      has_idle_time = true;
    } else if (same_word(call[i], "FREQ") && has_more && !has_idle_time) {
      const std::optional<int64_t> frequency = to_integer(call[++i]);
      if (!frequency) return not_an_integer();
      if (*frequency < 0 || *frequency > kHighestFrequency)
        return refuse("ERR Invalid FREQ value, must be >= 0 and <= 255");
      has_frequency = true;
    } else {
      return syntax_error();
    }
  }
  return options;
}

// kNever: for ever, which a TTL of 0 means.
Result<int64_t> restored_deadline(const Call& call, bool absolute) {
  const std::optional<int64_t> ms = to_integer(call[2]);
  if (!ms) return not_an_integer();
  if (*ms < 0) return refuse("ERR Invalid TTL value, must be >= 0");
  if (*ms == 0) return kNever;
  const TimeFrom from = absolute ? TimeFrom::kEpoch : TimeFrom::kNow;
  LAPSE_TRY_ASSIGN(const Deadline deadline, to_deadline(call, call[2], TimeUnit::kMilliseconds, from));
  return deadline.ms;  // what is left of a TTL, which has had its jitter
}

// As Redis has it, the key is new also where another one was replaced.
Status put(const Call& call, std::string_view value, int64_t deadline_ms) {
  const std::string_view key = call[1];
  LAPSE_TRY_ASSIGN(Keyspace * keys, call.write());
  LAPSE_TRY(
      keys->put(key, value, deadline_ms == kNever ? Lifetime::forever() : Lifetime::until(deadline_ms)));
  call.told(kNew, "new", key);
  call.changed(kGeneric, "restore", key);
  return {};
}

// What is restored after its deadline is not there; what it would have replaced neither.
Status erase(const Call& call) {
  LAPSE_TRY_ASSIGN(Keyspace * keys, call.write());
  LAPSE_TRY(keys->erase(call[1]));
  call.changed(kGeneric, "del", call[1]);
  return {};
}

Status restore(Call& call) {
  LAPSE_TRY_ASSIGN(const RestoreOptions options, parse_restore(call));
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const bool taken, keys->exists(call[1]));
  if (taken && !options.replace) return refuse("BUSYKEY Target key name already exists.");
  LAPSE_TRY_ASSIGN(const int64_t deadline_ms, restored_deadline(call, options.absolute));
  LAPSE_TRY_ASSIGN(const std::string value, from_dump_payload(call[3]));
  if (deadline_ms > call.now_ms()) {
    LAPSE_TRY(put(call, value, deadline_ms));
  } else if (taken) {
    LAPSE_TRY(erase(call));
  }
  call.reply.ok();
  return {};
}

constexpr KeyPositions kOneKey = {1, 1, 1};

constexpr Command kCommands[] = {
    {"dump", 2, kReadOnly, kOneKey, "generic", "2.6.0", "Returns a value as bytes that RESTORE takes.", dump},
    {"restore", -4, kWrite | kDenyOom, kOneKey, "generic", "2.6.0",
     "Writes a value that DUMP has returned, here or in a Redis.", restore},
};

}  // namespace

std::span<const Command> dump_commands() { return kCommands; }

}  // namespace lapse::server
