// Keys that go: which are due when, and removing many at once.

#include <limits>
#include <optional>
#include <vector>

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/moment.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

// PURGE [limit]: of all databases and families. A call must not hold up the others for long, unless it is told to.
Status purge(Call& call) {
  uint64_t limit = 10'000;
  if (call.size() > 2) return wrong_arguments(call.command.name);
  if (call.size() == 2) {
    const std::optional<int64_t> given = to_integer(call[1]);
    if (!given || *given < 1) return refuse("ERR the limit must be a positive integer");
    limit = static_cast<uint64_t>(*given);
  }
  Server& server = call.server;
  bool more_due = false;
  LAPSE_TRY_ASSIGN(const uint64_t removed,
                   server.expirer().remove_due(
                       call.now_ms(), limit,
                       [&](int db, std::string_view key) { server.told_expired(db, key); }, &more_due));
  server.count_expired(removed, /*by_purge=*/true);
  call.reply.map(2);
  call.reply.bulk("removed");
  call.reply.integer(static_cast<int64_t>(removed));
  call.reply.bulk("more-due");
  call.reply.boolean(more_due);
  return {};
}

// EXPIRING from to [LIMIT count]
Status expiring(Call& call) {
  LAPSE_TRY_ASSIGN(const int64_t from_ms, to_moment_ms(call, call[1]));
  int64_t to_ms = kNever;
  if (call[2] != "+") {
    LAPSE_TRY_ASSIGN(to_ms, to_moment_ms(call, call[2]));
  }
  size_t limit = std::numeric_limits<size_t>::max();
  if (call.size() > 3) {
    if (call.size() != 5 || !same_word(call[3], "LIMIT")) return syntax_error();
    const std::optional<int64_t> given = to_integer(call[4]);
    if (!given || *given < 1) return refuse("ERR LIMIT must be a positive integer");
    limit = static_cast<size_t>(*given);
  }
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  // As ZRANGE … WITHSCORES has it: pairs in RESP3, one after the other in RESP2.
  const bool pairs = call.reply.protocol() >= 3;
  const size_t begin = call.reply.position();
  size_t shown = 0;
  Status status;
  LAPSE_TRY(keys->for_each_expiring(from_ms, to_ms, [&](const Expiring& one) {
    if (pairs) call.reply.array(2);
    call.reply.bulk(one.key);
    call.reply.integer(one.deadline_ms);
    status = call.check_output();
    return ++shown < limit && status.ok();
  }));
  LAPSE_TRY(status);
  call.reply.insert_array(begin, pairs ? shown : 2 * shown);
  return {};
}

// FORECAST width buckets: the width in milliseconds, or as a duration.
Status forecast(Call& call) {
  const std::optional<int64_t> plain = to_integer(call[1]);
  const std::optional<std::chrono::milliseconds> width =
      plain ? std::chrono::milliseconds(*plain) : to_duration(call[1]);
  const std::optional<int64_t> buckets = to_integer(call[2]);
  if (!width || width->count() < 1) return refuse("ERR the width must be a duration above zero: 60000 or 1m");
  constexpr int64_t kMostBuckets = 10'000;
  if (!buckets || *buckets < 1 || *buckets > kMostBuckets)
    return refuse("ERR the number of buckets must be from 1 to " + std::to_string(kMostBuckets));
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const std::vector<uint64_t> counts, keys->forecast(*width, static_cast<size_t>(*buckets)));
  call.reply.array(counts.size());
  for (const uint64_t count : counts) call.reply.integer(static_cast<int64_t>(count));
  return {};
}

// DELPREFIX prefix
Status delprefix(Call& call) {
  const std::string_view prefix = call[1];
  if (prefix.empty()) return refuse("ERR an empty prefix is that of every key: FLUSHDB removes them all");
  // What has expired is not what is deleted here, and would go with it untold.
  LAPSE_TRY(call.server.expire_all_lapsed(call.session.db));
  LAPSE_TRY_ASSIGN(Keyspace * keys, call.write());
  if (call.wanted(kGeneric) || !call.server.watchers().empty()) {
    LAPSE_TRY_ASSIGN(Iterator at, keys->iterate({.prefix = std::string(prefix)}));
    for (; at.valid(); at.next()) call.changed(kGeneric, "del", at.key());
    LAPSE_TRY(at.status());
  }
  LAPSE_TRY_ASSIGN(const uint64_t erased, keys->erase_prefix(prefix));
  call.reply.integer(static_cast<int64_t>(erased));
  return {};
}

constexpr Command kCommands[] = {
    {"delprefix",
     2,
     kWrite,
     {},
     "lapse",
     "lapse",
     "Deletes every key that begins with a prefix, and returns how many there were.",
     delprefix,
     {},
     "prefix"},
    {"expiring",
     -3,
     kReadOnly,
     {},
     "lapse",
     "lapse",
     "Returns the keys whose deadlines lie between two moments, soonest first, with their deadlines.",
     expiring,
     {},
     "from to [LIMIT count]"},
    {"forecast",
     3,
     kReadOnly,
     {},
     "lapse",
     "lapse",
     "Returns how many keys expire in each of the next stretches of time.",
     forecast,
     {},
     "width buckets"},
    {"purge",
     -1,
     kWrite,
     {},
     "lapse",
     "lapse",
     "Removes keys that are due at once, and returns how many went and whether more are due.",
     purge,
     {},
     "[limit]"},
};

}  // namespace

std::span<const Command> expiry_commands() { return kCommands; }

}  // namespace lapse::server
