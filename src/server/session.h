// Session: one client, as the commands know it. It has no socket: bytes come to it and leave it through the server.

#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "lapse/lifetime.h"
#include "resp/request_parser.h"
#include "server/input.h"
#include "server/output.h"

namespace lapse::server {

struct Command;

// What it costs to remember that a session watches a key, or has subscribed to a channel; about.
inline size_t bytes_to_remember(std::string_view name) { return 2 * name.size() + 256; }

// A key in one of the databases.
struct DbKey {
  int db;
  std::string key;
  bool operator<(const DbKey& other) const { return std::tie(db, key) < std::tie(other.db, other.key); }
};

// MULTI … EXEC.
struct Queue {
  bool open = false;
  bool broken = false;  // a command was refused while queueing: EXEC gives up
  struct Queued {
    const Command* command;
    std::vector<std::string> arguments;
  };
  std::vector<Queued> commands;
  size_t bytes = 0;
};

// WATCH.
struct Watches {
  struct Watched {
    DbKey key;
    int64_t deadline_ms;  // that it had then; kNever if it was not there
  };
  std::vector<Watched> keys;
  size_t bytes = 0;      // that they take
  bool touched = false;  // one of them has changed
};

enum class ReplyMode { kOn, kOff, kSkipNext, kSkipThis };

struct Session {
  explicit Session(uint64_t id_given) : id(id_given) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const uint64_t id;
  std::string address;  // of the peer, "127.0.0.1:5555"
  std::string local_address;
  int64_t connected_at_ms = 0;  // these times are by Server::steady_ms()
  int64_t active_at_ms = 0;     // when it sent something last

  int protocol = 2;
  int db = 0;
  bool authenticated = false;
  bool was_authenticated = false;  // before RESET, so that it is no stranger
  std::string name;
  std::string library_name;
  std::string library_version;
  ReplyMode reply_mode = ReplyMode::kOn;
  bool no_evict = false;
  bool no_touch = false;
  bool monitors = false;
  const Command* last_command = nullptr;
  uint64_t commands_run = 0;

  Queue queue;
  Watches watches;
  std::set<std::string, std::less<>> channels;
  std::set<std::string, std::less<>> patterns;
  size_t subscribed_bytes = 0;  // that both take

  Input input;
  int64_t input_began_at_ms = 0;  // when the command began that it begins with
  resp::RequestParser parser;
  Output output;

  bool ended = false;    // sends no more: closed when what it has sent has been run, and its output has gone
  bool closing = false;  // nothing more is read; closed when its output has gone
  bool gone = false;     // closed at once, output or not
  bool waits = false;    // has a whole command that CLIENT PAUSE keeps back
  bool held =
      false;  // so much has piled up, of replies or of commands, that its next commands wait for another turn
  bool has_output = false;  // is in the server's list of those that were written to in this turn

  bool subscribed() const { return !channels.empty() || !patterns.empty(); }
  size_t subscriptions() const { return channels.size() + patterns.size(); }
};

}  // namespace lapse::server
