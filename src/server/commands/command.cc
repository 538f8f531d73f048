// COMMAND: the table of commands, for clients that ask what they may use and where the keys are.

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/help.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

using Words = std::vector<std::string_view>;

// ------------------------------------------------------------------------------- what is said of one

struct FlagName {
  uint32_t flag;
  std::string_view name;
};

constexpr auto kFlagNames = std::to_array<FlagName>({{kWrite, "write"},
                                                     {kReadOnly, "readonly"},
                                                     {kDenyOom, "denyoom"},
                                                     {kAdmin, "admin"},
                                                     {kPubsub, "pubsub"},
                                                     {kNoScript, "noscript"},
                                                     {kLoading, "loading"},
                                                     {kStale, "stale"},
                                                     {kSkipMonitor, "skip_monitor"},
                                                     {kSkipSlowlog, "skip_slowlog"},
                                                     {kFast, "fast"},
                                                     {kNoAuth, "no_auth"},
                                                     {kNoMulti, "no_multi"},
                                                     {kMovableKeys, "movablekeys"}});

Words flags_of(const Command& command) {
  Words words;
  for (const auto& [flag, name] : kFlagNames) {
    if (command.flags & flag) words.push_back(name);
  }
  return words;
}

struct GroupCategory {
  std::string_view group;
  std::string_view category;
};

constexpr auto kGroupCategories = std::to_array<GroupCategory>({{"bitmap", "@bitmap"},
                                                                {"connection", "@connection"},
                                                                {"generic", "@keyspace"},
                                                                {"string", "@string"},
                                                                {"transactions", "@transaction"}});

// Beyond what a command's flags and group say.
constexpr std::pair<std::string_view, std::string_view> kMoreCategories[] = {
    {"command", "@connection"}, {"dbsize", "@keyspace"},   {"flushall", "@keyspace"},
    {"flushall", "@dangerous"}, {"flushdb", "@keyspace"},  {"flushdb", "@dangerous"},
    {"info", "@dangerous"},     {"keys", "@dangerous"},    {"lastsave", "@admin"},
    {"lastsave", "@dangerous"}, {"restore", "@dangerous"}, {"role", "@admin"},
    {"role", "@dangerous"},     {"swapdb", "@keyspace"},   {"swapdb", "@dangerous"},
};

// The categories of access control that Redis derives in the same way.
Words categories_of(const Command& command) {
  Words words;
  if (command.flags & kWrite) words.push_back("@write");
  if (command.flags & kReadOnly) words.push_back("@read");
  for (const auto& [group, category] : kGroupCategories) {
    if (command.group == group) words.push_back(category);
  }
  for (const auto& [name, category] : kMoreCategories) {
    if (command.name.substr(0, command.name.find('|')) == name) words.push_back(category);
  }
  if (command.flags & kAdmin) {
    words.push_back("@admin");
    words.push_back("@dangerous");
  }
  if (command.flags & kPubsub) words.push_back("@pubsub");
  words.push_back(command.flags & kFast ? "@fast" : "@slow");
  return words;
}

Words key_flags_of(const Command& command) {
  if (command.flags & kWrite) return {"RW", "access", "update"};
  return {"RO", "access"};
}

// What Redis says that a command does to its keys, where that is not what most commands do.
struct KeyUse {
  std::string_view command;
  Words first;
  Words others = {};  // none: as the first
};

const std::vector<KeyUse>& special_key_uses() {
  static const std::vector<KeyUse> uses = {
      {"append", {"RW", "insert"}},
      {"copy", {"RO", "access"}, {"OW", "update"}},
      {"del", {"RM", "delete"}},
      {"exists", {"RO"}},
      {"expire", {"RW", "update"}},
      {"expireat", {"RW", "update"}},
      {"getdel", {"RW", "access", "delete"}},
      {"memory|usage", {"RO"}},
      {"mset", {"OW", "update"}},
      {"msetnx", {"OW", "insert"}},
      {"object|encoding", {"RO"}},
      {"object|freq", {"RO"}},
      {"object|idletime", {"RO"}},
      {"object|refcount", {"RO"}},
      {"persist", {"RW", "update"}},
      {"pexpire", {"RW", "update"}},
      {"pexpireat", {"RW", "update"}},
      {"psetex", {"OW", "update"}},
      {"rename", {"RW", "access", "delete"}, {"OW", "update"}},
      {"renamenx", {"RW", "access", "delete"}, {"OW", "insert"}},
      {"restore", {"OW", "update"}},
      {"set", {"OW", "update"}},
      {"setex", {"OW", "update"}},
      {"setnx", {"OW", "insert"}},
      {"setrange", {"RW", "update"}},
      {"strlen", {"RO"}},
      {"touch", {"RO"}},
      {"type", {"RO"}},
      {"unlink", {"RM", "delete"}},
      {"watch", {"RO"}},
  };
  return uses;
}

