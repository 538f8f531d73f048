// Expiry on time: keys go and events fire at their deadline, in bounded portions, and nothing spins.

#include <sys/resource.h>

#include <csignal>

#include "test_server.h"

namespace lapse::server {
namespace {

class Expiry : public testing::Test {
 protected:
  explicit Expiry(Config config = TestServer::in_memory()) : server_(std::move(config)) {
    server_->want_events(kAllEvents | kKeyevent);
    for (const char* event : {"expired", "del", "set"})
      server_->pubsub().subscribe(listener_.session(), std::string("__keyevent@0__:") + event);
    server_->pubsub().subscribe(listener_.session(), "__keyevent@3__:expired");
  }

  // "expired key", … since the last call.
  std::vector<std::string> events() {
    std::vector<std::string> names;
    for (const std::string& message : listener_.receive_all()) {
      const size_t event = message.find("__:") + 3;
      const size_t key = message.find("3) \"") + 4;
      names.push_back(message.substr(event, message.find('"', event) - event) + " " +
                      message.substr(key, message.size() - key - 1));
    }
    return names;
  }
  using Events = std::vector<std::string>;

  TestServer server_;
  TestClient client_{server_};
  TestClient listener_{server_};
};

TEST_F(Expiry, TheEventFiresAtTheDeadlineWithoutAnyoneAsking) {
  client_("SET key value PX 100");
  events();
  EXPECT_EQ(server_.now_ms() + 100, server_->wakeup_ms());
  server_.advance(99);
  EXPECT_EQ(Events(), events());
  server_.advance(1);
  EXPECT_EQ(Events{"expired key"}, events());
  EXPECT_EQ(kNever, server_->wakeup_ms());
  EXPECT_EQ(1U, server_->statistics().expired);
  EXPECT_EQ(0, server_->expirer().lag_ms());
}

TEST_F(Expiry, EventsComeInTheOrderOfDeadlines) {
  client_("SET c value PX 30");
  client_("SET a value PX 10");
  client_("SET b value PX 20");
  events();
  server_.advance(50);
  EXPECT_EQ((Events{"expired a", "expired b", "expired c"}), events());
  EXPECT_EQ(20, server_->expirer().lag_ms());
  EXPECT_EQ(40, server_->expirer().longest_lag_ms());
}

TEST_F(Expiry, DatabasesGoInTheOrderOfTheirDeadlines) {
  client_("SET late value PX 30");
  client_("SELECT 3");
  client_("SET early value PX 10");
  events();
  server_.advance(50);
  EXPECT_EQ((Events{"expired early", "expired late"}), events());
}

TEST_F(Expiry, ADeadlineThatWasMovedWakesForTheNewOne) {
  client_("SET key value PX 100");
  client_("SET next value PX 300");
  client_("PEXPIRE key 200");
  server_.advance(100);
  client_("GET key");
  EXPECT_EQ(TestServer::kStartMs + 200, server_->wakeup_ms());
  client_("PERSIST key");
  server_.advance(100);
  EXPECT_EQ(TestServer::kStartMs + 300, server_->wakeup_ms());
}

TEST_F(Expiry, WhatIsDueAfterAReopenGoesAtOnce) {
  const TempDir scratch;
  Config config;
  config.file = scratch.path() + "/lapse.db";
  TestServer server(config);
  {
    TestClient client(server);
    client("SET key value PX 100");
  }
  server.clock().advance(1'000);
  server.reopen();
  EXPECT_LE(server->wakeup_ms(), server.now_ms());
  server.turn();
  EXPECT_EQ(1U, server->statistics().expired);
}

TEST_F(Expiry, ManyAtOnceGoInPortionsAndClientsHaveTheirTurnsBetween) {
  const size_t many = 3 * Expirer::kPerTurn;
  for (size_t i = 0; i < many; ++i) client_("SET key" + std::to_string(i) + " value PX 100");
  events();
  server_.clock().advance(100);
  EXPECT_EQ("(nil)", client_("GET key" + std::to_string(many - 1)));  // hidden, removed or not
  EXPECT_EQ("(integer) 0", client_("DBSIZE"));
  EXPECT_EQ(2 * Expirer::kPerTurn, server_->statistics().expired);
  EXPECT_LE(server_->wakeup_ms(), server_.now_ms());
  EXPECT_NE(std::string::npos, client_("INFO lapse").find("due_but_present_keys:0"));
  EXPECT_EQ(many, server_->statistics().expired);
  EXPECT_EQ(many, events().size());
  EXPECT_EQ(kNever, server_->wakeup_ms());
}

TEST_F(Expiry, WhatIsDueAndPresentIsCounted) {
  server_->expirer().enable(false);
  client_("SET a value PX 100");
  client_("SET b value");
  server_.advance(100);
  EXPECT_EQ(kNever, server_->wakeup_ms());
  EXPECT_NE(std::string::npos, client_("INFO lapse").find("due_but_present_keys:1"));
}

TEST_F(Expiry, AWriteToAKeyThatIsDueFirstTellsThatItExpired) {
  server_->expirer().enable(false);
  client_("SET key old PX 100");
  client_("SET other old PX 100");
  events();
  server_.advance(100);
  client_("SET key new");
  EXPECT_EQ((Events{"expired key", "set key"}), events());
  client_("DEL other");
  EXPECT_EQ(Events{"expired other"}, events());
  EXPECT_EQ(2U, server_->statistics().expired);
}

TEST_F(Expiry, DelprefixFirstTellsOfWhatHasExpired) {
  server_->expirer().enable(false);
  client_("SET p:1 old PX 100");
  client_("SET p:2 old");
  events();
  server_.advance(100);
  EXPECT_EQ("(integer) 1", client_("DELPREFIX p:"));
  EXPECT_EQ((Events{"expired p:1", "del p:2"}), events());
  EXPECT_EQ(1U, server_->statistics().expired);
}

TEST_F(Expiry, ACopyOverAKeyOfAnotherDatabaseThatIsDueTellsThatItExpired) {
  client_("SET key value");
  client_("SELECT 3");
  client_("SET key old PX 100");
  client_("SELECT 0");
  server_->expirer().enable(false);
  events();
  server_.advance(100);
  EXPECT_EQ("(integer) 1", client_("COPY key key DB 3"));
  EXPECT_EQ(Events{"expired key"}, events());
}

TEST_F(Expiry, MissesThatItCausedAreCounted) {
  client_("SET key value PX 100");
  client_("GET never");
  server_.advance(100);
  client_("GET key");
  EXPECT_EQ(2U, server_->statistics().misses);
  EXPECT_EQ(1U, server_->statistics().misses_by_expiry);
  client_("SET key value");
  client_("DEL key");
  client_("GET key");
  EXPECT_EQ(1U, server_->statistics().misses_by_expiry);
  server_->expirer().enable(false);
  client_("SET key value PX 100");
  server_.advance(100);
  client_("GET key");
  EXPECT_EQ(2U, server_->statistics().misses_by_expiry);
}

TEST_F(Expiry, MissesAfterAPurgeAreCounted) {
  server_->expirer().enable(false);
  client_("SET key value PX 100");
  server_.advance(100);
  client_("PURGE");
  client_("GET key");
  EXPECT_EQ(1U, server_->statistics().misses_by_expiry);
}

TEST(ExpiredKeysOfAServer, MostOfManyAreRemembered) {
  ExpiredKeys keys;
  constexpr int kKeys = 50'000;
  for (int i = 0; i < kKeys; ++i) keys.add(0, "key:" + std::to_string(i));
  int known = 0;
  for (int i = 0; i < kKeys; ++i) known += keys.has(0, "key:" + std::to_string(i)) ? 1 : 0;
  EXPECT_GT(known, kKeys * 9 / 10);
  EXPECT_FALSE(keys.has(1, "key:1"));
}

// --------------------------------------------------------------------------------- when it cannot

class DoubtfulClock final : public Clock {
 public:
  int64_t now_ms() override { return time_ms; }
  bool in_doubt() override { return doubt; }
  int64_t time_ms = TestServer::kStartMs;
  bool doubt = false;
};

TEST(ExpiryByADoubtfulClock, RemovesNothingAndDoesNotSpin) {
  DoubtfulClock clock;
  const std::unique_ptr<Server> server = must(Server::open(TestServer::in_memory(), &clock));
  Session* session = server->connect("127.0.0.1:5555", "127.0.0.1:6379");
  const auto say = [&](std::string_view line) {
    server->begin_turn();
    server->receive(session, line);
    server->end_turn();
    std::string reply(session->output.unsent());
    session->output.sent(reply.size());
    return reply;
  };
  EXPECT_EQ("+OK\r\n", say("SET key value PX 100\r\n"));
  clock.doubt = true;
  clock.time_ms += 100;
  EXPECT_EQ("$-1\r\n", say("GET key\r\n"));
  EXPECT_EQ(0U, server->statistics().expired);
  EXPECT_EQ(kNever, server->wakeup_ms());
  clock.doubt = false;
  EXPECT_LE(server->wakeup_ms(), clock.time_ms);
  say("PING\r\n");
  EXPECT_EQ(1U, server->statistics().expired);
}

// No file of this process may grow, as if the disk were full.
class FullDisk {
 public:
  FullDisk() {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

class ExpiryOnDisk : public Expiry {
 protected:
  ExpiryOnDisk() : Expiry(on_disk()) {}

 private:
  static Config on_disk() {
    static int number = 0;
    static const TempDir scratch;
    Config config;
    config.file = scratch.path() + "/" + std::to_string(number++) + ".db";
    config.durability = Durability::kFull;  // so that a commit fails at once
    return config;
  }
};

// What the journal has in reserve is used up first, down to less than the removal of these keys takes.
TEST_F(ExpiryOnDisk, AFullDiskDelaysExpiryAndReadsGoOn) {
  constexpr size_t kKeys = 64;
  for (size_t i = 0; i < kKeys; ++i)
    client_("SET " + std::string(1'000, 'k') + std::to_string(i) + " x PX 2000");
  client_("SET other value");
  client_("SET filler x");
  {
    const FullDisk full;
    for (const size_t bytes : {1UL << 20, 64UL << 10, 4UL << 10}) {
      const std::vector<std::string> fill = {"SET", "filler", std::string(bytes, 'x')};
      std::string reply = "OK";
      for (int i = 0; i < 10'000 && reply == "OK"; ++i) reply = client_(fill);
      ASSERT_TRUE(reply.starts_with("(error) MISCONF")) << reply;
    }
    events();
    server_.clock().advance(2'000);                // past the rest that the failed writes have given it
    EXPECT_EQ("\"value\"", client_("GET other"));  // in the turn whose purge fails
    EXPECT_EQ(Events(), events());
    EXPECT_EQ(0U, server_->statistics().expired);
    EXPECT_EQ(server_.now_ms() + Expirer::kRetryMs, server_->wakeup_ms());
    EXPECT_EQ("\"value\"", client_("GET other"));
    EXPECT_EQ("(integer) 2", client_("DBSIZE"));
  }
  server_.advance(Expirer::kRetryMs);
  EXPECT_EQ(kKeys, events().size());
  EXPECT_EQ("OK", client_("SET other new"));
}

TEST(ExpirerPortions, AreSmallAndRareWhileTheStoreIsBehind) {
  TestServer server;
  Expirer& expirer = server->expirer();
  TestClient client(server);
  client("SET key value PX 100");
  const int64_t due_ms = server.now_ms() + 100;
  EXPECT_EQ(Expirer::kPerTurn, expirer.next_portion(due_ms, 0.25));
  EXPECT_TRUE(expirer.is_due(due_ms));
  EXPECT_EQ(32U, expirer.next_portion(due_ms, 0.9));
  EXPECT_FALSE(expirer.is_due(due_ms + 19));
  EXPECT_TRUE(expirer.is_due(due_ms + 20));
}

}  // namespace
}  // namespace lapse::server
