// The store is told ahead of time which keys will come, of a pipeline and of several clients: each command still finds what
// those before it have left.

#include "test_server.h"

namespace lapse::server {
namespace {

using resp::to_request;

class LookAhead : public testing::Test {
 protected:
  struct Sent {
    TestClient* by;
    std::string bytes;
  };
  // In one turn, as the network brings it.
  void arrive(const std::vector<Sent>& all) {
    std::vector<Server::Arrival> arrivals;
    arrivals.reserve(all.size());
    for (const Sent& one : all) arrivals.push_back({one.by->session(), one.bytes});
    server_.together([&] { server_->receive(arrivals); });
  }

  TestServer server_;
  TestClient a_{server_};
  TestClient b_{server_};
  TestClient c_{server_};
};

TEST_F(LookAhead, APipelineReadsWhatItHasWritten) {
  a_("SET first 1");
  a_("SELECT 1");
  a_("SET first of-another-database");
  a_("SELECT 0");
  ASSERT_EQ("OK", a_("SAVE"));  // so that they are found in the tree
  std::string pipeline =
      to_request({"GET", "first"}) + to_request({"INCR", "first"}) + to_request({"GET", "first"}) +
      to_request({"DEL", "first"}) + to_request({"GET", "first"}) + to_request({"SET", "first", "x"}) +
      to_request({"SELECT", "1"}) + to_request({"GET", "first"}) + to_request({"NOSUCH", "first"}) +
      to_request({"SELECT", "0"}) + "GET first\r\n" + to_request({"GET", "absent"}) +
      to_request({"SET", "absent", "y"}) + to_request({"STRLEN", "absent"});
  for (int i = 0; i < 40; ++i) pipeline += to_request({"APPEND", "long", std::to_string(i)});
  pipeline += to_request({"STRLEN", "long"});
  a_.send(pipeline);
  const std::vector<std::string> replies = a_.receive_all();
  ASSERT_EQ(55U, replies.size());
  const std::vector<std::string> first(replies.begin(), replies.begin() + 8);
  EXPECT_EQ((std::vector<std::string>{"\"1\"", "(integer) 2", "\"2\"", "(integer) 1", "(nil)", "OK", "OK",
                                      "\"of-another-database\""}),
            first);
  EXPECT_EQ("\"x\"", replies[10]);
  EXPECT_EQ("(nil)", replies[11]);
  EXPECT_EQ("(integer) 1", replies[13]);
  EXPECT_EQ("(integer) 70", replies.back());
}

TEST_F(LookAhead, EachSeesWhatThoseBeforeItHaveDone) {
  a_("SET key 1");
  arrive({{&a_, to_request({"GET", "key"})},
          {&b_, to_request({"INCR", "key"})},
          {&c_, to_request({"GET", "key"})}});
  EXPECT_EQ("\"1\"", a_.receive());
  EXPECT_EQ("(integer) 2", b_.receive());
  EXPECT_EQ("\"2\"", c_.receive());
}

TEST_F(LookAhead, DatabasesAreKeptApart) {
  a_("SET key first");
  b_("SELECT 1");
  b_("SET key second");
  arrive({{&a_, to_request({"GET", "key"})},
          {&b_, to_request({"GET", "key"})},
          {&c_, to_request({"GET", "key"})}});
  EXPECT_EQ("\"first\"", a_.receive());
  EXPECT_EQ("\"second\"", b_.receive());
  EXPECT_EQ("\"first\"", c_.receive());
}

TEST_F(LookAhead, WhoIsKilledByAnotherIsNotRun) {
  const std::string id = std::to_string(b_.session()->id);
  arrive({{&a_, to_request({"CLIENT", "KILL", "ID", id})}, {&b_, to_request({"SET", "key", "value"})}});
  EXPECT_EQ("(integer) 1", a_.receive());
  b_.receive_all();
  EXPECT_TRUE(b_.closed());
  EXPECT_EQ("(nil)", a_("GET key"));
}

TEST_F(LookAhead, HalfCommandsQueuesAndOddOnesAreAsEver) {
  a_("MULTI");
  b_.send("*2\r\n$3\r\nGET\r\n$3\r\n");
  arrive({{&a_, to_request({"SET", "key", "value"})},
          {&b_, "key\r\n" + to_request({"GET"}) + to_request({"GET", ""}) + "GET key\r\n"},
          {&c_, to_request({"NOSUCH", "key"}) + to_request({"GET", std::string(100'000, 'k')})}});
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
    all.push_back({clients.back().get(), to_request({"APPEND", "key", "x"})});
  }
  arrive(all);
  for (size_t i = 0; i < clients.size(); ++i)
    EXPECT_EQ("(integer) " + std::to_string(i + 1), clients[i]->receive());
}

// Many portions, none with a key. (If each looked at all that is left, the time would grow with the square.)
TEST_F(LookAhead, ALongBacklogWithoutKeysIsAnsweredToTheEnd) {
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