KeyUse key_use_of(const Command& command) {
  for (const KeyUse& use : special_key_uses()) {
    if (use.command == command.name) return use;
  }
  return {command.name, key_flags_of(command)};
}

// Of one call. SET reads the key only if it is told to.
Words key_flags_of(const Command& command, std::span<const std::string_view> arguments, bool is_first) {
  if (command.name == "set" && std::any_of(arguments.begin() + 3, arguments.end(),
                                           [](std::string_view word) { return same_word(word, "GET"); })) {
    return key_flags_of(command);
  }
  const KeyUse use = key_use_of(command);
  return is_first || use.others.empty() ? use.first : use.others;
}

void reply_set(Call& call, const Words& words) {
  call.reply.set(words.size());
  for (const std::string_view word : words) call.reply.simple(word);
}

void reply_spec(Call& call, std::string_view type,
                std::span<const std::pair<std::string_view, int>> numbers) {
  call.reply.map(2);
  call.reply.bulk("type");
  call.reply.bulk(type);
  call.reply.bulk("spec");
  call.reply.map(numbers.size());
  for (const auto& [name, number] : numbers) {
    call.reply.bulk(name);
    call.reply.integer(number);
  }
}

// Where to look, and what is there: so many keys from the first on, or a number of keys and then the keys.
void reply_key_spec(Call& call, const KeyPositions& keys, const Words& flags) {
  using Numbers = std::vector<std::pair<std::string_view, int>>;
  const bool counted = keys.count_at != 0;
  call.reply.map(3);
  call.reply.bulk("flags");
  reply_set(call, flags);
  call.reply.bulk("begin_search");
  reply_spec(call, "index", Numbers{{"index", counted ? keys.count_at : keys.first}});
  call.reply.bulk("find_keys");
  if (counted) {
    const Numbers numbers = {
        {"keynumidx", 0}, {"firstkey", keys.first - keys.count_at}, {"keystep", keys.step}};
    return reply_spec(call, "keynum", numbers);
  }
  const int last = keys.last < 0 ? keys.last : keys.last - keys.first;
  reply_spec(call, "range", Numbers{{"lastkey", last}, {"keystep", keys.step}, {"limit", 0}});
}

// What may be done to the keys, whatever the call: SET may be told to read its key.
KeyUse widest_key_use_of(const Command& command) {
  if (command.name == "set") return {command.name, {"RW", "access", "update", "variable_flags"}};
  return key_use_of(command);
}

// One for all keys; or, where something else is done to the second, one for each of the two.
void reply_key_specs(Call& call, const Command& command) {
  const KeyPositions& keys = command.keys;
  const KeyUse use = widest_key_use_of(command);
  if (use.others.empty()) {
    call.reply.set(keys.first == 0 ? 0 : 1);
    if (keys.first != 0) reply_key_spec(call, keys, use.first);
    return;
  }
  call.reply.set(2);
  reply_key_spec(call, {keys.first, keys.first, keys.step}, use.first);
  reply_key_spec(call, {keys.last, keys.last, keys.step}, use.others);
}

// Ten things, as Redis 7 tells them.
void reply_info(Call& call, const Command& command) {
  call.reply.array(10);
  call.reply.bulk(command.name);
  call.reply.integer(command.arity);
  reply_set(call, flags_of(command));
  call.reply.integer(command.keys.first);
  call.reply.integer(command.keys.last);
  call.reply.integer(command.keys.step);
  reply_set(call, categories_of(command));
  call.reply.set(0);  // tips for clients of clusters
  reply_key_specs(call, command);
  if (command.subcommands.empty()) return call.reply.set(0);  // a set only then, as in Redis
  call.reply.array(command.subcommands.size());
  for (const Command& subcommand : command.subcommands) reply_info(call, subcommand);
}

