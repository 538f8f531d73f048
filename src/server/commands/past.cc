// The past: what a key held, when it changed, why it is gone. For families that keep history.

#include <limits>
#include <optional>

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/lifetime_options.h"
#include "server/commands/moment.h"
#include "server/commands/pattern.h"
#include "server/commands/scan_head.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

// The store says the same, but not what to do about it.
Status check_history(const Reader& keys) {
  LAPSE_TRY_ASSIGN(const FamilyOptions options, keys.family_options());
  if (options.history) return {};
  return refuse("ERR the family '" + keys.family_name() +
                "' keeps no history: see FAMILY SET, history-keep-last");
}

Result<const Reader*> read_with_history(const Call& call) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY(check_history(*keys));
  return keys;
}

void reply_time(Call& call, int64_t ms) {
  if (ms == kNever) {
    call.reply.null();
  } else {
    call.reply.integer(ms);
  }
}

// ---------------------------------------------------------------------------------- GETAT key moment

Status getat(Call& call) {
  LAPSE_TRY_ASSIGN(const int64_t at_ms, to_moment_ms(call, call[2]));
  LAPSE_TRY_ASSIGN(const Reader* keys, read_with_history(call));
  LAPSE_TRY_ASSIGN(const std::optional<std::string> value, keys->get_at(call[1], at_ms));
  if (value) {
    call.reply.bulk(*value);
  } else {
    call.reply.null();
  }
  return {};
}

// --------------------------------------------------------------------------- HISTORY key [LIMIT count]

std::string_view ending_name(Ending ending) {
  switch (ending) {
    case Ending::kNone: return "visible";
    case Ending::kOverwritten: return "overwritten";
    case Ending::kErased: return "erased";
    case Ending::kExpired: return "expired";
  }
  return "";
}

void reply_revision(Call& call, const Revision& revision) {
  call.reply.map(6);
  call.reply.bulk("value");
  call.reply.bulk(revision.value);
  call.reply.bulk("revision");
  call.reply.integer(static_cast<int64_t>(revision.revision));
  call.reply.bulk("written-at");
  call.reply.integer(revision.written_at_ms);
  call.reply.bulk("ended-at");
  reply_time(call, revision.ended_at_ms);
  call.reply.bulk("ending");
  call.reply.bulk(ending_name(revision.ending));
  call.reply.bulk("deadline");
  reply_time(call, revision.deadline_ms);
}

Status history(Call& call) {
  size_t limit = std::numeric_limits<size_t>::max();
  if (call.size() > 2) {
    if (call.size() != 4 || !same_word(call[2], "LIMIT")) return syntax_error();
    const std::optional<int64_t> given = to_integer(call[3]);
    if (!given || *given < 1) return refuse("ERR LIMIT must be a positive integer");
    limit = static_cast<size_t>(*given);
  }
  LAPSE_TRY_ASSIGN(const Reader* keys, read_with_history(call));
  const size_t begin = call.reply.position();
  size_t shown = 0;
  Status status;
  LAPSE_TRY(keys->for_each_revision(call[1], [&](const Revision& revision) {
    reply_revision(call, revision);
    status = call.check_output();
    return ++shown < limit && status.ok();
  }));
  LAPSE_TRY(status);
  call.reply.insert_array(begin, shown);
  return {};
}

// --------------------------------------------- SCANAT cursor moment [MATCH pattern] [COUNT count]

struct ScanAt {
  uint64_t cursor = 0;
  int64_t at_ms = 0;
  std::optional<std::string_view> pattern;
  int64_t count = 10;
};

Result<ScanAt> parse_scanat(const Call& call) {
  ScanAt scan;
  const std::optional<int64_t> cursor = to_integer(call[1]);
  if (!cursor || *cursor < 0) return refuse("ERR invalid cursor");
  scan.cursor = static_cast<uint64_t>(*cursor);
  LAPSE_TRY_ASSIGN(scan.at_ms, to_moment_ms(call, call[2]));
  for (size_t i = 3; i < call.size(); i += 2) {
    if (i + 1 == call.size()) return syntax_error();
    if (same_word(call[i], "MATCH")) {
      LAPSE_TRY(check_pattern(call[i + 1]));
      scan.pattern = call[i + 1];
    } else if (same_word(call[i], "COUNT")) {
      const std::optional<int64_t> count = to_integer(call[i + 1]);
      if (!count) return not_an_integer();
      if (*count < 1) return syntax_error();
      scan.count = *count;
    } else {
      return syntax_error();
    }
  }
  return scan;
}

// What a call has shown.
struct Page {
  size_t keys = 0;
  std::optional<std::string> last_key;  // to go on behind; none: that was all
};

Result<Page> reply_page(Call& call, const Reader& keys, const ScanAt& scan,
                        std::optional<std::string> after_key) {
  IterateOptions options;
  if (after_key) options.from = std::move(*after_key) + '\0';  // the least key behind it
  LAPSE_TRY_ASSIGN(Iterator at, keys.iterate(options));
  Page page;
  std::string last;
  for (int64_t looked = 0; at.valid() && looked < scan.count; ++looked, at.next()) {
    last = at.key();
    if (scan.pattern && !matches_glob(*scan.pattern, last)) continue;
    call.reply.bulk(last);
    LAPSE_TRY(call.check_output());
    ++page.keys;
  }
  LAPSE_TRY(at.status());
  if (at.valid()) page.last_key = std::move(last);
  return page;
}

