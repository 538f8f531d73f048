// Many strings in one command: all of one moment, all or nothing.

#include <limits>
#include <optional>
#include <vector>

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/lifetime_options.h"
#include "server/commands/values.h"
#include "server/text.h"

namespace lapse::server {

namespace {

// Tells the store which keys come next, a few at a time. They stand `step` apart.
void expect_keys(const Reader& reader, std::span<const std::string_view> arguments, size_t at, size_t step) {
  constexpr size_t kAtOnce = 32;
  if (at % (kAtOnce * step) != 0) return;
  std::string_view keys[kAtOnce];
  size_t count = 0;
  for (; count < kAtOnce && at < arguments.size(); at += step) keys[count++] = arguments[at];
  reader.expect({keys, count});
}

Status mget(Call& call) {
  call.reply.array(call.size() - 1);
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  const std::span<const std::string_view> arguments = call.arguments.subspan(1);
  for (size_t i = 0; i < arguments.size(); ++i) {
    expect_keys(*keys, arguments, i, 1);
    LAPSE_TRY_ASSIGN(const std::optional<std::string> value, look_up(call, arguments[i]));
    reply_value(call, value);
    LAPSE_TRY(call.check_output());
  }
  return {};
}

// The arguments that are key, value, key, value, …
using Pairs = std::span<const std::string_view>;

Result<Pairs> all_pairs(const Call& call) {
  if (call.size() % 2 == 0) return wrong_arguments(call.command.name);
  return call.arguments.subspan(1);
}

Status set_pairs(const Call& call, Pairs pairs, const Lifetime& lifetime) {
  LAPSE_TRY_ASSIGN(const Keyspace* keys, call.write());
  for (size_t i = 0; i < pairs.size(); i += 2) {
    expect_keys(*keys, pairs, i, 2);
    LAPSE_TRY(write_value(call, pairs[i], pairs[i + 1], lifetime, "set"));
  }
  return {};
}

// How many of the keys are there; one that is named twice counts twice.
Result<size_t> count_present(const Call& call, Pairs pairs) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  size_t present = 0;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    LAPSE_TRY_ASSIGN(const bool there, keys->exists(pairs[i]));
    present += there ? 1 : 0;
  }
  return present;
}

Status mset(Call& call) {
  LAPSE_TRY_ASSIGN(const Pairs pairs, all_pairs(call));
  LAPSE_TRY(set_pairs(call, pairs, Lifetime()));
  call.reply.ok();
  return {};
}

Status msetnx(Call& call) {
  LAPSE_TRY_ASSIGN(const Pairs pairs, all_pairs(call));
  LAPSE_TRY_ASSIGN(const size_t present, count_present(call, pairs));
  if (present == 0) LAPSE_TRY(set_pairs(call, pairs, Lifetime()));
  call.reply.integer(present == 0 ? 1 : 0);
  return {};
}

// MSETEX numkeys key value [key value …] [NX | XX] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]
Result<Pairs> counted_pairs(const Call& call) {
  const std::optional<int64_t> count = to_integer(call[1]);
  if (!count || *count <= 0 || *count > std::numeric_limits<int>::max())
    return refuse("ERR invalid numkeys value");
  const auto arguments = static_cast<size_t>(*count) * 2;
  if (arguments > call.size() - 2) return refuse("ERR wrong number of key-value pairs");
  return call.arguments.subspan(2, arguments);
}

enum class Wanted { kAny, kNone, kAll };

Result<bool> are_as_wanted(const Call& call, Pairs pairs, Wanted wanted) {
  if (wanted == Wanted::kAny) return true;
  LAPSE_TRY_ASSIGN(const size_t present, count_present(call, pairs));
  return present == (wanted == Wanted::kNone ? 0 : pairs.size() / 2);
}

Status msetex(Call& call) {
  LAPSE_TRY_ASSIGN(const Pairs pairs, counted_pairs(call));
  Wanted wanted = Wanted::kAny;
  LifetimeOptions options(LifetimeOptions::Besides::kKeepTtl);
  for (size_t i = 2 + pairs.size(); i < call.size(); ++i) {
    if (same_word(call[i], "NX") && wanted != Wanted::kAll) {
      wanted = Wanted::kNone;
    } else if (same_word(call[i], "XX") && wanted != Wanted::kNone) {
      wanted = Wanted::kAll;
    } else if (!options.take(call, &i)) {
      return syntax_error();
    }
  }
  LAPSE_TRY_ASSIGN(const std::optional<Deadline> deadline, options.deadline(call));
  LAPSE_TRY_ASSIGN(const bool writes, are_as_wanted(call, pairs, wanted));
  if (writes && deadline) {
    for (size_t i = 0; i < pairs.size(); i += 2)
      LAPSE_TRY(set_until(call, pairs[i], pairs[i + 1], *deadline));
  } else if (writes) {
    LAPSE_TRY(set_pairs(call, pairs, options.keeps_ttl() ? Lifetime::keep() : Lifetime()));
  }
  call.reply.integer(writes ? 1 : 0);
  return {};
}

constexpr Command kCommands[] = {
    {"mget", -2, kReadOnly | kFast, {1, -1, 1}, "string", "1.0.0", "Returns the values of many keys.", mget},
    {"mset", -3, kWrite | kDenyOom, {1, -1, 2}, "string", "1.0.1", "Sets the values of many keys.", mset},
    {"msetnx",
     -3,
     kWrite | kDenyOom,
     {1, -1, 2},
     "string",
     "1.0.1",
     "Sets the values of many keys, if none of them is there.",
     msetnx},
    {"msetex",
     -4,
     kWrite | kDenyOom | kMovableKeys,
     {2, 0, 2, 1},
     "string",
     "8.4.0",
     "Sets the values of many keys with one lifetime for all, if so asked only if all or none of them are "
     "there.",
     msetex},
};

}  // namespace

std::span<const Command> many_commands() { return kCommands; }

}  // namespace lapse::server