// The parts of a syntax that follow each other: "key [LIMIT count]" has two.
std::vector<std::string_view> parts_of(std::string_view syntax) {
  std::vector<std::string_view> parts;
  while (!syntax.empty()) {
    const size_t end =
        std::min(syntax.starts_with('[') ? syntax.find(']') + 1 : syntax.find(' '), syntax.size());
    parts.push_back(syntax.substr(0, end));
    syntax.remove_prefix(std::min(end + 1, syntax.size()));
  }
  return parts;
}

// As arguments whose names say it all; what is in brackets is optional.
void reply_arguments(Call& call, std::string_view syntax) {
  const std::vector<std::string_view> parts = parts_of(syntax);
  call.reply.bulk("arguments");
  call.reply.array(parts.size());
  for (const std::string_view part : parts) {
    const bool optional = part.starts_with('[');
    const std::string_view name = optional ? part.substr(1, part.size() - 2) : part;
    call.reply.map(optional ? 4 : 3);
    call.reply.bulk("name");
    call.reply.bulk(name);
    call.reply.bulk("type");
    call.reply.bulk("string");
    call.reply.bulk("display_text");
    call.reply.bulk(name);
    if (!optional) continue;
    call.reply.bulk("flags");
    call.reply.array(1);
    call.reply.simple("optional");
  }
}

void reply_docs(Call& call, const Command& command) {
  call.reply.bulk(command.name);
  call.reply.map(3U + (command.syntax.empty() ? 0 : 1) + (command.subcommands.empty() ? 0 : 1));
  call.reply.bulk("summary");
  call.reply.bulk(command.summary);
  call.reply.bulk("since");
  call.reply.bulk(command.since);
  call.reply.bulk("group");
  call.reply.bulk(command.group);
  if (!command.syntax.empty()) reply_arguments(call, command.syntax);
  if (command.subcommands.empty()) return;
  call.reply.bulk("subcommands");
  call.reply.map(command.subcommands.size());
  for (const Command& subcommand : command.subcommands) reply_docs(call, subcommand);
}

// "get", "client|id". Null: there is none.
const Command* find_by_full_name(std::string_view name) {
  const size_t bar = name.find('|');
  const Command* command = find_command(name.substr(0, bar));
  if (command == nullptr || bar == std::string_view::npos) return command;
  return find_subcommand(*command, name.substr(bar + 1));
}

// ---------------------------------------------------------------------------------------- of many

Status all(Call& call) {
  call.reply.array(all_commands().size());
  for (const Command* command : all_commands()) reply_info(call, *command);
  return {};
}

Status count(Call& call) {
  call.reply.integer(static_cast<int64_t>(all_commands().size()));
  return {};
}

Status info(Call& call) {
  if (call.size() == 2) return all(call);
  call.reply.array(call.size() - 2);
  for (const std::string_view name : call.arguments.subspan(2)) {
    if (const Command* command = find_by_full_name(name)) {
      reply_info(call, *command);
    } else {
      call.reply.null();
    }
    LAPSE_TRY(call.check_output());
  }
  return {};
}

Status docs(Call& call) {
  std::vector<const Command*> wanted;
  for (const std::string_view name : call.arguments.subspan(2)) {
    if (const Command* command = find_by_full_name(name)) wanted.push_back(command);
  }
  if (call.size() == 2) wanted = all_commands();
  call.reply.map(wanted.size());
  for (const Command* command : wanted) {
    reply_docs(call, *command);
    LAPSE_TRY(call.check_output());
  }
  return {};
}

struct Filter {
  enum class Kind { kNone, kModule, kCategory, kPattern };
  Kind kind = Kind::kNone;
  std::string_view value;

  bool fits(const Command& command) const {
    if (kind == Kind::kNone) return true;
    if (kind == Kind::kPattern) return matches_glob(value, command.name, true);
    if (kind == Kind::kModule) return false;  // there are none
    const Words categories = categories_of(command);
    return std::any_of(categories.begin(), categories.end(),
                       [&](std::string_view category) { return same_word(category.substr(1), value); });
  }
};

