// Out of memory in the server: every allocation of a turn fails once. The client gets an error or is dropped, what was
// acknowledged is there, and the server goes on.

#include <functional>

#include "support/starvation.h"
#include "test_server.h"

namespace lapse::server {
namespace {

constexpr int kMostAllocations = 5'000;

class NoMemory : public testing::Test {
 protected:
  // Has a server run these commands in one turn with 0, 1, 2, … allocations, until it has enough. `prepare` is done
  // before with all it needs; `check` gets the replies that came.
  using Prepare = std::function<void(TestServer&, TestClient&)>;
  using Check = std::function<void(TestServer&, const std::vector<std::string>&)>;
  static void starve(const std::vector<std::vector<std::string>>& commands, const Prepare& prepare,
                     const Check& check) {
    std::string bytes;
    for (const auto& command : commands) bytes += resp::to_request(command);
    for (int allowed = 0; allowed < kMostAllocations; ++allowed) {
      SCOPED_TRACE(testing::Message() << "with " << allowed << " allocations");
      TestServer server;
      TestClient client(server);
      prepare(server, client);
      client.session()->output.bytes().reserve(100);  // room for an error
      if (starve_turn(server, client, bytes, allowed)) return;
      check(server, client.receive_all());
      expect_goes_on(server);
      if (HasFailure()) return;
    }
    ADD_FAILURE() << "never enough";
  }

  // Whether there was memory left.
  static bool starve_turn(TestServer& server, TestClient& client, std::string_view bytes, int allowed) {
    const Starvation starvation(allowed);
    server->begin_turn();
    server->receive(client.session(), bytes);
    server->end_turn();
    return Starvation::ended_with_some_left();
  }

  static void expect_goes_on(TestServer& server) {
    TestClient other(server);
    EXPECT_EQ("OK", other("SET after that"));
    EXPECT_EQ("\"that\"", other("GET after"));
  }

