// A value under another name, or in another database. It takes its deadline along.

#include "base/try.h"
#include "server/command_table.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

struct Place {
  int db;
  std::string_view key;
  bool operator==(const Place&) const = default;
};

Status same_place() { return refuse("ERR source and destination objects are the same"); }

Result<std::optional<Entry>> entry_at(const Call& call, const Place& place) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read(place.db));
  return keys->get_entry(place.key);
}

Result<bool> is_taken(const Call& call, const Place& place) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read(place.db));
  return keys->exists(place.key);
}

// As Redis has it, the key is new also where another one was replaced.
Status put_at(const Call& call, const Place& place, const Entry& entry) {
  LAPSE_TRY(call.server.expire_if_lapsed(call, place.db, place.key));
  LAPSE_TRY_ASSIGN(Keyspace * keys, call.write(place.db));
  call.changed(kNew, "new", place.key, place.db);
  return keys->put(place.key, entry.value,
                   entry.deadline_ms == kNever ? Lifetime::forever() : Lifetime::until(entry.deadline_ms));
}

Status erase_at(const Call& call, const Place& place) {
  LAPSE_TRY_ASSIGN(Keyspace * keys, call.write(place.db));
  return internal::to_status(keys->erase(place.key));
}

Result<int> find_db(const Call& call, std::string_view number_or_name) {
  Result<int> db = call.server.turn().find(number_or_name);
  const StatusCode code = db.status().code();
  if (code != StatusCode::kNotFound && code != StatusCode::kInvalidArgument) return db;
  return to_integer(number_or_name) ? refuse("ERR DB index is out of range") : not_an_integer();
}

// --------------------------------------------------------------------------------------------- RENAME

// Whether it was done; false: the new name is taken, and only_if_free.
Result<bool> rename_to(const Call& call, bool only_if_free) {
  const Place from{call.session.db, call[1]};
  const Place to{call.session.db, call[2]};
  LAPSE_TRY_ASSIGN(const std::optional<Entry> entry, entry_at(call, from));
  if (!entry) return refuse("ERR no such key");
  if (from == to) return !only_if_free;
  if (only_if_free) {
    LAPSE_TRY_ASSIGN(const bool taken, is_taken(call, to));
    if (taken) return false;
  }
  LAPSE_TRY(put_at(call, to, *entry));
  LAPSE_TRY(erase_at(call, from));
  call.changed(kGeneric, "rename_from", from.key);
  call.changed(kGeneric, "rename_to", to.key);
  return true;
}

Status rename(Call& call) {
  LAPSE_TRY(rename_to(call, /*only_if_free=*/false));
  call.reply.ok();
  return {};
}

Status renamenx(Call& call) {
  LAPSE_TRY_ASSIGN(const bool renamed, rename_to(call, /*only_if_free=*/true));
  call.reply.integer(renamed ? 1 : 0);
  return {};
}

// ----------------------------------------------------------------------------------------- COPY, MOVE

// COPY source destination [DB destination-db] [REPLACE]
struct CopyOptions {
  int db;
  bool replace = false;
};

Result<CopyOptions> parse_copy(const Call& call) {
  CopyOptions options{.db = call.session.db};
  for (size_t i = 3; i < call.size(); ++i) {
    if (same_word(call[i], "REPLACE")) {
      options.replace = true;
    } else if (same_word(call[i], "DB") && i + 1 < call.size()) {
      LAPSE_TRY_ASSIGN(options.db, find_db(call, call[++i]));
    } else {
      return syntax_error();
    }
  }
  return options;
}

// Whether there was something to put there, and room for it.
Result<bool> put_if_free(const Call& call, const std::optional<Entry>& entry, const Place& to, bool replace) {
  if (!entry) return false;
  if (!replace) {
    LAPSE_TRY_ASSIGN(const bool taken, is_taken(call, to));
    if (taken) return false;
  }
  LAPSE_TRY(put_at(call, to, *entry));
  return true;
}

Status copy(Call& call) {
  LAPSE_TRY_ASSIGN(const CopyOptions options, parse_copy(call));
  const Place from{call.session.db, call[1]};
  const Place to{options.db, call[2]};
  if (from == to) return same_place();
  LAPSE_TRY_ASSIGN(const std::optional<Entry> entry, entry_at(call, from));
  call.looked_up(from.key, entry.has_value());
  LAPSE_TRY_ASSIGN(const bool copied, put_if_free(call, entry, to, options.replace));
  if (copied) call.changed(kGeneric, "copy_to", to.key, to.db);
  call.reply.integer(copied ? 1 : 0);
  return {};
}

Status move(Call& call) {
  LAPSE_TRY_ASSIGN(const int db, find_db(call, call[2]));
  const Place from{call.session.db, call[1]};
  const Place to{db, call[1]};
  if (from == to) return same_place();
  LAPSE_TRY_ASSIGN(const std::optional<Entry> entry, entry_at(call, from));
  LAPSE_TRY_ASSIGN(const bool moved, put_if_free(call, entry, to, /*replace=*/false));
  if (moved) {
    LAPSE_TRY(erase_at(call, from));
    call.changed(kGeneric, "move_from", from.key, from.db);
    call.changed(kGeneric, "move_to", to.key, to.db);
  }
  call.reply.integer(moved ? 1 : 0);
  return {};
}

constexpr KeyPositions kOneKey = {1, 1, 1};
constexpr KeyPositions kTwoKeys = {1, 2, 1};

constexpr Command kCommands[] = {
    {"copy", -3, kWrite | kDenyOom, kTwoKeys, "generic", "6.2.0",
     "Copies a key's value and deadline to another key, of another database if so asked.", copy},
    {"move", 3, kWrite | kFast, kOneKey, "generic", "1.0.0", "Moves a key to another database.", move},
    {"rename", 3, kWrite, kTwoKeys, "generic", "1.0.0", "Renames a key, over the one that has the new name.",
     rename},
    {"renamenx", 3, kWrite | kFast, kTwoKeys, "generic", "1.0.0",
     "Renames a key, if no key has the new name.", renamenx},
};

}  // namespace

std::span<const Command> move_commands() { return kCommands; }

}  // namespace lapse::server
