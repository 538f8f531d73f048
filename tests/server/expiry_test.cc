// PURGE, EXPIRING, FORECAST, DELPREFIX: keys that go.

#include "test_server.h"

namespace lapse::server {
namespace {

constexpr int64_t kStart = TestServer::kStartMs;

class ExpiryCommands : public testing::Test {
 protected:
  TestServer server_;
  TestClient client_{server_};
};

TEST_F(ExpiryCommands, PurgeTellsHowManyWentAndWhetherMoreAreDue) {
  server_->expirer().enable(false);
  for (int i = 0; i < 5; ++i) client_("SET k" + std::to_string(i) + " v PX 10");
  client_("SELECT 1");
  client_("SET elsewhere v PX 10");
  client_("SET later v PX 11");
  EXPECT_EQ("1) \"removed\"\n2) (integer) 0\n3) \"more-due\"\n4) (integer) 0", client_("PURGE"));
  server_.advance(10);
  client_("HELLO 3");
  EXPECT_EQ("1# \"removed\" => (integer) 3\n2# \"more-due\" => (true)", client_("PURGE 3"));
  EXPECT_EQ("1# \"removed\" => (integer) 2\n2# \"more-due\" => (true)", client_("PURGE 2"));
  EXPECT_EQ("1# \"removed\" => (integer) 1\n2# \"more-due\" => (false)", client_("PURGE 1"));
  EXPECT_EQ("1# \"removed\" => (integer) 0\n2# \"more-due\" => (false)", client_("PURGE"));
  client_("SELECT 1");
  EXPECT_EQ("\"v\"", client_("GET later"));
}

TEST_F(ExpiryCommands, PurgeTellsOfEachKey) {
  server_->expirer().enable(false);
  server_->want_events(kKeyevent | kExpired);
  TestClient subscriber(server_);
  server_->pubsub().subscribe(subscriber.session(), "__keyevent@0__:expired");
  client_("SET k v PX 10");
  server_.advance(10);
  client_("PURGE");
  EXPECT_EQ("1) \"message\"\n2) \"__keyevent@0__:expired\"\n3) \"k\"", subscriber.receive());
}

TEST_F(ExpiryCommands, PurgeRefusesLimitsThatAreNone) {
  EXPECT_EQ("(error) ERR the limit must be a positive integer", client_("PURGE 0"));
  EXPECT_EQ("(error) ERR the limit must be a positive integer", client_("PURGE all"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'purge' command", client_("PURGE 1 2"));
}

TEST_F(ExpiryCommands, ExpiringShowsTheSoonestFirst) {
  client_("SET later v PX 300");
  client_("SET soon v PX 100");
  client_("SET middle v PX 200");
  client_("SET always v");
  const auto at = [](int64_t ms) { return std::to_string(kStart + ms); };
  EXPECT_EQ("1) \"soon\"\n2) (integer) " + at(100) + "\n3) \"middle\"\n4) (integer) " + at(200),
            client_("EXPIRING now +300ms"));
  EXPECT_EQ("1) \"soon\"\n2) (integer) " + at(100), client_("EXPIRING now + LIMIT 1"));
  EXPECT_EQ("1) \"later\"\n2) (integer) " + at(300), client_("EXPIRING " + at(201) + " +"));
  EXPECT_EQ("(empty array)", client_("EXPIRING +1h +2h"));
  client_("HELLO 3");
  EXPECT_EQ("1) 1) \"soon\"\n   2) (integer) " + at(100), client_("EXPIRING 0 " + at(101)));
}

TEST_F(ExpiryCommands, PurgeWithoutALimitTakesAPortion) {
  server_->expirer().enable(false);
  server_.together([&] {
    for (int i = 0; i < 10'001; ++i) client_("SET key" + std::to_string(i) + " v PX 100");
  });
  client_.receive_all();
  server_.advance(100);
  EXPECT_EQ("1) \"removed\"\n2) (integer) 10000\n3) \"more-due\"\n4) (integer) 1", client_("PURGE"));
  EXPECT_EQ("1) \"removed\"\n2) (integer) 1\n3) \"more-due\"\n4) (integer) 0", client_("PURGE"));
}

TEST_F(ExpiryCommands, ExpiringForgetsWhatHasPassed) {
  server_->expirer().enable(false);
  client_("SET k v PX 100");
  server_.advance(99);
  EXPECT_EQ(2U, client_.ask({"EXPIRING", "0", "+"}).elements.size());
  server_.advance(1);
  EXPECT_EQ("(empty array)", client_("EXPIRING 0 +"));
}

TEST_F(ExpiryCommands, ExpiringRefusesBadInput) {
  EXPECT_EQ("(error) ERR syntax error", client_("EXPIRING now + 5"));
  EXPECT_EQ("(error) ERR syntax error", client_("EXPIRING now + COUNT 5"));
  EXPECT_EQ("(error) ERR LIMIT must be a positive integer", client_("EXPIRING now + LIMIT -1"));
  EXPECT_TRUE(client_("EXPIRING soon +").starts_with("(error) ERR invalid time"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'expiring' command", client_("EXPIRING now"));
}

TEST_F(ExpiryCommands, ForecastCountsByStretchesOfTime) {
  client_("SET a v PX 1");
  client_("SET b v PX 999");
  client_("SET c v PX 1000");
  client_("SET d v PX 3000");
  client_("SET always v");
  const std::string expected = "1) (integer) 2\n2) (integer) 1\n3) (integer) 0";
  EXPECT_EQ(expected, client_("FORECAST 1000 3"));
  EXPECT_EQ(expected, client_("FORECAST 1s 3"));
}

TEST_F(ExpiryCommands, ForecastRefusesBadInput) {
  EXPECT_EQ("(error) ERR the width must be a duration above zero: 60000 or 1m", client_("FORECAST 0 3"));
  EXPECT_EQ("(error) ERR the width must be a duration above zero: 60000 or 1m", client_("FORECAST wide 3"));
  EXPECT_EQ("(error) ERR the number of buckets must be from 1 to 10000", client_("FORECAST 1s 0"));
  EXPECT_EQ("(error) ERR the number of buckets must be from 1 to 10000", client_("FORECAST 1s 10001"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'forecast' command", client_("FORECAST 1s"));
}

TEST_F(ExpiryCommands, DelprefixTakesWhatBeginsWithIt) {
  client_("SET user:1 v");
  client_("SET user:2 v PX 100");
  client_("SET user v");
  client_("SET users v");
  EXPECT_EQ("(integer) 2", client_("DELPREFIX user:"));
  EXPECT_EQ("(integer) 0", client_("DELPREFIX user:"));
  EXPECT_EQ("\"v\"", client_("GET users"));
  EXPECT_EQ("\"v\"", client_("GET user"));
  EXPECT_EQ("(error) ERR an empty prefix is that of every key: FLUSHDB removes them all",
            client_("DELPREFIX \"\""));
}

TEST_F(ExpiryCommands, DelprefixDoesNotCountWhatHasExpired) {
  server_->expirer().enable(false);
  client_("SET k1 v PX 100");
  client_("SET k2 v");
  server_.advance(100);
  EXPECT_EQ("(integer) 1", client_("DELPREFIX k"));
}

TEST_F(ExpiryCommands, DelprefixMarksWatchersAndTellsOfEachKey) {
  server_->want_events(kKeyevent | kGeneric);
  TestClient watcher(server_);
  server_->pubsub().subscribe(watcher.session(), "__keyevent@0__:del");
  client_("SET k1 v");
  server_->watchers().watch(watcher.session(), 0, "k1", kNever);
  client_("DELPREFIX k");
  EXPECT_TRUE(watcher.session()->watches.touched);
  EXPECT_EQ("1) \"message\"\n2) \"__keyevent@0__:del\"\n3) \"k1\"", watcher.receive());
}

}  // namespace
}  // namespace lapse::server
