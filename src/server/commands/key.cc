// Keys as such: whether they are there, what they are, and their end.

#include "base/try.h"
#include "server/command_table.h"
#include "server/server.h"

namespace lapse::server {

namespace {

Status del(Call& call) {
  LAPSE_TRY_ASSIGN(Keyspace * keys, call.write());
  int64_t erased = 0;
  for (const std::string_view key : call.arguments.subspan(1)) {
    LAPSE_TRY_ASSIGN(const bool was_there, keys->erase(key));
    if (!was_there) continue;
    call.changed(kGeneric, "del", key);
    ++erased;
  }
  call.reply.integer(erased);
  return {};
}

// A key that is named twice counts twice.
Status exists(Call& call) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  int64_t found = 0;
  for (const std::string_view key : call.arguments.subspan(1)) {
    LAPSE_TRY_ASSIGN(const bool is_there, keys->exists(key));
    call.looked_up(key, is_there);
    found += is_there ? 1 : 0;
  }
  call.reply.integer(found);
  return {};
}

Status type(Call& call) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const bool is_there, keys->exists(call[1]));
  call.looked_up(call[1], is_there);
  call.reply.simple(is_there ? "string" : "none");
  return {};
}

constexpr KeyPositions kOneKey = {1, 1, 1};
constexpr KeyPositions kAllKeys = {1, -1, 1};

constexpr Command kCommands[] = {
    {"del", -2, kWrite, kAllKeys, "generic", "1.0.0", "Deletes keys; returns how many there were.", del},
    {"exists", -2, kReadOnly | kFast, kAllKeys, "generic", "1.0.0", "Returns how many of the keys are there.",
     exists},
    {"touch", -2, kReadOnly | kFast, kAllKeys, "generic", "3.2.1",
     "Returns how many of the keys are there; there are no access times to renew.", exists},
    {"type", 2, kReadOnly | kFast, kOneKey, "generic", "1.0.0", "Returns the type of a key's value.", type},
    {"unlink", -2, kWrite | kFast, kAllKeys, "generic", "4.0.0",
     "Deletes keys; returns how many there were. The same as DEL.", del},
};

}  // namespace

std::span<const Command> key_commands() { return kCommands; }

}  // namespace lapse::server