Result<Filter> parse_filter(const Call& call) {
  if (call.size() == 2) return Filter();
  if (call.size() != 5 || !same_word(call[2], "filterby")) return syntax_error();
  if (same_word(call[3], "module")) return Filter{Filter::Kind::kModule, call[4]};
  if (same_word(call[3], "aclcat")) return Filter{Filter::Kind::kCategory, call[4]};
  if (same_word(call[3], "pattern")) return Filter{Filter::Kind::kPattern, call[4]};
  return syntax_error();
}

// COMMAND LIST [FILTERBY MODULE name | ACLCAT category | PATTERN pattern], subcommands included
Status list(Call& call) {
  LAPSE_TRY_ASSIGN(const Filter filter, parse_filter(call));
  Words names;
  const auto add = [&](const Command& command) {
    if (filter.fits(command)) names.push_back(command.name);
  };
  for (const Command* command : all_commands()) {
    add(*command);
    for (const Command& subcommand : command->subcommands) add(subcommand);
  }
  call.reply.array(names.size());
  for (const std::string_view name : names) call.reply.bulk(name);
  return {};
}

// ------------------------------------------------------------------------------- the keys of a call

struct KeysOfCall {
  const Command* command;
  Words keys;
};

// The call stands behind COMMAND GETKEYS.
Result<KeysOfCall> find_keys(const Call& call) {
  const auto arguments = call.arguments.subspan(2);
  const Command* command = find_command(arguments[0]);
  if (command != nullptr && !command->subcommands.empty() && arguments.size() > 1)
    command = find_subcommand(*command, arguments[1]);
  if (command == nullptr) return refuse("ERR Invalid command specified");
  const auto size = static_cast<int>(arguments.size());
  if (command->arity >= 0 ? size != command->arity : size < -command->arity)
    return refuse("ERR Invalid number of arguments specified for command");
  if (command->keys.first == 0) return refuse("ERR The command has no key arguments");
  KeysOfCall found{command, {}};
  for (const size_t i : key_arguments(*command, arguments)) found.keys.push_back(arguments[i]);
  if (found.keys.empty()) return refuse("ERR Invalid arguments specified for command");
  return found;
}

Status getkeys(Call& call) {
  LAPSE_TRY_ASSIGN(const KeysOfCall found, find_keys(call));
  call.reply.array(found.keys.size());
  for (const std::string_view key : found.keys) call.reply.bulk(key);
  return {};
}

Status getkeysandflags(Call& call) {
  LAPSE_TRY_ASSIGN(const KeysOfCall found, find_keys(call));
  call.reply.array(found.keys.size());
  for (size_t i = 0; i < found.keys.size(); ++i) {
    call.reply.array(2);
    call.reply.bulk(found.keys[i]);
    reply_set(call, key_flags_of(*found.command, call.arguments.subspan(2), i == 0));
    LAPSE_TRY(call.check_output());
  }
  return {};
}

constexpr uint32_t kFlags = kLoading | kStale;

constexpr Command kCommandCommands[] = {
    {"command|count", 2, kFlags, {}, "server", "2.8.13", "Counts the commands.", count},
    {"command|docs", -2, kFlags, {}, "server", "7.0.0", "Returns what commands are for.", docs},
    {"command|getkeys", -3, kFlags, {}, "server", "2.8.13", "Returns the keys of a call.", getkeys},
    {"command|getkeysandflags",
     -3,
     kFlags,
     {},
     "server",
     "7.0.0",
     "Returns the keys of a call and what is done to them.",
     getkeysandflags},
    help_row("command|help", "server", "5.0.0"),
    {"command|info", -2, kFlags, {}, "server", "2.8.13", "Tells about commands.", info},
    {"command|list", -2, kFlags, {}, "server", "7.0.0", "Lists the names of commands.", list},
};

constexpr Command kCommands[] = {
    {"command", -1, kFlags, {}, "server", "2.8.13", "Tells about all commands.", all, kCommandCommands},
};

}  // namespace

std::span<const Command> command_commands() { return kCommands; }

}  // namespace lapse::server