// What was before this turn, the store's snapshots of the past know; the present is the turn's own.
Result<Page> reply_page_at(Call& call, const ScanAt& scan, std::optional<std::string> after_key) {
  LAPSE_TRY_ASSIGN(const Reader* keys, read_with_history(call));
  if (scan.at_ms == call.now_ms()) return reply_page(call, *keys, scan, std::move(after_key));
  LAPSE_TRY_ASSIGN(const Snapshot past, call.server.store().snapshot_at(scan.at_ms));
  return reply_page(call, past.in(call.server.databases().family(call.session.db)), scan,
                    std::move(after_key));
}

Status scanat(Call& call) {
  LAPSE_TRY_ASSIGN(const ScanAt scan, parse_scanat(call));
  std::optional<std::string> after_key;
  if (scan.cursor != 0) {
    after_key = call.server.scan_cursors().find(scan.cursor);
    if (!after_key) return refuse("ERR invalid cursor");
  }
  const size_t begin = call.reply.position();
  LAPSE_TRY_ASSIGN(const Page page, reply_page_at(call, scan, std::move(after_key)));
  call.reply.insert(begin, head_of_scan(call, scan.cursor, page.last_key, page.keys));
  return {};
}

// ----- RESTOREAT key moment [EX seconds | PX milliseconds | EXAT … | PXAT … | KEEPTTL | PERSIST]

Result<Lifetime> parse_lifetime(const Call& call, size_t i) {
  if (i == call.size()) return Lifetime();
  if (i + 1 == call.size() && same_word(call[i], "KEEPTTL")) return Lifetime::keep();
  if (i + 1 == call.size() && same_word(call[i], "PERSIST")) return Lifetime::forever();
  LifetimeOptions options(LifetimeOptions::Besides::kNothing);
  if (!options.take(call, &i) || i + 1 != call.size()) return syntax_error();
  LAPSE_TRY_ASSIGN(const std::optional<Deadline> deadline, options.deadline(call));
  return deadline->lifetime(call);
}

Status restoreat(Call& call) {
  const std::string_view key = call[1];
  LAPSE_TRY_ASSIGN(const int64_t at_ms, to_moment_ms(call, call[2]));
  LAPSE_TRY_ASSIGN(const Lifetime lifetime, parse_lifetime(call, 3));
  LAPSE_TRY_ASSIGN(const Reader* before, read_with_history(call));
  LAPSE_TRY_ASSIGN(const bool there, before->exists(key));
  LAPSE_TRY_ASSIGN(Keyspace * keys, call.write());
  LAPSE_TRY_ASSIGN(const bool restored, keys->restore(key, at_ms, lifetime));
  if (restored) {
    if (!there) call.told(kNew, "new", key);
    call.changed(kGeneric, "restore", key);
  }
  call.reply.integer(restored ? 1 : 0);
  return {};
}

// ------------------------------------------------------------------------------------------- WHY key

// What is known of a key. `since_ms` is when it was written, or ended; kNever: not known.
struct Fate {
  std::string_view state;
  int64_t since_ms = kNever;
  int64_t deadline_ms = kNever;
};

Result<Fate> fate_in_history(const Reader& keys, std::string_view key) {
  Fate fate{"never"};
  LAPSE_TRY(keys.for_each_revision(key, [&](const Revision& last) {
    fate = {ending_name(last.ending), last.ended_at_ms, last.deadline_ms};
    return false;
  }));
  return fate;
}

Result<Fate> fate_of(const Reader& keys, std::string_view key) {
  LAPSE_TRY_ASSIGN(const std::optional<Entry> entry, keys.get_entry(key));
  if (entry) return Fate{"exists", entry->revision == 0 ? kNever : entry->written_at_ms, entry->deadline_ms};
  LAPSE_TRY_ASSIGN(const FamilyOptions options, keys.family_options());
  if (options.history) return fate_in_history(keys, key);
  LAPSE_TRY_ASSIGN(const bool lapsed, keys.lapsed(key));
  return Fate{lapsed ? "expired" : "unknown"};
}

Status why(Call& call) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const Fate fate, fate_of(*keys, call[1]));
  call.reply.map(3);
  call.reply.bulk("state");
  call.reply.bulk(fate.state);
  call.reply.bulk("since");
  reply_time(call, fate.since_ms);
  call.reply.bulk("deadline");
  reply_time(call, fate.deadline_ms);
  return {};
}

constexpr KeyPositions kOneKey = {1, 1, 1};

constexpr Command kCommands[] = {
    {"getat",
     3,
     kReadOnly | kFast,
     kOneKey,
     "lapse",
     "lapse",
     "Returns the value that a key had at a moment.",
     getat,
     {},
     "key moment"},
    {"history",
     -2,
     kReadOnly,
     kOneKey,
     "lapse",
     "lapse",
     "Returns the values that a key had, newest first, with when and why each ended.",
     history,
     {},
     "key [LIMIT count]"},
    {"restoreat",
     -3,
     kWrite | kDenyOom,
     kOneKey,
     "lapse",
     "lapse",
     "Gives a key the value again that it had at a moment.",
     restoreat,
     {},
     "key moment [EX seconds | PX milliseconds | EXAT unix-seconds | PXAT unix-milliseconds | KEEPTTL | "
     "PERSIST]"},
    {"scanat",
     -3,
     kReadOnly,
     {},
     "lapse",
     "lapse",
     "Iterates over the keys that were there at a moment.",
     scanat,
     {},
     "cursor moment [MATCH pattern] [COUNT count]"},
    {"why",
     2,
     kReadOnly | kFast,
     kOneKey,
     "lapse",
     "lapse",
     "Tells whether a key exists, and if not, whether it expired, was erased, or never was.",
     why,
     {},
     "key"},
};

}  // namespace

std::span<const Command> past_commands() { return kCommands; }

}  // namespace lapse::server
