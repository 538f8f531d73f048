// Running a server: time, saving, watching, stopping, and finding out what is slow.

#include "test_server.h"

namespace lapse::server {
namespace {

using Lines = std::vector<std::string>;

class OperationCommands : public testing::Test {
 protected:
  TestServer server_;
  TestClient client_{server_};
  TestClient other_{server_};
};

TEST_F(OperationCommands, TimeIsTheTurns) {
  EXPECT_EQ("1) \"1700000000\"\n2) \"0\"", client_("TIME"));
  server_.advance(1'234);
  EXPECT_EQ("1) \"1700000001\"\n2) \"234000\"", client_("TIME"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'time' command", client_("TIME x"));
}

TEST_F(OperationCommands, RoleIsMaster) {
  EXPECT_EQ("1) \"master\"\n2) (integer) 0\n3) (empty array)", client_("ROLE"));
}

TEST_F(OperationCommands, WaitHasNobodyToWaitFor) {
  EXPECT_EQ("(integer) 0", client_("WAIT 1 1000"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("WAIT x 0"));
  EXPECT_EQ("(error) ERR timeout is not an integer or out of range", client_("WAIT 0 x"));
  EXPECT_EQ("(error) ERR timeout is negative", client_("WAIT 0 -1"));
}

TEST_F(OperationCommands, SaveAndBgsaveMoveLastsave) {
  EXPECT_EQ("(integer) 1700000000", client_("LASTSAVE"));
  server_.advance(5'000);
  EXPECT_EQ("OK", client_("SAVE"));
  EXPECT_EQ("(integer) 1700000005", client_("LASTSAVE"));
  server_.advance(5'000);
  EXPECT_EQ("Background saving started", client_("BGSAVE"));
  server_->finish_save();
  EXPECT_EQ("(integer) 1700000010", client_("LASTSAVE"));
  EXPECT_EQ("Background saving started", client_("BGSAVE SCHEDULE"));
  EXPECT_EQ("(error) ERR syntax error", client_("BGSAVE x"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'save' command", client_("SAVE x"));
}

TEST_F(OperationCommands, OneBackgroundSaveAtATime) {
  server_.together([&] {
    client_("SET key value");  // the turn is the writer: the save waits for its end
    client_("BGSAVE");
    client_("BGSAVE");
    client_("INFO persistence");
  });
  const Lines replies = client_.receive_all();
  EXPECT_EQ("Background saving started", replies.at(1));
  EXPECT_EQ("(error) ERR Background save already in progress", replies.at(2));
  EXPECT_NE(std::string::npos, replies.at(3).find("rdb_bgsave_in_progress:1"));
  server_->finish_save();
  EXPECT_NE(std::string::npos, client_("INFO persistence").find("rdb_bgsave_in_progress:0"));
}

TEST_F(OperationCommands, SaveInTheMidstOfATurnLosesNoReply) {
  const TempDir directory;
  Config config;
  config.file = directory.path() + "/store.db";
  TestServer server(config);
  TestClient client(server);
  server.together([&] {
    client("SET a 1");
    client("SAVE");
    client("SET b 2");
    client("GET a");
  });
  EXPECT_EQ((Lines{"OK", "OK", "OK", "\"1\""}), client.receive_all());
  server.reopen();
  TestClient again(server);
  EXPECT_EQ("\"1\"", again("GET a"));
  EXPECT_EQ("\"2\"", again("GET b"));
}

TEST_F(OperationCommands, SaveIsNotForTransactions) {
  client_("MULTI");
  EXPECT_EQ("(error) ERR Command not allowed inside a transaction", client_("SAVE"));
}

TEST_F(OperationCommands, MonitorShowsExecBehindItsCommandsAndNoPasswords) {
  other_("MONITOR");
  client_("MULTI");
  client_("SET key value");
  client_("EXEC");
  client_("HELLO 2 AUTH default secret");
  client_("AUTH secret");
  std::vector<std::string> shown;
  for (const std::string& line : other_.receive_all()) shown.push_back(line.substr(line.find(']') + 2));
  EXPECT_EQ((std::vector<std::string>{"\"MULTI\"", "\"SET\" \"key\" \"value\"", "\"EXEC\"",
                                      "\"HELLO\" \"2\" \"AUTH\" \"(redacted)\" \"(redacted)\"",
                                      "\"AUTH\" \"(redacted)\""}),
            shown);
}

TEST_F(OperationCommands, MonitorShowsCommandsOfOthers) {
  EXPECT_EQ("OK", other_("MONITOR"));
  client_("SELECT 2");
  server_.advance(5);
  client_({"SET", "key", "two words\n"});
  client_("CONFIG GET port");
  client_("AUTH secret");
  EXPECT_EQ((Lines{"1700000000.000000 [2 127.0.0.1:5555] \"SELECT\" \"2\"",
                   "1700000000.005000 [2 127.0.0.1:5555] \"SET\" \"key\" \"two words\\n\"",
                   "1700000000.005000 [2 127.0.0.1:5555] \"AUTH\" \"(redacted)\""}),
            other_.receive_all());
  EXPECT_EQ("RESET", other_("RESET"));
  EXPECT_EQ("PONG", other_("PING")) << "no line of its own stands before it";
  client_("GET key");
  EXPECT_EQ(Lines{}, other_.receive_all());
}

TEST_F(OperationCommands, ShutdownStopsWithoutReply) {
  EXPECT_EQ("(error) ERR syntax error", client_("SHUTDOWN x"));
  EXPECT_EQ("(error) ERR syntax error", client_("SHUTDOWN SAVE NOSAVE"));
  EXPECT_EQ("(error) ERR No shutdown in progress.", client_("SHUTDOWN ABORT"));
  EXPECT_FALSE(server_->stopping());
  EXPECT_EQ("", client_("SHUTDOWN NOSAVE NOW FORCE"));
  EXPECT_TRUE(server_->stopping());
  EXPECT_TRUE(client_.closed()) << "what it sends behind that is not run";
}

TEST_F(OperationCommands, ShutdownSaveSavesFirst) {
  server_.advance(1'000);
  EXPECT_EQ("", client_("SHUTDOWN SAVE"));
  EXPECT_TRUE(server_->stopping());
  EXPECT_EQ(server_.now_ms(), server_->saved_at_ms());
}

TEST_F(OperationCommands, LolwutHasAVersion) {
  EXPECT_NE(std::string::npos, client_.ask({"LOLWUT"}).text.find("Lapse ver. "));
}

TEST_F(OperationCommands, SlowlogShowsNoPasswords) {
  client_("CONFIG SET slowlog-log-slower-than 0");
  client_("CONFIG SET timeout 0 requirepass s3cret");
  client_("MULTI");
  client_("CONFIG SET RequirePass s3cret");
  client_("EXEC");
  const std::string log = client_("SLOWLOG GET 128");
  EXPECT_EQ(std::string::npos, log.find("s3cret")) << log;
  EXPECT_NE(std::string::npos, log.find("(redacted)")) << log;
}

TEST_F(OperationCommands, SlowlogKeepsTheLatest) {
  client_("CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 2");
  EXPECT_EQ("OK", client_("SLOWLOG RESET"));
  client_("CLIENT SETNAME me");
  client_("SET key value");
  client_({"SET", "key", std::string(200, 'x')});
  client_("CONFIG SET slowlog-log-slower-than -1");
  EXPECT_EQ("(integer) 2", client_("SLOWLOG LEN"));
  const resp::Reply log = client_.ask({"SLOWLOG", "GET"});
  ASSERT_EQ(2U, log.elements.size());
  const std::vector<resp::Reply>& entry = log.elements[0].elements;
  ASSERT_EQ(6U, entry.size());
  EXPECT_EQ(server_.now_ms() / 1000, entry[1].integer);
  EXPECT_EQ("127.0.0.1:5555", entry[4].text);
  EXPECT_EQ("me", entry[5].text);
  EXPECT_EQ("value", log.elements[1].elements[3].elements[2].text);
  EXPECT_EQ(std::string(128, 'x') + "... (72 more bytes)", entry[3].elements[2].text);
  EXPECT_EQ(1U, client_.ask({"SLOWLOG", "GET", "1"}).elements.size());
  EXPECT_EQ(2U, client_.ask({"SLOWLOG", "GET", "-1"}).elements.size());
  EXPECT_EQ("(error) ERR count should be greater than or equal to -1", client_("SLOWLOG GET -2"));
  EXPECT_EQ("(error) ERR count should be greater than or equal to -1", client_("SLOWLOG GET x"));
  EXPECT_EQ("(error) ERR unknown subcommand or wrong number of arguments for 'GET'. Try SLOWLOG HELP.",
            client_("SLOWLOG GET 1 2"));
  EXPECT_EQ("OK", client_("SLOWLOG RESET"));
  EXPECT_EQ("(empty array)", client_("SLOWLOG GET"));
  EXPECT_EQ(9U, client_.ask({"SLOWLOG", "HELP"}).elements.size());
}

TEST_F(OperationCommands, LatencyTellsSpikes) {
  EXPECT_EQ("(empty array)", client_("LATENCY LATEST"));
  EXPECT_EQ("(empty array)", client_("LATENCY HISTORY command"));
  EXPECT_TRUE(client_.ask({"LATENCY", "DOCTOR"}).text.starts_with("Nothing is being watched"));
  client_("CONFIG SET latency-monitor-threshold 1");
  client_("DEBUG SLEEP 0.002");
  const resp::Reply latest = client_.ask({"LATENCY", "LATEST"});
  ASSERT_EQ(1U, latest.elements.size());
  EXPECT_EQ("command", latest.elements[0].elements[0].text);
  EXPECT_EQ(server_.now_ms() / 1000, latest.elements[0].elements[1].integer);
  EXPECT_GE(latest.elements[0].elements[3].integer, 2);
  EXPECT_EQ(1U, client_.ask({"LATENCY", "HISTORY", "command"}).elements.size());
  EXPECT_TRUE(client_.ask({"LATENCY", "DOCTOR"}).text.starts_with("command: "));
  client_("CONFIG SET latency-monitor-threshold 0");
  EXPECT_EQ("(integer) 0", client_("LATENCY RESET nosuch"));
  EXPECT_EQ("(integer) 1", client_("LATENCY RESET command"));
  EXPECT_EQ("(integer) 0", client_("LATENCY RESET"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'latency|history' command",
            client_("LATENCY HISTORY"));
  EXPECT_EQ(13U, client_.ask({"LATENCY", "HELP"}).elements.size());
}

TEST_F(OperationCommands, LatencyHistogramCountsCallsByDuration) {
  EXPECT_EQ("(empty array)", client_("LATENCY HISTOGRAM get"));
  for (int i = 0; i < 3; ++i) client_("GET key");
  client_("CONFIG GET port");
  const resp::Reply histogram = client_.ask({"LATENCY", "HISTOGRAM", "GET", "config", "nosuch"});
  ASSERT_EQ(4U, histogram.elements.size());
  EXPECT_EQ("config|get", histogram.elements[0].text);
  EXPECT_EQ("get", histogram.elements[2].text);
  const resp::Reply& get = histogram.elements[3];
  EXPECT_EQ(3, get.elements[1].integer);
  EXPECT_EQ("histogram_usec", get.elements[2].text);
  EXPECT_EQ(3, get.elements[3].elements.back().integer);
  EXPECT_GT(client_.ask({"LATENCY", "HISTOGRAM"}).elements.size(), 4U);
}

TEST(CommandStatistics, PutsACallIntoTheShortestDurationThatHoldsIt) {
  CommandStatistics statistics;
  for (const uint64_t us : {0U, 1U, 2U, 3U, 33U, 34U}) statistics.add_call(us);
  statistics.add_call(~uint64_t{0} >> 1);
  EXPECT_EQ(2U, statistics.by_duration[0]);
  EXPECT_EQ(1U, statistics.by_duration[1]);
  EXPECT_EQ(1U, statistics.by_duration[2]);
  EXPECT_EQ(32U, CommandStatistics::longest_us(5));
  EXPECT_EQ(2U, statistics.by_duration[6]);
  EXPECT_EQ(1U, statistics.by_duration.back());
  EXPECT_EQ(7U, statistics.calls);
}

TEST(LatencyMonitor, KeepsTheLongestOfEachSecondAndForgetsTheOldest) {
  LatencyMonitor monitor;
  monitor.add("command", 1'000, 5);
  monitor.add("command", 1'999, 9);
  monitor.add("command", 1'999, 7);
  monitor.add("command", 2'000, 3);
  const LatencyMonitor::Event& event = monitor.events().at("command");
  ASSERT_EQ(2U, event.samples.size());
  EXPECT_EQ(9U, event.samples[0].ms);
  EXPECT_EQ(3U, event.samples[1].ms);
  EXPECT_EQ(9U, event.longest_ms);
  for (int64_t second = 3; second < 1'000; ++second) monitor.add("command", second * 1'000, 1);
  EXPECT_EQ(LatencyMonitor::kKept, event.samples.size());
  EXPECT_EQ(999, event.samples.back().at_seconds);
}

TEST_F(OperationCommands, MemoryUsageCountsWhatAKeyTakes) {
  EXPECT_EQ("(nil)", client_("MEMORY USAGE key"));
  client_("SET key value");
  const int64_t plain = client_.ask({"MEMORY", "USAGE", "key"}).integer;
  EXPECT_GT(plain, 8);
  client_("SET key value EX 10");
  EXPECT_GT(client_.ask({"MEMORY", "USAGE", "key", "SAMPLES", "0"}).integer, plain);
  server_.advance(10'000);
  EXPECT_EQ("(nil)", client_("MEMORY USAGE key"));
  EXPECT_EQ("(error) ERR syntax error", client_("MEMORY USAGE key x 1"));
  EXPECT_EQ("(error) ERR syntax error", client_("MEMORY USAGE key SAMPLES -1"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("MEMORY USAGE key SAMPLES x"));
}

TEST_F(OperationCommands, MemoryTellsAboutTheProcess) {
  EXPECT_EQ(12U, client_.ask({"MEMORY", "STATS"}).elements.size());
  EXPECT_NE("", client_.ask({"MEMORY", "DOCTOR"}).text);
  EXPECT_EQ("OK", client_("MEMORY PURGE"));
  EXPECT_EQ(11U, client_.ask({"MEMORY", "HELP"}).elements.size());
  EXPECT_EQ("(error) ERR unknown subcommand 'x'. Try MEMORY HELP.", client_("MEMORY x"));
}

TEST_F(OperationCommands, DebugSleepAndObject) {
  EXPECT_EQ("OK", client_("DEBUG SLEEP 0"));
  EXPECT_EQ("(error) ERR value is not a valid float", client_("DEBUG SLEEP x"));
  EXPECT_EQ("(error) ERR no such key", client_("DEBUG OBJECT key"));
  client_("SET key 12345");
  EXPECT_EQ("Value at:0x0 refcount:1 encoding:int serializedlength:6 lru:0 lru_seconds_idle:0",
            client_("DEBUG OBJECT key"));
  client_("SET key value");
  EXPECT_NE(std::string::npos, client_("DEBUG OBJECT key").find("encoding:embstr"));
  EXPECT_EQ(17U, client_.ask({"DEBUG", "HELP"}).elements.size());
}

TEST_F(OperationCommands, DebugReloadKeepsEverything) {
  client_("SET key value PX 100");
  EXPECT_EQ("OK", client_("DEBUG RELOAD"));
  EXPECT_EQ("OK", client_("DEBUG RELOAD NOSAVE noflush MERGE"));
  EXPECT_EQ("(error) ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.",
            client_("DEBUG RELOAD NOSAVE x"));
  EXPECT_EQ("OK", client_("DEBUG LOADAOF"));
  server_.advance(99);
  EXPECT_EQ("\"value\"", client_("GET key"));
  server_.advance(1);
  EXPECT_EQ("(nil)", client_("GET key"));
}

TEST_F(OperationCommands, DebugSetActiveExpireLeavesRemovalToReads) {
  EXPECT_EQ("OK", client_("DEBUG SET-ACTIVE-EXPIRE 0"));
  client_("SET key value PX 100");
  server_.advance(100);
  EXPECT_EQ(0U, server_->statistics().expired);
  EXPECT_EQ("(nil)", client_("GET key"));
  EXPECT_EQ("OK", client_("DEBUG SET-ACTIVE-EXPIRE 1"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("DEBUG SET-ACTIVE-EXPIRE x"));
}

TEST_F(OperationCommands, DebugProtocolHasEveryKind) {
  using Type = resp::Reply::Type;
  client_.ask({"HELLO", "3"});
  EXPECT_EQ(Type::kBulk, client_.ask({"DEBUG", "PROTOCOL", "string"}).type);
  EXPECT_EQ(Type::kInteger, client_.ask({"DEBUG", "PROTOCOL", "integer"}).type);
  EXPECT_EQ(Type::kReal, client_.ask({"DEBUG", "PROTOCOL", "double"}).type);
  EXPECT_EQ(Type::kNull, client_.ask({"DEBUG", "PROTOCOL", "null"}).type);
  EXPECT_EQ(Type::kArray, client_.ask({"DEBUG", "PROTOCOL", "array"}).type);
  EXPECT_EQ(Type::kSet, client_.ask({"DEBUG", "PROTOCOL", "set"}).type);
  EXPECT_EQ(Type::kMap, client_.ask({"DEBUG", "PROTOCOL", "map"}).type);
  EXPECT_EQ(Type::kVerbatim, client_.ask({"DEBUG", "PROTOCOL", "verbatim"}).type);
  EXPECT_EQ(Type::kBoolean, client_.ask({"DEBUG", "PROTOCOL", "true"}).type);
  EXPECT_TRUE(client_("DEBUG PROTOCOL x").starts_with("(error) ERR Wrong protocol type name."));
}

// It may stand before any reply, and is none: who sends a command waits for another.
TEST_F(OperationCommands, DebugProtocolAnswersBesideThePush) {
  EXPECT_EQ("(error) ERR RESP2 is not supported by this command", client_("DEBUG PROTOCOL push"));
  client_.ask({"HELLO", "3"});
  client_.send("*3\r\n$5\r\nDEBUG\r\n$8\r\nPROTOCOL\r\n$4\r\npush\r\n");
  EXPECT_EQ(">2\r\n$16\r\nserver-cpu-usage\r\n:42\r\n$40\r\nSome real reply following the push reply\r\n",
            client_.received_bytes());
}

TEST_F(OperationCommands, DebugStringmatchLenIsNotSlow) {
  EXPECT_EQ("(integer) 1", client_("DEBUG STRINGMATCH-LEN 100000 a*"));
  EXPECT_EQ("(integer) 0", client_("DEBUG STRINGMATCH-LEN 2000 a*a*a*a*a*b"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("DEBUG STRINGMATCH-LEN -1 a"));
  EXPECT_EQ("(error) ERR unknown subcommand 'CHANGE-REPL-ID'. Try DEBUG HELP.",
            client_("DEBUG CHANGE-REPL-ID"));
}

TEST_F(OperationCommands, AclKnowsOneUser) {
  EXPECT_EQ("\"default\"", client_("ACL WHOAMI"));
  EXPECT_EQ("1) \"default\"", client_("ACL USERS"));
  EXPECT_EQ("1) \"user default on nopass ~* &* +@all\"", client_("ACL LIST"));
  EXPECT_EQ("(error) ERR unknown subcommand 'SETUSER'. Try ACL HELP.", client_("ACL SETUSER x"));
  EXPECT_EQ(9U, client_.ask({"ACL", "HELP"}).elements.size());
}

}  // namespace
}  // namespace lapse::server
