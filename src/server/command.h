// Command: one row of the table of commands.
//
// Each family of commands is a file in commands/ that ends in its rows. Adding a command is adding a row, a function and a
// test: tests/server/coverage_test.py fails for a row without one.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "lapse/status.h"

namespace lapse::server {

struct Call;

// What COMMAND INFO says, and what the server goes by.
enum CommandFlag : uint32_t {
  kWrite = 1 << 0,     // may change the store
  kReadOnly = 1 << 1,  // reads the store
  kDenyOom = 1 << 2,   // as Redis has it; for clients that ask
  kAdmin = 1 << 3,
  kPubsub = 1 << 4,
  kNoScript = 1 << 5,
  kLoading = 1 << 6,
  kStale = 1 << 7,
  kFast = 1 << 8,
  kNoAuth = 1 << 9,            // before AUTH too
  kNoMulti = 1 << 10,          // refused within MULTI
  kNotQueued = 1 << 11,        // runs at once within MULTI: EXEC, DISCARD, …
  kWhileSubscribed = 1 << 12,  // allowed to a RESP2 client that has subscribed to something
  kSkipMonitor = 1 << 13,
  kSkipSlowlog = 1 << 14,
  kMovableKeys = 1 << 15,
  kBlockedByPause = 1 << 16,  // not a write, but CLIENT PAUSE WRITE holds it up: PUBLISH
  kPushes = 1 << 17,  // what it says is no reply, and comes also while CLIENT REPLY has those turned off
};

// Which arguments are keys, counted from the command's name at 0: first, last (negative: from the end), step. All 0: none.
struct KeyPositions {
  int first = 0;
  int last = 0;
  int step = 0;
  int count_at = 0;  // where the number of keys stands, of commands that say it: then `last` means nothing
};

struct Command {
  std::string_view name;  // in small letters; of a subcommand with its parent: "client|id"
  int arity;              // arguments, the name included; negative: at least
  uint32_t flags;
  KeyPositions keys;
  std::string_view group;    // as COMMAND DOCS says: "string", "generic", …
  std::string_view since;    // the Redis version that had it first; "lapse" for our own
  std::string_view summary;  // one line
  Status (*run)(Call& call);
  std::span<const Command> subcommands = {};  // then `run` is for the call without one, or null
  std::string_view syntax = {};               // of our own, for people: "key moment [LIMIT count]"
};

}  // namespace lapse::server
