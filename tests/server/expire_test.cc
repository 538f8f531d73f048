// Lifetimes by command: deadlines given, asked for and taken away.

#include "test_server.h"

namespace lapse::server {
namespace {

class ExpireCommands : public testing::Test {
 protected:
  TestServer server_;
  TestClient client_{server_};
};

std::string integer(int64_t number) { return "(integer) " + std::to_string(number); }

TEST_F(ExpireCommands, ExpireEndsAKeyAtItsMillisecond) {
  client_("SET key value");
  EXPECT_EQ("(integer) 1", client_("EXPIRE key 10"));
  server_.advance(9'999);
  EXPECT_EQ("\"value\"", client_("GET key"));
  server_.advance(1);
  EXPECT_EQ("(nil)", client_("GET key"));
  EXPECT_EQ("(integer) 0", client_("EXPIRE key 10"));
}

TEST_F(ExpireCommands, PexpireCountsMilliseconds) {
  client_("SET key value");
  EXPECT_EQ("(integer) 1", client_("PEXPIRE key 10"));
  server_.advance(9);
  EXPECT_EQ("(integer) 1", client_("PTTL key"));
  server_.advance(1);
  EXPECT_EQ("(integer) -2", client_("PTTL key"));
}

TEST_F(ExpireCommands, ExpireatAndPexpireatTakeUnixTimes) {
  client_("SET key value");
  const int64_t at_ms = server_.now_ms() + 2'000;
  EXPECT_EQ("(integer) 1", client_("EXPIREAT key " + std::to_string(at_ms / 1000)));
  EXPECT_EQ("(integer) 2000", client_("PTTL key"));
  EXPECT_EQ("(integer) 1", client_("PEXPIREAT key " + std::to_string(at_ms + 1)));
  EXPECT_EQ("(integer) 2001", client_("PTTL key"));
  EXPECT_EQ("(integer) 0", client_("EXPIREAT absent " + std::to_string(at_ms)));
  EXPECT_EQ("(integer) 0", client_("PEXPIREAT absent " + std::to_string(at_ms)));
}

TEST_F(ExpireCommands, ADeadlineThatHasPassedDeletes) {
  for (const std::string past :
       {"EXPIRE key 0", "EXPIRE key -1", "PEXPIRE key 0", "EXPIREAT key 1", "PEXPIREAT key -5"}) {
    client_("SET key value");
    EXPECT_EQ("(integer) 1", client_(past)) << past;
    EXPECT_EQ("(integer) 0", client_("EXISTS key")) << past;
  }
  client_("SET key value");
  EXPECT_EQ("(integer) 1", client_("PEXPIREAT key " + std::to_string(server_.now_ms())));
  EXPECT_EQ("(integer) 0", client_("EXISTS key"));
}

TEST_F(ExpireCommands, NxSetsOnlyWhereThereIsNoDeadline) {
  client_("SET key value");
  EXPECT_EQ("(integer) 1", client_("EXPIRE key 10 NX"));
  EXPECT_EQ("(integer) 0", client_("EXPIRE key 20 NX"));
  EXPECT_EQ("(integer) 10", client_("TTL key"));
}

TEST_F(ExpireCommands, XxSetsOnlyWhereThereIsOne) {
  client_("SET key value");
  EXPECT_EQ("(integer) 0", client_("EXPIRE key 10 XX"));
  EXPECT_EQ("(integer) -1", client_("TTL key"));
  client_("EXPIRE key 10");
  EXPECT_EQ("(integer) 1", client_("EXPIRE key 20 xx"));
  EXPECT_EQ("(integer) 20", client_("TTL key"));
}

TEST_F(ExpireCommands, GtSetsOnlyLaterOnesAndNothingIsLaterThanNever) {
  client_("SET key value");
  EXPECT_EQ("(integer) 0", client_("EXPIRE key 10 GT"));
  client_("EXPIRE key 10");
  EXPECT_EQ("(integer) 0", client_("EXPIRE key 10 GT"));
  EXPECT_EQ("(integer) 0", client_("PEXPIRE key 9999 GT"));
  EXPECT_EQ("(integer) 1", client_("PEXPIRE key 10001 GT"));
  EXPECT_EQ("(integer) 1", client_("EXPIRE key 20 XX GT"));
}

TEST_F(ExpireCommands, LtSetsOnlySoonerOnesAndAnyIsSoonerThanNever) {
  client_("SET key value");
  EXPECT_EQ("(integer) 1", client_("EXPIRE key 10 LT"));
  EXPECT_EQ("(integer) 0", client_("EXPIRE key 10 LT"));
  EXPECT_EQ("(integer) 1", client_("PEXPIRE key 9999 LT"));
  client_("PERSIST key");
  EXPECT_EQ("(integer) 0", client_("EXPIRE key 10 XX LT"));
  EXPECT_EQ("(integer) 1", client_("EXPIRE key -1 LT"));
  EXPECT_EQ("(integer) 0", client_("EXISTS key"));
}

TEST_F(ExpireCommands, RefusesWhatMakesNoSense) {
  client_("SET key value");
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("EXPIRE key soon"));
  EXPECT_EQ("(error) ERR invalid expire time in 'expire' command", client_("EXPIRE key 9223372036854775807"));
  EXPECT_EQ("(error) ERR invalid expire time in 'pexpireat' command",
            client_("PEXPIREAT key 9223372036854775807"));
  EXPECT_EQ("(error) ERR invalid expire time in 'set' command",
            client_("SET key value PXAT 9223372036854775807"));
  EXPECT_EQ("(error) ERR invalid expire time in 'pexpire' command",
            client_("PEXPIRE key 9223372036854775807"));
  EXPECT_EQ("(error) ERR invalid expire time in 'expireat' command",
            client_("EXPIREAT key 9223372036854775807"));
  EXPECT_EQ("(error) ERR Unsupported option SOON", client_("EXPIRE key 10 SOON"));
  EXPECT_EQ("(error) ERR NX and XX, GT or LT options at the same time are not compatible",
            client_("EXPIRE key 10 NX GT"));
  EXPECT_EQ("(error) ERR GT and LT options at the same time are not compatible",
            client_("EXPIRE key 10 GT LT"));
  for (const std::string name : {"expire", "pexpire", "expireat", "pexpireat"})
    EXPECT_EQ("(error) ERR wrong number of arguments for '" + name + "' command", client_(name + " key"));
  EXPECT_EQ("(integer) -1", client_("TTL key"));
}

TEST_F(ExpireCommands, TtlRoundsToTheNearestSecond) {
  client_("SET key value PX 1499");
  EXPECT_EQ("(integer) 1", client_("TTL key"));
  client_("SET key value PX 1500");
  EXPECT_EQ("(integer) 2", client_("TTL key"));
  client_("SET key value PX 400");
  EXPECT_EQ("(integer) 0", client_("TTL key"));
  EXPECT_EQ("(integer) 400", client_("PTTL key"));
}

TEST_F(ExpireCommands, TtlIsMinusOneForeverAndMinusTwoWithoutAKey) {
  client_("SET key value");
  for (const std::string name : {"ttl", "pttl", "expiretime", "pexpiretime"}) {
    EXPECT_EQ("(integer) -1", client_(name + " key")) << name;
    EXPECT_EQ("(integer) -2", client_(name + " absent")) << name;
    EXPECT_EQ("(error) ERR wrong number of arguments for '" + name + "' command", client_(name));
  }
}

TEST_F(ExpireCommands, ExpiretimeAndPexpiretimeAreAbsolute) {
  client_("SET key value PX 1500");
  const int64_t at_ms = server_.now_ms() + 1'500;
  EXPECT_EQ(integer((at_ms + 500) / 1000), client_("EXPIRETIME key"));
  EXPECT_EQ(integer(at_ms), client_("PEXPIRETIME key"));
}

TEST_F(ExpireCommands, PersistTakesADeadlineAway) {
  client_("SET key value PX 100");
  EXPECT_EQ("(integer) 1", client_("PERSIST key"));
  EXPECT_EQ("(integer) 0", client_("PERSIST key"));
  EXPECT_EQ("(integer) 0", client_("PERSIST absent"));
  server_.advance(100);
  EXPECT_EQ("\"value\"", client_("GET key"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'persist' command", client_("PERSIST"));
}

TEST_F(ExpireCommands, PersistComesTooLateAtTheDeadline) {
  client_("SET key value PX 100");
  server_.clock().advance(100);
  EXPECT_EQ("(integer) 0", client_("PERSIST key"));
}

}  // namespace
}  // namespace lapse::server
