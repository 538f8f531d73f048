// FAMILY: column families, which SELECT takes by name, and their policies.

#include <optional>
#include <string>
#include <vector>

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/family_policies.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

Status no_such_family(std::string_view name) {
  return refuse("ERR no such family '" + std::string(name) + "'");
}

// Its number, as SELECT would find it.
Result<int> find_family(const Call& call, std::string_view name) {
  Result<int> db = call.server.turn().find(name);
  if (!db.ok() && db.status().code() == StatusCode::kNotFound) return no_such_family(name);
  return db;
}

// FAMILY CREATE name [policy value …]
Status create(Call& call) {
  const std::string_view name = call[2];
  if (to_integer(name)) return refuse("ERR a family's name cannot be a number: those are the databases");
  FamilyOptions options;
  LAPSE_TRY(set_policies(call.arguments.subspan(3), &options));
  LAPSE_TRY_ASSIGN(Transaction * transaction, call.server.turn().transaction());
  const Result<Family> family = transaction->create_family(name, options);
  if (!family.ok() && family.status().code() == StatusCode::kBusy)
    return refuse("ERR there is a family '" + std::string(name) + "' already");
  LAPSE_TRY(family.status());
  LAPSE_TRY_ASSIGN(const int db, call.server.turn().find(name));  // so that its keys go on time from now on
  call.server.turn().forget(db);
  call.server.databases().set_history(db, options.history.has_value());
  call.reply.ok();
  return {};
}

// FAMILY DROP name
Status drop(Call& call) {
  LAPSE_TRY_ASSIGN(const int db, find_family(call, call[2]));
  if (db < call.server.databases().numbered())
    return refuse("ERR '" + std::string(call[2]) + "' is a numbered database: FLUSHDB empties it");
  LAPSE_TRY_ASSIGN(Transaction * transaction, call.server.turn().transaction());
  LAPSE_TRY(transaction->drop_family(call[2]));
  call.server.turn().forget(db);
  call.server.watchers().database_changed(db);
  call.reply.ok();
  return {};
}

// FAMILY SET name policy value [policy value …]
Status set(Call& call) {
  LAPSE_TRY_ASSIGN(const int db, find_family(call, call[2]));
  const Family& family = call.server.databases().family(db);
  LAPSE_TRY(call.server.commit_so_far());
  LAPSE_TRY_ASSIGN(FamilyOptions options, family.family_options());
  LAPSE_TRY(set_policies(call.arguments.subspan(3), &options));
  if (db < call.server.databases().numbered() && !options.counted)
    return refuse("ERR a numbered database is always counted");
  LAPSE_TRY(call.server.store().set_family_options(call.server.databases().family_name(db), options));
  call.server.databases().set_history(db, options.history.has_value());
  call.reply.ok();
  return {};
}

Status list(Call& call) {
  LAPSE_TRY_ASSIGN(const std::vector<std::string> names, call.server.turn().list_families());
  call.reply.array(names.size());
  for (const std::string& name : names) call.reply.bulk(name);
  return {};
}

// FAMILY INFO [name]: of the one that is selected, or of another.
Status info(Call& call) {
  if (call.size() > 3) return wrong_arguments(call.command.name);
  int db = call.session.db;
  if (call.size() == 3) {
    LAPSE_TRY_ASSIGN(db, find_family(call, call[2]));
  }
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read(db));
  LAPSE_TRY_ASSIGN(const FamilyOptions options, keys->family_options());
  LAPSE_TRY_ASSIGN(const uint64_t count, options.counted ? keys->count() : keys->estimated_count());
  LAPSE_TRY_ASSIGN(const int64_t next_ms, keys->next_deadline());
  const Databases& databases = call.server.databases();
  call.reply.map(4 + policies().size());
  call.reply.bulk("name");
  call.reply.bulk(databases.family_name(db));
  call.reply.bulk("database");
  if (db < databases.numbered()) {
    call.reply.integer(db);
  } else {
    call.reply.null();
  }
  call.reply.bulk(options.counted ? "keys" : "keys-about");
  call.reply.integer(static_cast<int64_t>(count));
  call.reply.bulk("next-deadline");
  if (next_ms == kNever) {
    call.reply.null();
  } else {
    call.reply.integer(next_ms);
  }
  for (const Policy& policy : policies()) {
    call.reply.bulk(policy.name);
    call.reply.bulk(policy.get(options));
  }
  return {};
}

Status help(Call& call) {
  std::vector<std::string> lines = {
      "FAMILY <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "CREATE <name> [<policy> <value> ...]",
      "    Make a family. SELECT <name> goes there.",
      "DROP <name>",
      "    Remove a family with all its keys and their history.",
      "HELP",
      "    Print this help.",
      "INFO [<name>]",
      "    Show the size and the policies of a family; of the one that is selected by default.",
      "LIST",
      "    Show the names of all families.",
      "SET <name> <policy> <value> [<policy> <value> ...]",
      "    Change policies of a family. They are:",
  };
  for (const Policy& policy : policies())
    lines.push_back("      " + std::string(policy.name) + ": " + std::string(policy.values));
  call.reply.array(lines.size());
  for (const std::string& line : lines) call.reply.simple(line);
  return {};
}

constexpr Command kSubcommands[] = {
    {"family|create",
     -3,
     kWrite,
     {},
     "lapse",
     "lapse",
     "Makes a family, with the given policies.",
     create,
     {},
     "name [policy value ...]"},
    {"family|drop", 3, kWrite, {}, "lapse", "lapse", "Removes a family with all it holds.", drop, {}, "name"},
    {"family|help", 2, kLoading | kStale, {}, "lapse", "lapse", "Returns text about the subcommands.", help},
    {"family|info",
     -2,
     kReadOnly,
     {},
     "lapse",
     "lapse",
     "Returns the size and the policies of a family.",
     info,
     {},
     "[name]"},
    {"family|list", 2, kReadOnly, {}, "lapse", "lapse", "Returns the names of all families.", list},
    {"family|set",
     -5,
     kWrite | kNoMulti,
     {},
     "lapse",
     "lapse",
     "Changes policies of a family.",
     set,
     {},
     "name policy value [policy value ...]"},
};

constexpr Command kCommands[] = {
    {"family",
     -2,
     0,
     {},
     "lapse",
     "lapse",
     "A container for commands about families: keys with policies of their own.",
     nullptr,
     kSubcommands},
};

}  // namespace

std::span<const Command> family_commands() { return kCommands; }

}  // namespace lapse::server