  static bool is_error(const std::string& reply) { return reply.starts_with("(error)"); }
};

TEST_F(NoMemory, AWriteIsDoneOrNot) {
  const std::string value(10'000, 'v');
  int errors = 0;
  starve(
      {{"SET", "key", value}, {"GET", "key"}}, [](TestServer&, TestClient&) {},
      [&](TestServer& server, const std::vector<std::string>& replies) {
        TestClient other(server);
        const std::string found = other("GET key");
        const bool acknowledged = !replies.empty() && replies[0] == "OK";
        if (!replies.empty() && replies[0] == "(error) OOM there is not enough memory for this") ++errors;
        EXPECT_TRUE(found == '"' + value + '"' || (found == "(nil)" && !acknowledged)) << found;
      });
  EXPECT_GT(errors, 0);
}

TEST_F(NoMemory, ManyAtOnceAreDoneOrNot) {
  starve(
      {{"MSET", "a", std::string(100, 'x'), "b", std::string(100, 'x')}, {"PING"}},
      [](TestServer&, TestClient& client) { client("MSET a before b before"); },
      [](TestServer& server, const std::vector<std::string>& replies) {
        TestClient other(server);
        const std::string found = other("GET a");
        EXPECT_EQ(found, other("GET b"));
        const bool acknowledged = !replies.empty() && replies[0] == "OK";
        EXPECT_FALSE(acknowledged && found == "\"before\"");
      });
}

TEST_F(NoMemory, ATransactionIsDoneOrNot) {
  starve(
      {{"EXEC"}},
      [](TestServer&, TestClient& client) {
        client("SET counter 1");
        client("WATCH counter");
        client("MULTI");
        client("INCR counter");
        client({"SET", "other", std::string(1'000, 'x')});
        client("MGET counter other");
      },
      [](TestServer& server, const std::vector<std::string>& replies) {
        TestClient other(server);
        if (!replies.empty() && !is_error(replies[0]) && replies[0].find("OOM") == std::string::npos) {
          EXPECT_EQ("\"2\"", other("GET counter"));
          EXPECT_EQ("(integer) 1", other("EXISTS other"));
        }
      });
}

TEST_F(NoMemory, NobodyHearsOfWhatDidNotHappen) {
  starve(
      {{"SET", "key", std::string(100, 'v')}},
      [](TestServer& server, TestClient&) {
        server->want_events(kAllEvents | kKeyevent | kKeyspace);
        Session* listener = server->connect("listener", "here");
        server->pubsub().subscribe_pattern(listener, "__key*");
      },
      [](TestServer& server, const std::vector<std::string>&) {
        TestClient other(server);
        for (const auto& [id, session] : server->sessions()) {
          if (session->address != "listener" || session->gone || session->output.pending_bytes() == 0)
            continue;
          EXPECT_EQ("(integer) 1", other("EXISTS key"));
        }
      });
}

TEST_F(NoMemory, SubscribingAndWatchingLeaveNothingBehind) {
  starve(
      {{"WATCH", "a", "b"}, {"SUBSCRIBE", "one", "two"}, {"PSUBSCRIBE", "t*"}},
      [](TestServer&, TestClient&) {},
      [](TestServer& server, const std::vector<std::string>&) {
        while (!server->sessions().empty()) server->disconnect(server->sessions().begin()->second.get());
        EXPECT_TRUE(server->watchers().empty());
        EXPECT_TRUE(server->pubsub().empty());
      });
}

TEST_F(NoMemory, KeysThatAreDueGoLater) {
  for (int allowed = 0; allowed < kMostAllocations; ++allowed) {
    SCOPED_TRACE(testing::Message() << "with " << allowed << " allocations");
    TestServer server;
    TestClient client(server);
    for (int i = 0; i < 5; ++i) client("SET key" + std::to_string(i) + " value PX 100");
    server.clock().advance(100);
    const bool enough = starve_turn(server, client, "", allowed);
    EXPECT_EQ("(integer) 0", client("EXISTS key0"));
    server.advance(Expirer::kRetryMs);
    EXPECT_EQ("(integer) 0", client("DBSIZE"));
    EXPECT_EQ(5U, server->statistics().expired);
    if (enough || HasFailure()) return;
  }
  ADD_FAILURE() << "never enough";
}

// Not the first allocations fail here, but all beyond some: a reply takes memory for what it shows, not for what there is.
class LittleMemory : public testing::Test {
 protected:
  static constexpr int kFew = 2'000;

  // What the server makes of a command.
  static void ask_with_little_memory(TestServer& server, TestClient& client, std::string_view line) {
    const Starvation starvation(kFew);
    server->begin_turn();
    server->receive(client.session(), line);
    server->end_turn();
  }
};

TEST_F(LittleMemory, IsEnoughForAPartOfALongHistory) {
  TestServer server;
  TestClient client(server);
  client("FAMILY CREATE docs history yes");
  client("SELECT docs");
  for (int i = 0; i < 5'000; ++i) client({"SET", "key", std::string(40, 'v') + std::to_string(i)});
  client("DEL key");
  ask_with_little_memory(server, client, "HISTORY key LIMIT 1\r\n");
  EXPECT_NE(std::string::npos, client.receive().find("v4999\""));
  ask_with_little_memory(server, client, "WHY key\r\n");
  EXPECT_TRUE(client.receive().starts_with("1) \"state\"\n2) \"erased\""));
}

TEST_F(LittleMemory, IsEnoughToFindThatAReplyIsTooLarge) {
  Config config = TestServer::in_memory();
  config.normal_output = {10'000, 0, 0};
  TestServer server(config);
  TestClient client(server);
  client("FAMILY CREATE docs history yes");
  client("SELECT docs");
  for (int i = 0; i < 5'000; ++i) {
    client({"SET", std::string(40, 'k') + std::to_string(i), "value", "PX", "1000"});
    client({"SET", "key", std::string(40, 'v') + std::to_string(i)});
  }
  server.advance(1);
  for (const std::string_view line :
       {"KEYS *\r\n", "SCAN 0 COUNT 100000\r\n", "SCANAT 0 now COUNT 100000\r\n",
        "SCANAT 0 -1ms COUNT 100000\r\n", "EXPIRING now +\r\n", "HISTORY key\r\n"}) {
    TestClient greedy(server);
    greedy("SELECT docs");
    ask_with_little_memory(server, greedy, line);
    EXPECT_TRUE(greedy.session()->gone) << line << greedy.received_bytes();
  }
  EXPECT_EQ(6U, server->statistics().clients_over_output_limit);
}

}  // namespace
}  // namespace lapse::server
