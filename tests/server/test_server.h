// A server without sockets, with a clock that tests turn, and clients that speak to it as people type:
//
//   TestServer server;
//   TestClient client(server);
//   EXPECT_EQ("OK", client("SET key value EX 10"));
//   server.advance(9'999);
//   EXPECT_EQ("\"value\"", client("GET key"));
//   server.advance(1);
//   EXPECT_EQ("(nil)", client("GET key"));
//
// Each call is a turn of its own; together() makes several calls in one. Replies read as redis-cli prints them.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lapse/clock.h"
#include "resp/reply.h"
#include "server/server.h"
#include "support/support.h"

namespace lapse::server {

class TestServer {
 public:
  static constexpr int64_t kStartMs = 1'700'000'000'000;

  // In memory, unless the config names a file.
  explicit TestServer(Config config = in_memory());
  static Config in_memory() {
    Config config;
    config.file = "";
    return config;
  }

  Server& operator*() { return *server_; }
  Server* operator->() { return server_.get(); }
  ManualClock& clock() { return clock_; }
  int64_t now_ms() { return clock_.now_ms(); }

  // Turns the clock, and lets the server have the turn that it would wake up for.
  void advance(int64_t by_ms);
  // An empty turn.
  void turn();
  // All that is done in it is one turn.
  void together(const std::function<void()>& work);
  bool in_turn() const { return in_turn_; }
  // Closes the store and opens it again, with new sessions. Clients made before are void.
  void reopen();

 private:
  Config config_;
  ManualClock clock_{kStartMs};
  std::unique_ptr<Server> server_;
  bool in_turn_ = false;
};

class TestClient {
 public:
  explicit TestClient(TestServer& server);

  // Sends a line, split as an inline command is, in a turn of its own; answers the reply as text. Within together() it
  // answers nothing: the reply comes by receive() after the turn.
  std::string operator()(std::string_view line);
  // The same with the arguments as they are, whatever bytes they have.
  std::string operator()(const std::vector<std::string>& arguments);
  // The reply itself.
  resp::Reply ask(const std::vector<std::string>& arguments);

  // Raw bytes, in a turn of their own.
  void send(std::string_view bytes);
  // The next thing that came without being asked for, or from within together(); "" if there is none.
  std::string receive();
  std::vector<std::string> receive_all();
  // All bytes that came and were not looked at.
  const std::string& received_bytes() const { return received_; }
  bool closed() const { return session_ == nullptr; }
  Session* session() { return session_; }

 private:
  void collect();

  TestServer& server_;
  Session* session_;
  std::string received_;
};

}  // namespace lapse::server
