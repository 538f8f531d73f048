// Call: one command being run, and all that it may touch.

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "lapse/keyspace.h"
#include "lapse/status.h"
#include "resp/reply_writer.h"
#include "server/command.h"
#include "server/events.h"
#include "server/refusal.h"
#include "server/session.h"

namespace lapse::server {

class Server;

struct Call {
  Server& server;
  Session& session;
  const Command& command;
  std::span<const std::string_view> arguments;  // the command's name first, as it was sent
  resp::ReplyWriter reply;

  size_t size() const { return arguments.size(); }
  std::string_view operator[](size_t i) const { return arguments[i]; }

  // The turn's.
  int64_t now_ms() const;
  // The keys of the session's database, or of another: to read only, or to write too.
  Result<const Reader*> read() const { return read(session.db); }
  Result<const Reader*> read(int db) const;
  Result<Keyspace*> write() const { return write(session.db); }
  Result<Keyspace*> write(int db) const;

  // Tells of a change: watchers are marked, and an event goes out (kNew and kKeyMiss are events without a change; see
  // told()).
  void changed(uint32_t event_class, std::string_view event, std::string_view key) const {
    changed(event_class, event, key, session.db);
  }
  void changed(uint32_t event_class, std::string_view event, std::string_view key, int db) const;
  // An event that changes nothing.
  void told(uint32_t event_class, std::string_view event, std::string_view key) const;
  // Whether anyone would hear of such events, for those that cost something to find out about.
  bool wanted(uint32_t event_class) const;

  // For replies that may grow with what there is, or with what is asked for, after each part of them: beyond the client's output
  // limit the client is dropped, and nothing more need be said to it. `more` bytes are to come that are not in the reply yet.
  Status check_output(size_t more = 0) const;

  // For reads that count as hits and misses in INFO.
  void looked_up(std::string_view key, bool found) const;
};

}  // namespace lapse::server
