// Walking over the keys: KEYS, SCAN, RANDOMKEY.

#include <map>
#include <set>

#include "server/text.h"
#include "test_server.h"

namespace lapse::server {
namespace {

class ScanCommands : public testing::Test {
 protected:
  void set(std::string_view key) { client_({"SET", std::string(key), "value"}); }

  // The keys of one call; `cursor` becomes the next one.
  std::vector<std::string> scan(std::string* cursor, const std::vector<std::string>& options = {}) {
    std::vector<std::string> arguments = {"SCAN", *cursor};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const resp::Reply reply = client_.ask(arguments);
    *cursor = reply.elements.at(0).text;
    std::vector<std::string> keys;
    for (const resp::Reply& key : reply.elements.at(1).elements) keys.push_back(key.text);
    return keys;
  }

  std::vector<std::string> scan_all(const std::vector<std::string>& options = {}) {
    std::vector<std::string> all;
    std::string cursor = "0";
    do {
      for (std::string& key : scan(&cursor, options)) all.push_back(std::move(key));
    } while (cursor != "0");
    return all;
  }

  TestServer server_;
  TestClient client_{server_};
};

using Keys = std::vector<std::string>;

TEST_F(ScanCommands, KeysMatchesAPattern) {
  for (const char* key : {"one", "two", "three", "user:1", "user:2"}) set(key);
  EXPECT_EQ("1) \"three\"\n2) \"two\"", client_("KEYS t*"));
  EXPECT_EQ("1) \"user:1\"\n2) \"user:2\"", client_("KEYS user:[12]"));
  EXPECT_EQ("1) \"one\"", client_("KEYS one"));
  EXPECT_EQ("(empty array)", client_("KEYS nothing*"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'keys' command", client_("KEYS"));
}

TEST_F(ScanCommands, KeysLeavesOutWhatHasExpired) {
  set("a");
  client_("SET b value PX 100");
  server_.clock().advance(100);
  EXPECT_EQ("1) \"a\"", client_("KEYS *"));
}

TEST_F(ScanCommands, ThePatternsLiteralBeginningIsWhatAllMatchesHave) {
  EXPECT_EQ("user:", literal_prefix("user:*"));
  EXPECT_EQ("user:", literal_prefix("user:?x"));
  EXPECT_EQ("a*b", literal_prefix("a\\*b[cd]"));
  EXPECT_EQ("plain", literal_prefix("plain"));
  EXPECT_EQ("end\\", literal_prefix("end\\"));
  set("a*bc");
  set("a*bx");
  EXPECT_EQ("1) \"a*bc\"", client_(Keys{"KEYS", "a\\*b[cd]"}));
}

TEST_F(ScanCommands, ScanShowsEveryKeyOnce) {
  Keys expected;
  for (int i = 100; i < 200; ++i) {
    expected.push_back("key:" + std::to_string(i));
    set(expected.back());
  }
  EXPECT_EQ(expected, scan_all());
  EXPECT_EQ(expected, scan_all({"COUNT", "7"}));
  EXPECT_EQ(expected, scan_all({"COUNT", "1000"}));
  EXPECT_EQ(expected, scan_all({"TYPE", "string"}));
  EXPECT_EQ(Keys(), scan_all({"TYPE", "hash"}));
}

TEST_F(ScanCommands, ScanOfNothingEndsAtOnce) { EXPECT_EQ("1) \"0\"\n2) (empty array)", client_("SCAN 0")); }

TEST_F(ScanCommands, ScanShowsWhatIsThereFromBeginningToEndWhateverIsWrittenMeanwhile) {
  for (int i = 100; i < 200; ++i) set("stays:" + std::to_string(i));
  std::multiset<std::string> seen;
  std::string cursor = "0";
  int round = 0;
  do {
    for (const std::string& key : scan(&cursor)) seen.insert(key);
    set("stays:1" + std::to_string(round) + "new");
    set("comes:" + std::to_string(round));
    client_("DEL comes:" + std::to_string(round - 1));
    client_("SET goes:" + std::to_string(round) + " value PX 1");
    server_.advance(1);
    ++round;
  } while (cursor != "0");
  for (int i = 100; i < 200; ++i) EXPECT_EQ(1U, seen.count("stays:" + std::to_string(i))) << i;
}

TEST_F(ScanCommands, CountBoundsTheWorkWhateverMatches) {
  for (int i = 0; i < 50; ++i) set("key:" + std::to_string(100 + i));
  std::string cursor = "0";
  int calls = 0;
  do {
    EXPECT_EQ(Keys(), scan(&cursor, {"MATCH", "*nothing", "COUNT", "10"}));
    ++calls;
  } while (cursor != "0");
  EXPECT_EQ(5, calls);
}

TEST_F(ScanCommands, MatchGoesStraightToItsLiteralBeginning) {
  for (int i = 0; i < 50; ++i) set("before:" + std::to_string(i));
  set("wanted:1");
  set("wanted:2");
  set("zzz");
  std::string cursor = "0";
  EXPECT_EQ((Keys{"wanted:1", "wanted:2"}), scan(&cursor, {"MATCH", "wanted:*"}));
  EXPECT_EQ("0", cursor);
}

TEST_F(ScanCommands, ACursorMayBeUsedAgain) {
  for (int i = 0; i < 50; ++i) set("key:" + std::to_string(100 + i));
  std::string cursor = "0";
  scan(&cursor);
  std::string again = cursor;
  EXPECT_EQ(scan(&cursor), scan(&again));
}

TEST_F(ScanCommands, ScanRefusesWhatMakesNoSense) {
  EXPECT_EQ("(error) ERR invalid cursor", client_("SCAN here"));
  EXPECT_EQ("(error) ERR invalid cursor", client_("SCAN -1"));
  EXPECT_TRUE(client_("SCAN 12345").starts_with("(error) ERR invalid cursor: "));
  EXPECT_EQ("(error) ERR syntax error", client_("SCAN 0 COUNT 0"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("SCAN 0 COUNT many"));
  EXPECT_EQ("(error) ERR syntax error", client_("SCAN 0 MATCH"));
  EXPECT_EQ("(error) ERR syntax error", client_("SCAN 0 BACKWARDS 1"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'scan' command", client_("SCAN"));
}

TEST(ScanCursorsOfAServer, ACursorThatWasPushedOutIsAnErrorAndNoGap) {
  Config config = TestServer::in_memory();
  config.max_scan_cursors = 2;
  TestServer server(config);
  TestClient client(server);
  for (int i = 0; i < 30; ++i) client("SET key:" + std::to_string(i) + " value");
  const std::string first = client.ask({"SCAN", "0"}).elements.at(0).text;
  client("SCAN 0");
  client("SCAN 0");
  EXPECT_TRUE(client("SCAN " + first).starts_with("(error) ERR invalid cursor: "));
}

TEST(ScanCursorsOfAServer, ACursorFromBeforeARestartIsAnErrorAndNoGap) {
  TestServer server;
  const auto begin_scans = [&] {
    TestClient client(server);
    for (int i = 100; i < 200; ++i) client("SET key:" + std::to_string(i) + " value");
    client.ask({"SCAN", "0", "COUNT", "50"});
    return client.ask({"SCAN", "0", "COUNT", "50"}).elements.at(0).text;
  };
  const std::string old = begin_scans();
  server.reopen();
  begin_scans();
  TestClient client(server);
  EXPECT_TRUE(client("SCAN " + old).starts_with("(error) ERR invalid cursor: "));
}

TEST(ScanCursorsOfAServer, CursorsAreNumbersThatADoubleHolds) {
  for (int i = 0; i < 100; ++i) {
    const uint64_t cursor = ScanCursors().add("key", 1);
    EXPECT_NE(0U, cursor);
    EXPECT_LT(cursor, uint64_t{1} << 53);
  }
}

TEST(ScanCursorsOfAServer, AScanOfManyCallsLeavesTheOthersTheirPlaces) {
  Config config = TestServer::in_memory();
  config.max_scan_cursors = 4;
  TestServer server(config);
  TestClient client(server);
  for (int i = 0; i < 100; ++i) client("SET key:" + std::to_string(100 + i) + " value");
  const std::string slow = client.ask({"SCAN", "0", "COUNT", "50"}).elements.at(0).text;
  std::string fast = "0";
  std::string before;
  for (int i = 0; i < 50; ++i) {
    before = fast;
    fast = client.ask({"SCAN", fast, "COUNT", "1"}).elements.at(0).text;
  }
  // A reply that was lost is asked for again.
  EXPECT_FALSE(client("SCAN " + before + " COUNT 1").starts_with("(error)"));
  const resp::Reply rest = client.ask({"SCAN", slow, "COUNT", "100"});
  EXPECT_EQ("0", rest.elements.at(0).text);
  EXPECT_EQ(50U, rest.elements.at(1).elements.size());
}

TEST_F(ScanCommands, RandomkeyComesToEveryKey) {
  EXPECT_EQ("(nil)", client_("RANDOMKEY"));
  std::set<std::string> expected = {"", "a", "ab", "abc", "b", "user:1", "user:10", "user:2", "zebra"};
  for (const std::string& key : expected) set(key);
  client_("SET gone value PX 100");
  server_.clock().advance(100);
  std::set<std::string> seen;
  for (int i = 0; i < 2'000; ++i) seen.insert(client_.ask({"RANDOMKEY"}).text);
  EXPECT_EQ(expected, seen);
  EXPECT_EQ("(error) ERR wrong number of arguments for 'randomkey' command", client_("RANDOMKEY now"));
}

}  // namespace
}  // namespace lapse::server
