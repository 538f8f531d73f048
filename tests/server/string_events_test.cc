// Strings: the events that tell of their changes, in the order in which Redis tells them.

#include "test_server.h"

namespace lapse::server {
namespace {

class StringEvents : public testing::Test {
 protected:
  StringEvents() {
    server_->want_events(kKeyevent | kAllEvents | kNew | kKeyMiss);
    server_->pubsub().subscribe_pattern(subscriber_.session(), kPattern);
    client_("MSET text hello number 5");
    client_("SET brief 7 EX 10");
    (void)subscriber_.receive_all();
  }

  // What the line makes known: "set key, expire key".
  std::string events_of(std::string_view line) {
    client_(line);
    std::string all;
    for (const std::string& message : subscriber_.receive_all()) {
      // 1) "pmessage" 2) pattern 3) "__keyevent@0__:set" 4) "key"
      const size_t event = message.find(kChannel, message.find("3) ")) + kChannel.size();
      const size_t key = message.find("4) \"") + 4;
      all += (all.empty() ? "" : ", ") + message.substr(event, message.find('"', event) - event) + " " +
             message.substr(key, message.find('"', key) - key);
    }
    return all;
  }

  static constexpr std::string_view kPattern = "__keyevent@0__:*";
  static constexpr std::string_view kChannel = "__keyevent@0__:";

  TestServer server_;
  TestClient client_{server_};
  TestClient subscriber_{server_};
};

TEST_F(StringEvents, OfWholeValues) {
  EXPECT_EQ("set text", events_of("SET text value"));
  EXPECT_EQ("set text, expire text", events_of("SET text value EX 10"));
  EXPECT_EQ("new k, set k", events_of("SET k value NX"));
  EXPECT_EQ("", events_of("SET k value NX"));
  EXPECT_EQ("keymiss j, new j, set j, expire j", events_of("SET j value GET PX 10"));
  EXPECT_EQ("", events_of("SETNX k value"));
  EXPECT_EQ("new m, set m", events_of("SETNX m value"));
  EXPECT_EQ("set m, expire m", events_of("SETEX m 10 value"));
  EXPECT_EQ("set m, expire m", events_of("PSETEX m 10 value"));
  EXPECT_EQ("set m", events_of("GETSET m value"));
  EXPECT_EQ("keymiss n, new n, set n", events_of("GETSET n value"));
  EXPECT_EQ("keymiss absent", events_of("GET absent"));
  EXPECT_EQ("", events_of("GET text"));
}

TEST_F(StringEvents, OfRemovals) {
  EXPECT_EQ("del text", events_of("GETDEL text"));
  EXPECT_EQ("keymiss text", events_of("GETDEL text"));
  EXPECT_EQ("del number", events_of("DELEX number IFEQ 5"));
  EXPECT_EQ("", events_of("DELEX brief IFEQ 5"));
  EXPECT_EQ("del brief", events_of("DELIFEQ brief 7"));
  EXPECT_EQ("", events_of("DELIFEQ brief 7"));
}

TEST_F(StringEvents, OfDeadlinesThatHavePassed) {
  EXPECT_EQ("set text, expire text, expired text", events_of("SET text value EXAT 1"));
  EXPECT_EQ("new absent, set absent, expire absent, expired absent", events_of("SET absent value EXAT 1"));
  EXPECT_EQ("del number", events_of("GETEX number PXAT 1"));
  EXPECT_EQ("del brief", events_of("MSETEX 2 brief 1 absent 2 PXAT 1"));
}

TEST_F(StringEvents, OfLifetimes) {
  EXPECT_EQ("", events_of("GETEX text"));
  EXPECT_EQ("expire text", events_of("GETEX text EX 10"));
  EXPECT_EQ("persist text", events_of("GETEX text PERSIST"));
  EXPECT_EQ("", events_of("GETEX text PERSIST"));
  EXPECT_EQ("keymiss absent", events_of("GETEX absent EX 10"));
}

TEST_F(StringEvents, OfManyAtOnce) {
  EXPECT_EQ("set text, new k, set k", events_of("MSET text 1 k 2"));
  EXPECT_EQ("", events_of("MSETNX text 1 j 2"));
  EXPECT_EQ("new i, set i, new j, set j", events_of("MSETNX i 1 j 2"));
  EXPECT_EQ("set text, expire text, new l, set l, expire l", events_of("MSETEX 2 text 1 l 2 EX 10"));
  EXPECT_EQ("keymiss absent, keymiss other", events_of("MGET absent text other"));
}

TEST_F(StringEvents, OfNumbersAndParts) {
  EXPECT_EQ("incrby number", events_of("INCR number"));
  EXPECT_EQ("incrby number", events_of("DECRBY number 5"));
  EXPECT_EQ("new n, incrby n", events_of("DECR n"));
  EXPECT_EQ("incrbyfloat number", events_of("INCRBYFLOAT number 1.5"));
  EXPECT_EQ("", events_of("INCR text"));
  EXPECT_EQ("append text", events_of("APPEND text more"));
  EXPECT_EQ("new a, append a", events_of("APPEND a more"));
  EXPECT_EQ("setrange text", events_of("SETRANGE text 1 x"));
  EXPECT_EQ("", events_of("SETRANGE text 1 \"\""));
  EXPECT_EQ("keymiss absent", events_of("STRLEN absent"));
  EXPECT_EQ("keymiss absent", events_of("GETRANGE absent 0 1"));
  EXPECT_EQ("keymiss absent, keymiss other", events_of("LCS absent other"));
}

TEST_F(StringEvents, OfBits) {
  EXPECT_EQ("new b, setbit b", events_of("SETBIT b 10 0"));
  EXPECT_EQ("", events_of("SETBIT b 10 0")) << "nothing has changed";
  EXPECT_EQ("setbit b", events_of("SETBIT b 10 1"));
  EXPECT_EQ("keymiss absent", events_of("GETBIT absent 1"));
  EXPECT_EQ("keymiss absent", events_of("BITCOUNT absent"));
  EXPECT_EQ("keymiss absent", events_of("BITPOS absent 1"));
}

TEST_F(StringEvents, AKeyThatIsWrittenAfterItsDeadlineExpiresFirst) {
  server_->expirer().enable(false);
  server_.clock().advance(10'000);
  EXPECT_EQ("expired brief, new brief, set brief, expire brief", events_of("MSETEX 1 brief 1 EX 10"));
}

}  // namespace
}  // namespace lapse::server
