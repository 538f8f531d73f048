// GETAT, HISTORY, SCANAT, RESTOREAT, WHY: families that remember.

#include "test_server.h"

namespace lapse::server {
namespace {

constexpr int64_t kStart = TestServer::kStartMs;

class PastCommands : public testing::Test {
 protected:
  PastCommands() {
    EXPECT_EQ("OK", client_("FAMILY CREATE docs history-keep-last 10"));
    EXPECT_EQ("OK", client_("SELECT docs"));
  }

  TestServer server_;
  TestClient client_{server_};
};

TEST_F(PastCommands, GetatShowsWhatWasThereThen) {
  client_("SET motto first");
  server_.advance(1'000);
  client_("SET motto second");
  server_.advance(1'000);
  client_("DELPREFIX motto");
  server_.advance(1'000);
  EXPECT_EQ("(nil)", client_("GETAT motto " + std::to_string(kStart - 1)));
  EXPECT_EQ("\"first\"", client_("GETAT motto " + std::to_string(kStart)));
  EXPECT_EQ("\"first\"", client_("GETAT motto " + std::to_string(kStart + 999)));
  EXPECT_EQ("\"second\"", client_("GETAT motto " + std::to_string(kStart + 1'000)));
  EXPECT_EQ("\"second\"", client_("GETAT motto " + std::to_string(kStart + 1'999)));
  EXPECT_EQ("(nil)", client_("GETAT motto " + std::to_string(kStart + 2'000)));
}

TEST_F(PastCommands, GetatTakesMomentsRelativeToNow) {
  client_("SET motto first");
  server_.advance(60'000);
  client_("SET motto second");
  server_.advance(1);
  EXPECT_EQ("\"first\"", client_("GETAT motto -1m"));
  EXPECT_EQ("\"first\"", client_("GETAT motto -2ms"));
  EXPECT_EQ("\"second\"", client_("GETAT motto -1ms"));
  EXPECT_EQ("\"second\"", client_("GETAT motto now"));
  EXPECT_EQ("(nil)", client_("GETAT motto -1d"));
}

TEST_F(PastCommands, GetatHonoursTheLifetimesOfThen) {
  client_("SET code 1234 PX 100");
  server_.advance(1'000);
  EXPECT_EQ("\"1234\"", client_("GETAT code " + std::to_string(kStart + 99)));
  EXPECT_EQ("(nil)", client_("GETAT code " + std::to_string(kStart + 100)));
}

TEST_F(PastCommands, GetatSeesTheWritesOfItsOwnTurn) {
  server_.together([&] {
    client_("SET motto first");
    client_("GETAT motto now");
  });
  EXPECT_EQ((std::vector<std::string>{"OK", "\"first\""}), client_.receive_all());
}

TEST_F(PastCommands, MomentsThatAreNoneAreRefused) {
  const std::string invalid =
      "(error) ERR invalid time: milliseconds since 1970, or a duration from now as in -5m or +10s, or now";
  for (const char* moment :
       {"noon", "-60", "-", "+", "1.5", "-5y", "-99999999999d", "-9223372036854775807ms"})
    EXPECT_EQ(invalid, client_("GETAT motto " + std::string(moment))) << moment;
  EXPECT_EQ("(error) ERR the time 1700000010000 ms lies in the future; it is 1700000000000 ms",
            client_("GETAT motto +10s"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'getat' command", client_("GETAT motto"));
}

TEST_F(PastCommands, AFamilyWithoutHistorySaysHowToHaveIt) {
  client_("SELECT 0");
  const std::string no_history =
      "(error) ERR the family 'default' keeps no history: see FAMILY SET, history-keep-last";
  EXPECT_EQ(no_history, client_("GETAT motto now"));
  EXPECT_EQ(no_history, client_("HISTORY motto"));
  EXPECT_EQ(no_history, client_("SCANAT 0 now"));
  EXPECT_EQ(no_history, client_("RESTOREAT motto now"));
}

TEST_F(PastCommands, HistoryTellsWhenAndWhyEachValueEnded) {
  client_("SET k first");
  server_.advance(10);
  client_("SET k second PX 100");
  server_.advance(200);
  client_("SET k third");
  server_.advance(10);
  client_("DELPREFIX k");
  client_("HELLO 3");
  const resp::Reply history = client_.ask({"HISTORY", "k"});
  ASSERT_EQ(3U, history.elements.size());
  const auto text = [&](size_t i, const std::string& field) {
    const std::vector<resp::Reply>& pairs = history.elements[i].elements;
    for (size_t at = 0; at + 1 < pairs.size(); at += 2) {
      if (pairs[at].text == field) return resp::describe(pairs[at + 1]);
    }
    return std::string("no such field");
  };
  const auto at = [](int64_t ms) { return "(integer) " + std::to_string(kStart + ms); };
  EXPECT_EQ(resp::Reply::Type::kMap, history.elements[0].type);
  EXPECT_EQ("\"third\"", text(0, "value"));
  EXPECT_EQ(at(210), text(0, "written-at"));
  EXPECT_EQ(at(220), text(0, "ended-at"));
  EXPECT_EQ("\"erased\"", text(0, "ending"));
  EXPECT_EQ("(nil)", text(0, "deadline"));
  EXPECT_EQ("\"second\"", text(1, "value"));
  EXPECT_EQ("\"expired\"", text(1, "ending"));
  EXPECT_EQ(at(110), text(1, "ended-at"));
  EXPECT_EQ(at(110), text(1, "deadline"));
  EXPECT_EQ("\"first\"", text(2, "value"));
  EXPECT_EQ("\"overwritten\"", text(2, "ending"));
  EXPECT_EQ(at(10), text(2, "ended-at"));
}

TEST_F(PastCommands, HistoryInResp2IsAFlatArrayPerValue) {
  client_("SET k v");
  const resp::Reply history = client_.ask({"HISTORY", "k"});
  ASSERT_EQ(1U, history.elements.size());
  EXPECT_EQ(resp::Reply::Type::kArray, history.elements[0].type);
  ASSERT_EQ(12U, history.elements[0].elements.size());
  EXPECT_EQ("\"visible\"", resp::describe(history.elements[0].elements[9]));
  EXPECT_EQ("(nil)", resp::describe(history.elements[0].elements[7]));
}

TEST_F(PastCommands, HistoryHasEveryValueThatOneTurnAcknowledged) {
  server_.together([&] {
    client_("SET motto first");
    client_("SET other value");
    client_("SET motto second");
    client_("DEL motto");
    client_("MULTI");
    client_("SET motto third");
    client_("SET motto fourth");
    client_("EXEC");
    client_("DELPREFIX mot");
  });
  client_.receive_all();
  const resp::Reply history = client_.ask({"HISTORY", "motto"});
  std::vector<std::string> values;
  for (const resp::Reply& one : history.elements) values.push_back(one.elements.at(1).text);
  EXPECT_EQ((std::vector<std::string>{"fourth", "second", "first"}), values);  // MULTI is one change
}

TEST_F(PastCommands, WithoutHistoryATurnIsOneCommit) {
  client_("SELECT 0");
  const uint64_t commits = server_->statistics().commits;
  server_.together([&] {
    for (int i = 0; i < 10; ++i) client_("SET key value" + std::to_string(i));
  });
  EXPECT_EQ(commits + 1, server_->statistics().commits);
}

TEST_F(PastCommands, HistoryLimitCountsFromTheNewest) {
  for (const char* value : {"1", "2", "3"}) client_("SET k " + std::string(value));
  EXPECT_EQ(3U, client_.ask({"HISTORY", "k"}).elements.size());
  const resp::Reply two = client_.ask({"HISTORY", "k", "limit", "2"});
  ASSERT_EQ(2U, two.elements.size());
  EXPECT_EQ("3", two.elements[0].elements[1].text);
  EXPECT_EQ("(empty array)", client_("HISTORY nothing"));
  EXPECT_EQ("(error) ERR LIMIT must be a positive integer", client_("HISTORY k LIMIT 0"));
  EXPECT_EQ("(error) ERR LIMIT must be a positive integer", client_("HISTORY k LIMIT some"));
  EXPECT_EQ("(error) ERR syntax error", client_("HISTORY k LIMIT"));
  EXPECT_EQ("(error) ERR syntax error", client_("HISTORY k 2"));
}

// Every key, by as many calls as it takes.
std::vector<std::string> scan_all(TestClient& client, const std::string& moment, const std::string& options) {
  std::vector<std::string> keys;
  std::string cursor = "0";
  do {
    const resp::Reply page = [&] {
      std::vector<std::string> arguments = {"SCANAT", cursor, moment};
      for (size_t at = 0, end; at < options.size(); at = end + 1) {
        end = std::min(options.find(' ', at), options.size());
        arguments.push_back(options.substr(at, end - at));
      }
      return client.ask(arguments);
    }();
    cursor = page.elements.at(0).text;
    for (const resp::Reply& key : page.elements.at(1).elements) keys.push_back(key.text);
  } while (cursor != "0");
  return keys;
}

TEST_F(PastCommands, ScanatWalksOverTheKeysOfThen) {
  client_("SET a 1");
  client_("SET b 1 PX 500");
  client_("SET c 1");
  server_.advance(1'000);
  client_("DELPREFIX a");
  client_("SET d 1");
  server_.advance(1'000);
  using Keys = std::vector<std::string>;
  const std::string then = std::to_string(kStart + 499);
  EXPECT_EQ((Keys{"a", "b", "c"}), scan_all(client_, then, "COUNT 1"));
  EXPECT_EQ((Keys{"a", "b", "c"}), scan_all(client_, then, ""));
  EXPECT_EQ((Keys{"b"}), scan_all(client_, then, "COUNT 2 MATCH b*"));
  EXPECT_EQ((Keys{"a", "c"}), scan_all(client_, "-1001ms", ""));
  EXPECT_EQ((Keys{"c", "d"}), scan_all(client_, "now", "COUNT 1"));
  EXPECT_EQ((Keys{}), scan_all(client_, "-1d", ""));
}

TEST_F(PastCommands, ScanatRefusesBadInput) {
  EXPECT_EQ("(error) ERR invalid cursor", client_("SCANAT x now"));
  EXPECT_EQ("(error) ERR invalid cursor", client_("SCANAT 77 now"));
  EXPECT_EQ("(error) ERR syntax error", client_("SCANAT 0 now COUNT 0"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("SCANAT 0 now COUNT x"));
  EXPECT_EQ("(error) ERR syntax error", client_("SCANAT 0 now MATCH"));
  EXPECT_EQ("(error) ERR syntax error", client_("SCANAT 0 now TYPE string"));
}

TEST_F(PastCommands, RestoreatBringsAnErasedValueBack) {
  client_("SET k v");
  server_.advance(1'000);
  client_("DELPREFIX k");
  server_.advance(1'000);
  EXPECT_EQ("(integer) 0", client_("RESTOREAT k -1d"));
  EXPECT_EQ("(nil)", client_("GET k"));
  EXPECT_EQ("(integer) 1", client_("RESTOREAT k -1001ms"));
  EXPECT_EQ("\"v\"", client_("GET k"));
}

TEST_F(PastCommands, RestoreatGivesTheLifetimeItIsTold) {
  client_("SET k v");
  server_.advance(1'000);
  client_("SET k w PX 5000");
  EXPECT_EQ("(integer) 1", client_("RESTOREAT k -1s KEEPTTL"));
  server_.advance(4'999);
  EXPECT_EQ("\"v\"", client_("GET k"));
  server_.advance(1);
  EXPECT_EQ("(nil)", client_("GET k"));
  EXPECT_EQ("(integer) 1", client_("RESTOREAT k -1ms PX 10"));
  server_.advance(10);
  EXPECT_EQ("(nil)", client_("GET k"));
  EXPECT_EQ("(integer) 1", client_("RESTOREAT k -1ms PERSIST"));
  server_.advance(1'000'000);
  EXPECT_EQ("\"v\"", client_("GET k"));
  EXPECT_EQ("(error) ERR syntax error", client_("RESTOREAT k -1ms PERSIST KEEPTTL"));
  EXPECT_EQ("(error) ERR syntax error", client_("RESTOREAT k -1ms EX 1 PX 1"));
  EXPECT_EQ("(error) ERR invalid expire time in 'restoreat' command", client_("RESTOREAT k -1ms EX 0"));
}

TEST_F(PastCommands, RestoreatTellsOfTheChange) {
  server_->want_events(kKeyspace | kGeneric | kNew);
  TestClient subscriber(server_);
  server_->pubsub().subscribe(subscriber.session(), "__keyspace@docs__:k");
  client_("SET k v");
  server_.advance(1);
  client_("DELPREFIX k");
  (void)subscriber.receive_all();
  client_("RESTOREAT k -1ms");
  EXPECT_EQ((std::vector<std::string>{
                "1) \"message\"\n2) \"__keyspace@docs__:k\"\n3) \"new\"",
                "1) \"message\"\n2) \"__keyspace@docs__:k\"\n3) \"restore\"",
            }),
            subscriber.receive_all());
}

TEST_F(PastCommands, WhyTellsWhatBecameOfAKey) {
  const auto reply = [](const std::string& state, const std::string& since, const std::string& deadline) {
    return "1# \"state\" => \"" + state + "\"\n2# \"since\" => " + since + "\n3# \"deadline\" => " + deadline;
  };
  const auto at = [](int64_t ms) { return "(integer) " + std::to_string(kStart + ms); };
  client_("HELLO 3");
  client_("SELECT docs");
  EXPECT_EQ(reply("never", "(nil)", "(nil)"), client_("WHY k"));
  client_("SET k v");
  server_.advance(100);
  EXPECT_EQ(reply("exists", at(0), "(nil)"), client_("WHY k"));
  client_("DELPREFIX k");
  server_.advance(100);
  EXPECT_EQ(reply("erased", at(100), "(nil)"), client_("WHY k"));
  client_("SET k v PX 50");
  EXPECT_EQ(reply("exists", at(200), at(250)), client_("WHY k"));
  server_.advance(100);
  EXPECT_EQ(reply("expired", at(250), at(250)), client_("WHY k"));
}

TEST_F(PastCommands, WhyWithoutHistoryTellsWhatTheStoreKnows) {
  client_("SELECT 0");
  EXPECT_EQ("1) \"state\"\n2) \"unknown\"\n3) \"since\"\n4) (nil)\n5) \"deadline\"\n6) (nil)",
            client_("WHY k"));
  client_("SET k v");
  EXPECT_EQ("exists", client_.ask({"WHY", "k"}).elements.at(1).text);
  client_("SET k v PX 10");
  server_->expirer().enable(false);
  server_.advance(10);
  EXPECT_EQ("expired", client_.ask({"WHY", "k"}).elements.at(1).text);
  EXPECT_EQ("(error) ERR wrong number of arguments for 'why' command", client_("WHY"));
}

}  // namespace
}  // namespace lapse::server
