// What arrives from several clients is run together: each of them gets what it would have got alone.

#include "test_server.h"

namespace lapse::server {
namespace {

class LookAhead : public testing::Test {
 protected:
  static std::string command(const std::vector<std::string>& words) {
    std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words) bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    return bytes;
  }

  struct Sent {
    TestClient* by;
    std::string bytes;
  };
  // In one turn, as the network brings it.
  void arrive(const std::vector<Sent>& all) {
    std::vector<Server::Arrival> arrivals;
    for (const Sent& one : all) arrivals.push_back({one.by->session(), one.bytes});
    server_.together([&] { server_->receive(arrivals); });
  }

  TestServer server_;
  TestClient a_{server_};
  TestClient b_{server_};
  TestClient c_{server_};
};

TEST_F(LookAhead, EachSeesWhatThoseBeforeItHaveDone) {
  a_("SET key 1");
  arrive({{&a_, command({"GET", "key"})}, {&b_, command({"INCR", "key"})}, {&c_, command({"GET", "key"})}});
  EXPECT_EQ("\"1\"", a_.receive());
  EXPECT_EQ("(integer) 2", b_.receive());
  EXPECT_EQ("\"2\"", c_.receive());
}

TEST_F(LookAhead, DatabasesAreKeptApart) {
  a_("SET key first");
  b_("SELECT 1");
  b_("SET key second");
  arrive({{&a_, command({"GET", "key"})}, {&b_, command({"GET", "key"})}, {&c_, command({"GET", "key"})}});
  EXPECT_EQ("\"first\"", a_.receive());
  EXPECT_EQ("\"second\"", b_.receive());
  EXPECT_EQ("\"first\"", c_.receive());
}

TEST_F(LookAhead, WhoIsKilledByAnotherIsNotRun) {
  const std::string id = std::to_string(b_.session()->id);
  arrive({{&a_, command({"CLIENT", "KILL", "ID", id})}, {&b_, command({"SET", "key", "value"})}});
  EXPECT_EQ("(integer) 1", a_.receive());
  b_.receive_all();
  EXPECT_TRUE(b_.closed());
  EXPECT_EQ("(nil)", a_("GET key"));
}

TEST_F(LookAhead, HalfCommandsQueuesAndOddOnesAreAsEver) {
  a_("MULTI");
  b_.send("*2\r\n$3\r\nGET\r\n$3\r\n");
  arrive({{&a_, command({"SET", "key", "value"})},
          {&b_, "key\r\n" + command({"GET"}) + command({"GET", ""}) + "GET key\r\n"},
          {&c_, command({"NOSUCH", "key"}) + command({"GET", std::string(100'000, 'k')})}});
  EXPECT_EQ("QUEUED", a_.receive());
  EXPECT_EQ((std::vector<std::string>{"(nil)", "(error) ERR wrong number of arguments for 'get' command",
                                      "(nil)", "(nil)"}),
            b_.receive_all());
  const std::vector<std::string> odd = c_.receive_all();
  ASSERT_EQ(2U, odd.size());
  EXPECT_TRUE(odd[0].starts_with("(error) ERR unknown command")) << odd[0];
  EXPECT_EQ("1) OK", a_("EXEC"));
}

TEST_F(LookAhead, ManyClientsAreAllAnswered) {
  std::vector<std::unique_ptr<TestClient>> clients;
  std::vector<Sent> all;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<TestClient>(server_));
    all.push_back({clients.back().get(), command({"APPEND", "key", "x"})});
  }
  arrive(all);
  for (size_t i = 0; i < clients.size(); ++i)
    EXPECT_EQ("(integer) " + std::to_string(i + 1), clients[i]->receive());
}

// Only what is about to be run is looked at. Else each portion of what has piled up looks at all the rest, and a client that
// sends a gigabyte of PINGs stops the server.
TEST_F(LookAhead, WhatHasPiledUpIsNotLookedAtAgainAndAgain) {
  constexpr size_t kPings = 2'000'000;
  a_("CLIENT PAUSE 1000000");
  std::string pings;
  for (size_t i = 0; i < kPings; ++i) pings += "*1\r\n$4\r\nPING\r\n";
  b_.send(pings);
  a_("CLIENT UNPAUSE");
  server_.turn();
  b_.receive();
  EXPECT_EQ((kPings - 1) * 7, b_.received_bytes().size());
}

}  // namespace
}  // namespace lapse::server
