// Strings: to read, write and exchange whole values.

#include <optional>

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/condition.h"
#include "server/commands/lifetime_options.h"
#include "server/commands/values.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

Status get(Call& call) {
  LAPSE_TRY_ASSIGN(const std::optional<std::string> value, look_up(call, call[1]));
  reply_value(call, value);
  return {};
}

// SET key value [NX | XX | IFEQ value | IFNE value | IFDEQ digest | IFDNE digest] [GET]
//     [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]
struct SetOptions {
  Condition condition;
  bool get = false;
  bool keeps_ttl = false;
  std::optional<Deadline> deadline;
};

Result<SetOptions> parse_set(const Call& call) {
  SetOptions options;
  LifetimeOptions lifetime(LifetimeOptions::Besides::kKeepTtl);
  for (size_t i = 3; i < call.size(); ++i) {
    if (same_word(call[i], "GET")) {
      options.get = true;
    } else if (!options.condition.take(call, &i) && !lifetime.take(call, &i)) {
      return syntax_error();
    }
  }
  LAPSE_TRY(options.condition.check());
  options.keeps_ttl = lifetime.keeps_ttl();
  LAPSE_TRY_ASSIGN(options.deadline, lifetime.deadline(call));
  return options;
}

// As Redis 7 has it: the key is set, gets its deadline, and expires by it.
Status set_in_the_past(const Call& call) {
  LAPSE_TRY_ASSIGN(Keyspace * keys, call.write());
  LAPSE_TRY(tell_if_new(call, call[1]));
  LAPSE_TRY(keys->erase(call[1]));
  call.changed(kString, "set", call[1]);
  call.told(kGeneric, "expire", call[1]);
  call.server.told_expired(call.session.db, call[1]);
  call.server.count_expired(1, /*by_purge=*/false);
  return {};
}

Status put(const Call& call, const SetOptions& options) {
  if (options.deadline && options.deadline->has_passed(call)) return set_in_the_past(call);
  if (options.deadline) return set_until(call, call[1], call[2], *options.deadline);
  return write_value(call, call[1], call[2], options.keeps_ttl ? Lifetime::keep() : Lifetime(), "set");
}

Status set(Call& call) {
  if (call.size() == 3) {
    LAPSE_TRY(write_value(call, call[1], call[2], Lifetime(), "set"));
    call.reply.ok();
    return {};
  }
  LAPSE_TRY_ASSIGN(const SetOptions options, parse_set(call));
  std::optional<std::string> before;
  if (options.get || !options.condition.always()) {
    LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
    LAPSE_TRY_ASSIGN(before, keys->get(call[1]));
    if (options.get) call.looked_up(call[1], before.has_value());
  }
  const bool writes = options.condition.holds(before);
  if (writes) LAPSE_TRY(put(call, options));
  if (options.get) {
    reply_value(call, before);
  } else if (writes) {
    call.reply.ok();
  } else {
    call.reply.null();
  }
  return {};
}

Status setnx(Call& call) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const bool there, keys->exists(call[1]));
  if (!there) LAPSE_TRY(write_value(call, call[1], call[2], Lifetime(), "set"));
  call.reply.integer(there ? 0 : 1);
  return {};
}

Status set_with_ttl(Call& call, TimeUnit unit) {
  LAPSE_TRY_ASSIGN(const Deadline deadline, to_new_deadline(call, call[2], unit, TimeFrom::kNow));
  LAPSE_TRY(set_until(call, call[1], call[3], deadline));
  call.reply.ok();
  return {};
}

Status setex(Call& call) { return set_with_ttl(call, TimeUnit::kSeconds); }
Status psetex(Call& call) { return set_with_ttl(call, TimeUnit::kMilliseconds); }

Status getset(Call& call) {
  LAPSE_TRY_ASSIGN(const std::optional<std::string> before, look_up(call, call[1]));
  LAPSE_TRY(write_value(call, call[1], call[2], Lifetime(), "set"));
  reply_value(call, before);
  return {};
}

Status getdel(Call& call) {
  LAPSE_TRY_ASSIGN(const std::optional<std::string> before, look_up(call, call[1]));
  if (before) LAPSE_TRY(remove_key(call, call[1]).status());
  reply_value(call, before);
  return {};
}

// Gives a key that is there another deadline; one that has passed removes it.
Status expire(const Call& call, std::string_view key, const Deadline& deadline) {
  if (deadline.has_passed(call)) return remove_key(call, key).status();
  LAPSE_TRY_ASSIGN(Keyspace * keys, call.write());
  LAPSE_TRY(expire_at(call, keys, key, deadline).status());
  call.changed(kGeneric, "expire", key);
  return {};
}

