// Databases as a whole: how many keys, none any more, one for the other.

#include <utility>

#include "base/try.h"
#include "server/command_table.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

Status dbsize(Call& call) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const uint64_t count, keys->count());
  call.reply.integer(static_cast<int64_t>(count));
  return {};
}

// ---------------------------------------------------------------------------------------------- FLUSH…

// Both ways take the same small step: the space is reclaimed by later writes.
Status check_flush(const Call& call) {
  if (call.size() == 1) return {};
  if (call.size() == 2 && (same_word(call[1], "ASYNC") || same_word(call[1], "SYNC"))) return {};
  return syntax_error();
}

// Marks those who watch a key that is there.
Status mark_watchers(const Call& call, int watched_db, int db_with_keys) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read(db_with_keys));
  for (const std::string& key : call.server.watchers().watched_keys(watched_db)) {
    LAPSE_TRY_ASSIGN(const bool is_there, keys->exists(key));
    if (is_there) call.server.watchers().key_changed(watched_db, key);
  }
  return {};
}

Status flush(const Call& call, int db) {
  LAPSE_TRY(mark_watchers(call, db, db));
  LAPSE_TRY_ASSIGN(Keyspace * keys, call.write(db));
  return keys->clear();
}

Status flushdb(Call& call) {
  LAPSE_TRY(check_flush(call));
  LAPSE_TRY(flush(call, call.session.db));
  call.reply.ok();
  return {};
}

// The databases that have numbers; families that have only a name are nobody's cache, and are emptied by FLUSHDB.
Status flushall(Call& call) {
  LAPSE_TRY(check_flush(call));
  for (int db = 0; db < call.server.databases().numbered(); ++db) LAPSE_TRY(flush(call, db));
  call.reply.ok();
  return {};
}

// --------------------------------------------------------------------------------------------- SWAPDB

Result<int> find_db(const Call& call, std::string_view number_or_name, std::string_view which) {
  Result<int> db = call.server.turn().find(number_or_name);
  if (db.ok() || db.status().code() != StatusCode::kNotFound) return db;
  return to_integer(number_or_name) ? refuse("ERR DB index is out of range")
                                    : refuse("ERR invalid " + std::string(which) + " DB index");
}

// What has a number must be counted, and a family takes its policies along.
Status check_counted(const Call& call, int db) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read(db));
  LAPSE_TRY_ASSIGN(const FamilyOptions options, keys->family_options());
  if (options.counted) return {};
  const std::string name = keys->family_name();
  return refuse("ERR a numbered database is always counted: see FAMILY SET " + name + " counted yes");
}

Status check_swap(const Call& call, int a, int b) {
  const int numbered = call.server.databases().numbered();
  if (a < numbered) LAPSE_TRY(check_counted(call, b));
  if (b < numbered) LAPSE_TRY(check_counted(call, a));
  return {};
}

// A key that is there before or after has changed for those who watch it.
Status swap_databases(const Call& call, int a, int b) {
  for (const auto& [watched, with_keys] :
       {std::pair(a, a), std::pair(a, b), std::pair(b, a), std::pair(b, b)})
    LAPSE_TRY(mark_watchers(call, watched, with_keys));
  LAPSE_TRY_ASSIGN(Transaction * transaction, call.server.turn().transaction());
  Databases& databases = call.server.databases();
  const bool history = databases.keeps_history(a) || databases.keeps_history(b);
  databases.set_history(a, history);
  databases.set_history(b, history);
  return transaction->swap_families(databases.family_name(a), databases.family_name(b));
}

Status swapdb(Call& call) {
  LAPSE_TRY_ASSIGN(const int a, find_db(call, call[1], "first"));
  LAPSE_TRY_ASSIGN(const int b, find_db(call, call[2], "second"));
  if (a != b) {
    LAPSE_TRY(check_swap(call, a, b));
    LAPSE_TRY(swap_databases(call, a, b));
  }
  call.reply.ok();
  return {};
}

constexpr Command kCommands[] = {
    {"dbsize",
     1,
     kReadOnly | kFast,
     {},
     "server",
     "1.0.0",
     "Returns the number of keys in the database.",
     dbsize},
    {"flushall", -1, kWrite, {}, "server", "1.0.0", "Removes all keys of all numbered databases.", flushall},
    {"flushdb", -1, kWrite, {}, "server", "1.0.0", "Removes all keys of the database.", flushdb},
    {"swapdb",
     3,
     kWrite | kFast,
     {},
     "server",
     "4.0.0",
     "Exchanges the contents of two databases, for all clients at once.",
     swapdb},
};

}  // namespace

std::span<const Command> database_commands() { return kCommands; }

}  // namespace lapse::server
