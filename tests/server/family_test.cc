// FAMILY, and SELECT by name.

#include "test_server.h"

namespace lapse::server {
namespace {

class FamilyCommands : public testing::Test {
 protected:
  // One field of FAMILY INFO, as redis-cli prints it.
  std::string info(const std::string& family, const std::string& field) {
    const resp::Reply reply = client_.ask({"FAMILY", "INFO", family});
    for (size_t i = 0; i + 1 < reply.elements.size(); i += 2) {
      if (reply.elements[i].text == field) return resp::describe(reply.elements[i + 1]);
    }
    return "no such field: " + resp::describe(reply);
  }

  TestServer server_;
  TestClient client_{server_};
};

TEST_F(FamilyCommands, AFamilyIsSelectedByItsName) {
  EXPECT_EQ("(error) ERR invalid DB index: neither a number nor the name of a family",
            client_("SELECT carts"));
  EXPECT_EQ("OK", client_("FAMILY CREATE carts"));
  client_("SET k outside");
  EXPECT_EQ("OK", client_("SELECT carts"));
  EXPECT_EQ("(nil)", client_("GET k"));
  client_("SET k inside");
  EXPECT_EQ("OK", client_("SELECT 0"));
  EXPECT_EQ("\"outside\"", client_("GET k"));
}

TEST_F(FamilyCommands, CreateTakesPolicies) {
  EXPECT_EQ("OK", client_("FAMILY CREATE carts counted yes default-ttl 30m max-ttl 1d jitter 5 "
                          "history-keep-last 3 history-keep-for 90s"));
  EXPECT_EQ("\"carts\"", info("carts", "name"));
  EXPECT_EQ("(nil)", info("carts", "database"));
  EXPECT_EQ("\"yes\"", info("carts", "counted"));
  EXPECT_EQ("\"no\"", info("carts", "revisions"));
  EXPECT_EQ("\"30m\"", info("carts", "default-ttl"));
  EXPECT_EQ("\"1d\"", info("carts", "max-ttl"));
  EXPECT_EQ("\"no\"", info("carts", "require-ttl"));
  EXPECT_EQ("\"5\"", info("carts", "jitter"));
  EXPECT_EQ("\"yes\"", info("carts", "history"));
  EXPECT_EQ("\"3\"", info("carts", "history-keep-last"));
  EXPECT_EQ("\"90s\"", info("carts", "history-keep-for"));
}

TEST_F(FamilyCommands, JitterVariesTheLifetimesThatCommandsGive) {
  client_("FAMILY CREATE varied jitter 50");
  client_("SELECT varied");
  const std::vector<std::string> commands = {
      "SET key x EX 1000", "SET key x PX 1000000", "SETEX key 1000 x",  "PSETEX key 1000000 x",
      "EXPIRE key 1000",   "PEXPIRE key 1000000",  "GETEX key EX 1000", "MSETEX 1 key x EX 1000"};
  for (const std::string& command : commands) {
    std::set<std::string> deadlines;
    for (int i = 0; i < 20; ++i) {
      client_("SET key x");
      client_(command);
      deadlines.insert(client_("PEXPIRETIME key"));
    }
    EXPECT_LT(15U, deadlines.size()) << command;
  }
  client_("SET key x PXAT 1700001000000");
  EXPECT_EQ("(integer) 1700001000000", client_("PEXPIRETIME key")) << "a moment is meant as it is";
}

TEST_F(FamilyCommands, JitterNeverBreaksAnExpiresCondition) {
  client_("FAMILY CREATE varied jitter 50");
  client_("SELECT varied");
  int set = 0;
  for (int i = 0; i < 50; ++i) {
    for (const bool later : {true, false}) {
      const int64_t before_ms = server_.now_ms() + (later ? 90'000 : 110'000);
      client_("SET key x PXAT " + std::to_string(before_ms));
      const bool was_set = client_(later ? "EXPIRE key 100 GT" : "EXPIRE key 100 LT") == "(integer) 1";
      const std::string after = client_("PEXPIRETIME key");
      const int64_t after_ms = std::stoll(after.substr(after.find(' ')));
      if (!was_set) {
        EXPECT_EQ(before_ms, after_ms);
      } else {
        EXPECT_EQ(later, after_ms > before_ms);
        ++set;
      }
    }
  }
  EXPECT_LT(10, set);
  EXPECT_GT(90, set);
}

TEST_F(FamilyCommands, CreateRefusesWhatMakesNoSense) {
  EXPECT_EQ("(error) ERR a family's name cannot be a number: those are the databases",
            client_("FAMILY CREATE 17"));
  EXPECT_EQ("(error) ERR there is a family 'default' already", client_("FAMILY CREATE default"));
  EXPECT_EQ("(error) ERR default-ttl must be a duration as 500ms, 30s, 15m, 12h or 7d; 0: none",
            client_("FAMILY CREATE carts default-ttl 30"));
  EXPECT_EQ("(error) ERR counted must be yes or no", client_("FAMILY CREATE carts counted 1"));
  EXPECT_EQ("(error) ERR jitter must be a percentage from 0 to 100",
            client_("FAMILY CREATE carts jitter 101"));
  EXPECT_EQ("(error) ERR policies are pairs of a name and a value; the last has no value",
            client_("FAMILY CREATE carts counted"));
  EXPECT_TRUE(client_("FAMILY CREATE carts ttl 5s")
                  .starts_with("(error) ERR unknown policy 'ttl': there are counted, "));
  EXPECT_TRUE(client_("FAMILY CREATE __mine").starts_with("(error) ERR "));
  EXPECT_TRUE(client_("FAMILY CREATE \"\"").starts_with("(error) ERR "));
  EXPECT_EQ("(error) ERR no such family 'carts'", client_("FAMILY INFO carts"));
}

TEST_F(FamilyCommands, PoliciesRuleTheKeysOfTheFamily) {
  client_("FAMILY CREATE codes default-ttl 10s");
  client_("SELECT codes");
  client_("SET k v");
  server_.advance(9'999);
  EXPECT_EQ("\"v\"", client_("GET k"));
  server_.advance(1);
  EXPECT_EQ("(nil)", client_("GET k"));
}

TEST_F(FamilyCommands, MaxTtlCutsEveryLifetimeThatCommandsGive) {
  client_("FAMILY CREATE short max-ttl 10s");
  client_("SELECT short");
  const std::vector<std::string> commands = {"SET key x",   "SET key x EX 1000", "SETEX key 1000 x",
                                             "MSET key x",  "EXPIRE key 1000",   "GETEX key EX 1000",
                                             "PERSIST key", "GETEX key PERSIST", "EXPIREAT key 1800000000"};
  for (const std::string& command : commands) {
    client_("SET key x EX 1");
    EXPECT_FALSE(client_(command).starts_with("(error)")) << command;
    EXPECT_EQ("(integer) 10000", client_("PTTL key")) << command;
  }
  client_("SET key x EX 1");
  EXPECT_EQ("(integer) 1000", client_("PTTL key")) << "what is shorter stays";
}

TEST_F(FamilyCommands, RequireTtlRefusesWhateverWouldMakeAKeyPermanent) {
  client_("FAMILY CREATE strict require-ttl yes");
  client_("SELECT strict");
  const std::string refused = "(error) ERR this family takes no key without a TTL";
  for (const std::string command :
       {"SET new x", "INCR new", "APPEND new x", "SETBIT new 1 1", "MSET new x", "GETSET new x"}) {
    EXPECT_EQ(refused, client_(command)) << command;
  }
  EXPECT_EQ("(integer) 0", client_("EXISTS new"));
  client_("SET key x EX 10");
  EXPECT_EQ(refused, client_("SET key y"));
  EXPECT_EQ(refused, client_("PERSIST key"));
  EXPECT_EQ("\"x\"", client_("GET key"));
  EXPECT_EQ("OK", client_("SET key y KEEPTTL"));
  EXPECT_EQ("(integer) 2", client_("APPEND key z"));
  EXPECT_EQ("(integer) 10", client_("TTL key"));
}

TEST_F(FamilyCommands, KeysOfAFamilyGoOnTime) {
  server_->want_events(kKeyevent | kExpired);
  TestClient subscriber(server_);
  server_->pubsub().subscribe(subscriber.session(), "__keyevent@codes__:expired");
  client_("FAMILY CREATE codes");
  client_("SELECT codes");
  client_("SET k v PX 10");
  server_.advance(10);
  EXPECT_EQ("1) \"message\"\n2) \"__keyevent@codes__:expired\"\n3) \"k\"", subscriber.receive());
}

TEST_F(FamilyCommands, KeysOfAFamilyThatNobodySelectedGoOnTimeToo) {
  TempDir scratch;
  Config config;
  config.file = scratch.file("store.db");
  TestServer server(config);
  {
    TestClient client(server);
    client("FAMILY CREATE codes");
    client("SELECT codes");
    client("SET k v PX 10");
  }
  server.reopen();
  server.advance(10);
  EXPECT_EQ(1U, server->statistics().expired);
}

TEST_F(FamilyCommands, ListHasThemAllByName) {
  client_("FAMILY CREATE carts");
  const resp::Reply names = client_.ask({"FAMILY", "LIST"});
  ASSERT_EQ(17U, names.elements.size());
  EXPECT_EQ("carts", names.elements[0].text);
  EXPECT_EQ("default", names.elements[16].text);
}

TEST_F(FamilyCommands, InfoIsOfTheSelectedOneByDefault) {
  client_("SET k v PX 10");
  const resp::Reply reply = client_.ask({"FAMILY", "INFO"});
  EXPECT_EQ("default", reply.elements.at(1).text);
  EXPECT_EQ(0, reply.elements.at(3).integer);
  EXPECT_EQ("keys", reply.elements.at(4).text);
  EXPECT_EQ(1, reply.elements.at(5).integer);
  EXPECT_EQ(TestServer::kStartMs + 10, reply.elements.at(7).integer);
  EXPECT_EQ("(integer) 3", info("db3", "database"));
  client_("HELLO 3");
  EXPECT_EQ(resp::Reply::Type::kMap, client_.ask({"FAMILY", "INFO"}).type);
  EXPECT_EQ("(error) ERR wrong number of arguments for 'family|info' command", client_("FAMILY INFO a b"));
}

TEST_F(FamilyCommands, SetChangesWhatItNamesAndKeepsTheRest) {
  client_("FAMILY CREATE carts default-ttl 30m");
  EXPECT_EQ("OK", client_("FAMILY SET carts history-keep-last 5 jitter 10"));
  EXPECT_EQ("\"30m\"", info("carts", "default-ttl"));
  EXPECT_EQ("\"5\"", info("carts", "history-keep-last"));
  EXPECT_EQ("OK", client_("FAMILY SET carts history no default-ttl 0"));
  EXPECT_EQ("\"no\"", info("carts", "history"));
  EXPECT_EQ("\"0\"", info("carts", "default-ttl"));
  EXPECT_EQ("(error) ERR no such family 'trolleys'", client_("FAMILY SET trolleys jitter 1"));
  EXPECT_EQ("(error) ERR a numbered database is always counted", client_("FAMILY SET default counted no"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'family|set' command", client_("FAMILY SET carts"));
}

TEST_F(FamilyCommands, SetTakesEffectWithinTheTurn) {
  server_.together([&] {
    client_("SET k first");
    client_("FAMILY SET default history yes");
    client_("SET k second");
    client_("GET k");
  });
  EXPECT_EQ((std::vector<std::string>{"OK", "OK", "OK", "\"second\""}), client_.receive_all());
  EXPECT_EQ(2U, client_.ask({"HISTORY", "k"}).elements.size());
}

TEST_F(FamilyCommands, DropTakesEverythingWithIt) {
  client_("FAMILY CREATE carts");
  TestClient other(server_);
  other("SELECT carts");
  other("SET k v PX 10");
  EXPECT_EQ("OK", client_("FAMILY DROP carts"));
  EXPECT_EQ("(error) ERR no such family 'carts'", client_("FAMILY DROP carts"));
  EXPECT_TRUE(other("GET k").starts_with("(error) ERR "));
  server_.advance(10);  // what was due in it holds up nobody
  EXPECT_EQ("OK", client_("SET k v"));
  EXPECT_EQ("OK", client_("FAMILY CREATE carts"));
  EXPECT_EQ("OK", other("SELECT carts"));
  EXPECT_EQ("(nil)", other("GET k"));
}

TEST_F(FamilyCommands, DropRefusesTheNumberedOnes) {
  EXPECT_EQ("(error) ERR 'default' is a numbered database: FLUSHDB empties it",
            client_("FAMILY DROP default"));
  EXPECT_EQ("(error) ERR 'db3' is a numbered database: FLUSHDB empties it", client_("FAMILY DROP db3"));
  EXPECT_EQ("(error) ERR '3' is a numbered database: FLUSHDB empties it", client_("FAMILY DROP 3"));
}

TEST_F(FamilyCommands, DropMarksWatchers) {
  client_("FAMILY CREATE carts");
  TestClient watcher(server_);
  watcher("SELECT carts");
  server_->watchers().watch(watcher.session(), watcher.session()->db, "k", kNever);
  client_("FAMILY DROP carts");
  EXPECT_TRUE(watcher.session()->watches.touched);
}

TEST_F(FamilyCommands, AFamilyIsMadeAndUsedInOneTransaction) {
  client_("MULTI");
  EXPECT_EQ("QUEUED", client_("FAMILY CREATE carts"));
  EXPECT_EQ("QUEUED", client_("SELECT carts"));
  EXPECT_EQ("QUEUED", client_("SET k v"));
  EXPECT_EQ("1) OK\n2) OK\n3) OK", client_("EXEC"));
  EXPECT_EQ("\"v\"", client_("GET k"));
  EXPECT_EQ("(error) ERR Command not allowed inside a transaction",
            (client_("MULTI"), client_("FAMILY SET carts jitter 1")));
}

TEST_F(FamilyCommands, DroppedAndMadeAnewInOneTurnItIsEmpty) {
  client_("FAMILY CREATE carts");
  client_("SELECT carts");
  client_("SET k old");
  server_.together([&] {
    client_("GET k");
    client_("FAMILY DROP carts");
    client_("FAMILY LIST");
    client_("FAMILY CREATE carts");
    client_("GET k");
    client_("SET k new");
  });
  EXPECT_EQ("\"old\"", client_.receive());
  EXPECT_EQ("OK", client_.receive());
  EXPECT_EQ(std::string::npos, client_.receive().find("carts"));
  EXPECT_EQ("OK", client_.receive());
  EXPECT_EQ("(nil)", client_.receive());
  EXPECT_EQ("OK", client_.receive());
  EXPECT_EQ("\"new\"", client_("GET k"));
}

TEST_F(FamilyCommands, HelpNamesTheSubcommandsAndPolicies) {
  const std::string help = client_("FAMILY HELP");
  EXPECT_NE(std::string::npos, help.find("CREATE <name>"));
  EXPECT_NE(std::string::npos, help.find("default-ttl: a duration"));
  EXPECT_EQ("(error) ERR unknown subcommand 'FRIENDS'. Try FAMILY HELP.", client_("FAMILY FRIENDS"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'family' command", client_("FAMILY"));
}

TEST(FamilyNumbers, ThoseOfDroppedFamiliesAreUsedAgain) {
  TestServer server;
  TestClient client(server);
  client("FAMILY CREATE first");
  const int databases = server->databases().size();
  for (int i = 0; i < 50; ++i) {
    const std::string name = "family" + std::to_string(i);
    EXPECT_EQ("OK", client("FAMILY CREATE " + name));
    EXPECT_EQ("OK", client("FAMILY DROP " + name));
  }
  EXPECT_EQ(databases + 1, server->databases().size());
}

TEST(FamilyNumbers, NotWhileSomebodyHasItSelected) {
  TestServer server;
  TestClient client(server);
  TestClient behind(server);
  client("FAMILY CREATE gone");
  behind("SELECT gone");
  client("FAMILY DROP gone");
  client("FAMILY CREATE other");
  client("SELECT other");
  client("SET key value");
  EXPECT_TRUE(behind("GET key").starts_with("(error)"));
  EXPECT_TRUE(behind("SET key value").starts_with("(error)"));
  behind("SELECT 0");
  const int databases = server->databases().size();
  client("FAMILY CREATE third");
  EXPECT_EQ(databases, server->databases().size());
}

TEST(FamilyNumbers, ADropThatIsNotCommittedGivesNothingAway) {
  TestServer server;
  TestClient client(server);
  client("FAMILY CREATE kept");
  client("SELECT kept");
  client("SET key value PX 100");
  client("SELECT 0");
  server.together([&] {
    client("FAMILY DROP kept");
    client("FAMILY CREATE other");
    server->turn().give_up(Status(StatusCode::kNoSpace, "the disk is full"));
  });
  client.receive_all();
  server.advance(Expirer::kRetryMs);
  EXPECT_EQ(1U, server->statistics().expired);
}

TEST(FamilyNumbers, KeysOfAFamilyInAUsedNumberGoOnTime) {
  TestServer server;
  TestClient client(server);
  client("FAMILY CREATE gone");
  client("FAMILY DROP gone");
  client("FAMILY CREATE other");
  client("SELECT other");
  client("SET key value PX 100");
  server.advance(100);
  EXPECT_EQ(1U, server->statistics().expired);
}

}  // namespace
}  // namespace lapse::server