Status persist(const Call& call, std::string_view key) {
  LAPSE_TRY_ASSIGN(Keyspace * keys, call.write());
  LAPSE_TRY_ASSIGN(const bool had_deadline, keys->persist(key));
  if (had_deadline) call.changed(kGeneric, "persist", key);
  return {};
}

// GETEX key [EX s | PX ms | EXAT s | PXAT ms | PERSIST]
Status getex(Call& call) {
  LifetimeOptions lifetime(LifetimeOptions::Besides::kPersist);
  for (size_t i = 2; i < call.size(); ++i) {
    if (!lifetime.take(call, &i)) return syntax_error();
  }
  LAPSE_TRY_ASSIGN(const std::optional<std::string> value, look_up(call, call[1]));
  if (value) {
    LAPSE_TRY_ASSIGN(const std::optional<Deadline> deadline, lifetime.deadline(call));
    if (deadline) LAPSE_TRY(expire(call, call[1], *deadline));
    if (lifetime.persists()) LAPSE_TRY(persist(call, call[1]));
  }
  reply_value(call, value);
  return {};
}

Result<Condition> parse_comparison(const Call& call, size_t at) {
  Condition condition;
  if (!condition.take(call, &at) || !condition.compares())
    return refuse("ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE");
  LAPSE_TRY(condition.check());
  return condition;
}

// DELEX key [IFEQ value | IFNE value | IFDEQ digest | IFDNE digest]. Of a key that is not there Redis does not ask under
// which condition it should go.
Status delex(Call& call) {
  if (call.size() != 2 && call.size() != 4) return wrong_arguments(call.command.name);
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const std::optional<std::string> value, keys->get(call[1]));
  bool removes = value.has_value();
  if (removes && call.size() == 4) {
    LAPSE_TRY_ASSIGN(const Condition condition, parse_comparison(call, 2));
    removes = condition.holds(value);
  }
  if (removes) LAPSE_TRY(remove_key(call, call[1]).status());
  call.reply.integer(removes ? 1 : 0);
  return {};
}

Status delifeq(Call& call) {
  LAPSE_TRY_ASSIGN(Keyspace * keys, call.write());
  LAPSE_TRY_ASSIGN(const bool removed, keys->compare_and_erase(call[1], call[2]));
  if (removed) call.changed(kGeneric, "del", call[1]);
  call.reply.integer(removed ? 1 : 0);
  return {};
}

Status digest_of_value(Call& call) {
  LAPSE_TRY_ASSIGN(std::optional<std::string> value, look_up(call, call[1]));
  if (value) value = digest(*value);
  reply_value(call, value);
  return {};
}

constexpr Command kCommands[] = {
    {"get", 2, kReadOnly | kFast, kOneKey, "string", "1.0.0", "Returns the value of a key.", get},
    {"set", -3, kWrite | kDenyOom, kOneKey, "string", "1.0.0",
     "Sets the value of a key, whatever it was, under conditions and with a lifetime if so asked.", set},
    {"setnx", 3, kWrite | kDenyOom | kFast, kOneKey, "string", "1.0.0",
     "Sets the value of a key that is not there.", setnx},
    {"setex", 4, kWrite | kDenyOom, kOneKey, "string", "2.0.0",
     "Sets the value of a key and its lifetime in seconds.", setex},
    {"psetex", 4, kWrite | kDenyOom, kOneKey, "string", "2.6.0",
     "Sets the value of a key and its lifetime in milliseconds.", psetex},
    {"getset", 3, kWrite | kDenyOom | kFast, kOneKey, "string", "1.0.0",
     "Sets the value of a key and returns the one before.", getset},
    {"getdel", 2, kWrite | kFast, kOneKey, "string", "6.2.0", "Returns the value of a key and removes it.",
     getdel},
    {"getex", -2, kWrite | kFast, kOneKey, "string", "6.2.0",
     "Returns the value of a key and changes its lifetime.", getex},
    {"delex", -2, kWrite | kFast, kOneKey, "string", "8.4.0",
     "Removes a key if its value, or the digest of it, is or is not the one given.", delex},
    {"delifeq", 3, kWrite | kFast, kOneKey, "string", "9.0.0", "Removes a key if its value is the one given.",
     delifeq},
    {"digest", 2, kReadOnly | kFast, kOneKey, "string", "8.4.0",
     "Returns the digest of a value, 16 hexadecimal digits.", digest_of_value},
};

}  // namespace

std::span<const Command> string_commands() { return kCommands; }

}  // namespace lapse::server
