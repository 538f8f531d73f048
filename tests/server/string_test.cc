// Strings: whole values, read, written and exchanged.

#include "test_server.h"

namespace lapse::server {
namespace {

class StringCommands : public testing::Test {
 protected:
  // The key is there now, and is gone after so many more milliseconds, to the millisecond.
  void expect_gone_in(const std::string& key, int64_t ms) {
    server_.advance(ms - 1);
    EXPECT_NE("(nil)", client_("GET " + key));
    server_.advance(1);
    EXPECT_EQ("(nil)", client_("GET " + key));
  }
  // It stays.
  void expect_permanent(const std::string& key) {
    server_.advance(int64_t{1} << 40);
    EXPECT_NE("(nil)", client_("GET " + key));
  }
  std::string in_seconds(int64_t from_now) { return std::to_string(server_.now_ms() / 1000 + from_now); }
  std::string in_ms(int64_t from_now) { return std::to_string(server_.now_ms() + from_now); }

  TestServer server_;
  TestClient client_{server_};
};

// --------------------------------------------------------------------------------------------------- GET, SET

TEST_F(StringCommands, GetAnswersTheBytesThatWereSet) {
  const std::string bytes("\0\r\n\xff", 4);
  EXPECT_EQ("OK", client_({"SET", bytes, bytes}));
  EXPECT_EQ(bytes, client_.ask({"GET", bytes}).text);
  EXPECT_EQ("OK", client_({"SET", "", ""}));
  EXPECT_EQ("\"\"", client_("GET \"\""));
  EXPECT_EQ("(nil)", client_("GET absent"));
}

TEST_F(StringCommands, SetClearsTheLifetimeUnlessKeepttl) {
  EXPECT_EQ("OK", client_("SET key first EX 10"));
  EXPECT_EQ("OK", client_("SET key second KEEPTTL"));
  server_.advance(9'999);
  EXPECT_EQ("\"second\"", client_("GET key"));
  EXPECT_EQ("OK", client_("SET key third"));
  server_.advance(1);
  EXPECT_EQ("\"third\"", client_("GET key"));
}

TEST_F(StringCommands, AKeyIsGoneAtItsDeadline) {
  EXPECT_EQ("OK", client_("SET key value EX 1"));
  expect_gone_in("key", 1'000);
  EXPECT_EQ("OK", client_("SET key value PX 100"));
  expect_gone_in("key", 100);
  EXPECT_EQ("OK", client_("SET key value EXAT " + in_seconds(7)));
  expect_gone_in("key", 7'000 - server_.now_ms() % 1'000);
  EXPECT_EQ("OK", client_("SET key value PXAT " + in_ms(7)));
  expect_gone_in("key", 7);
}

TEST_F(StringCommands, SetUntilAPastMomentLeavesNoKey) {
  EXPECT_EQ("OK", client_("SET key value"));
  EXPECT_EQ("OK", client_("SET key other PXAT " + in_ms(0)));
  EXPECT_EQ("(nil)", client_("GET key"));
  EXPECT_EQ("OK", client_("SET key value EXAT 1"));
  EXPECT_EQ("(nil)", client_("GET key"));
  EXPECT_EQ("(nil)", client_("SET key value EXAT 1 XX"));
}

TEST_F(StringCommands, SetRefusesLifetimesThatAreNone) {
  EXPECT_EQ("(error) ERR invalid expire time in 'set' command", client_("SET key value EX 0"));
  EXPECT_EQ("(error) ERR invalid expire time in 'set' command", client_("SET key value PX -1"));
  EXPECT_EQ("(error) ERR invalid expire time in 'set' command",
            client_("SET key value EX 9223372036854775807"));
  EXPECT_EQ("(error) ERR invalid expire time in 'set' command",
            client_("SET key value PX 9223372036854775807"));
  EXPECT_EQ("(error) ERR invalid expire time in 'set' command",
            client_("SET key value EXAT 9223372036854776"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("SET key value EX ten"));
  EXPECT_EQ("(nil)", client_("GET key"));
}

TEST_F(StringCommands, SetRefusesWordsThatClash) {
  for (const char* options :
       {"NX XX", "XX NX", "EX 10 PX 10", "KEEPTTL EX 10", "PXAT 10 KEEPTTL", "EX", "PERSIST", "NX IFEQ a",
        "IFEQ a IFNE b", "IFEQ", "IFDEQ 0 IFEQ a", "EX ten WORD"}) {
    EXPECT_EQ("(error) ERR syntax error", client_("SET key value " + std::string(options))) << options;
  }
  EXPECT_EQ("(nil)", client_("GET key"));
}

TEST_F(StringCommands, SetTakesAWordTwiceAndTheLastOneCounts) {
  EXPECT_EQ("OK", client_("SET key value EX 10 NX EX 20 NX"));
  expect_gone_in("key", 20'000);
}

TEST_F(StringCommands, SetNxAndXxLookWhetherTheKeyIsThere) {
  EXPECT_EQ("(nil)", client_("SET key value XX"));
  EXPECT_EQ("OK", client_("SET key value NX PX 5"));
  EXPECT_EQ("(nil)", client_("SET key other NX"));
  EXPECT_EQ("OK", client_("SET key other XX KEEPTTL"));
  server_.advance(5);
  EXPECT_EQ("(nil)", client_("SET key value XX"));
  EXPECT_EQ("OK", client_("SET key value NX"));
}

TEST_F(StringCommands, SetGetAnswersTheValueBefore) {
  EXPECT_EQ("(nil)", client_("SET key first GET"));
  EXPECT_EQ("\"first\"", client_("SET key second GET"));
  EXPECT_EQ("\"second\"", client_("SET key third NX GET"));
  EXPECT_EQ("\"second\"", client_("GET key"));
  EXPECT_EQ("(nil)", client_("SET absent value XX GET"));
  EXPECT_EQ("(nil)", client_("GET absent"));
}

TEST_F(StringCommands, SetIfeqComparesTheValue) {
  EXPECT_EQ("(nil)", client_("SET key value IFEQ value"));
  EXPECT_EQ("OK", client_("SET key first"));
  EXPECT_EQ("(nil)", client_("SET key second IFEQ other"));
  EXPECT_EQ("OK", client_("SET key second IFEQ first"));
  EXPECT_EQ("\"second\"", client_("SET key third IFEQ other GET"));
  EXPECT_EQ("\"second\"", client_("GET key"));
}

TEST_F(StringCommands, SetIfneAlsoCreates) {
  EXPECT_EQ("OK", client_("SET key first IFNE first"));
  EXPECT_EQ("(nil)", client_("SET key second IFNE first"));
  EXPECT_EQ("OK", client_("SET key second IFNE other"));
}

TEST_F(StringCommands, SetComparesDigests) {
  client_("SET key hello");
  EXPECT_EQ("(nil)", client_("SET key other IFDEQ 0000000000000000"));
  EXPECT_EQ("(nil)", client_("SET key other IFDNE 9555e8555c62dcfd"));
  EXPECT_EQ("OK", client_("SET key other IFDEQ 9555E8555c62dcfd"));
  EXPECT_EQ("(error) ERR must be exactly 16 hexadecimal characters", client_("SET key value IFDEQ 9555"));
}

TEST_F(StringCommands, WrongNumbersOfArguments) {
  for (const char* line :
       {"GET", "GET a b", "SET a", "SETNX a", "SETEX a 1", "PSETEX a 1", "GETSET a", "GETDEL", "GETDEL a b",
        "GETEX", "DELEX", "DELEX a IFEQ", "DELEX a IFEQ b c", "DELIFEQ a", "DIGEST"}) {
    EXPECT_TRUE(client_(line).starts_with("(error) ERR wrong number of arguments for '")) << line;
  }
}

// ---------------------------------------------------------------------------------------------- SETNX, SETEX, …

TEST_F(StringCommands, SetnxWritesOnlyWhatIsAbsent) {
  EXPECT_EQ("(integer) 1", client_("SETNX key first"));
  EXPECT_EQ("(integer) 0", client_("SETNX key second"));
  EXPECT_EQ("\"first\"", client_("GET key"));
  client_("SET key value PX 10");
  server_.advance(10);
  EXPECT_EQ("(integer) 1", client_("SETNX key second"));
  expect_permanent("key");
}

TEST_F(StringCommands, SetexAndPsetexCountFromNow) {
  EXPECT_EQ("OK", client_("SETEX key 2 value"));
  expect_gone_in("key", 2'000);
  EXPECT_EQ("OK", client_("PSETEX key 2 value"));
  expect_gone_in("key", 2);
}

TEST_F(StringCommands, SetexAndPsetexRefuseLifetimesThatAreNone) {
  EXPECT_EQ("(error) ERR invalid expire time in 'setex' command", client_("SETEX key 0 value"));
  EXPECT_EQ("(error) ERR invalid expire time in 'psetex' command", client_("PSETEX key -5 value"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("SETEX key 1.5 value"));
  EXPECT_EQ("(nil)", client_("GET key"));
}

TEST_F(StringCommands, GetsetExchangesAndClearsTheLifetime) {
  EXPECT_EQ("(nil)", client_("GETSET key first"));
  client_("SET key second EX 1");
  EXPECT_EQ("\"second\"", client_("GETSET key third"));
  expect_permanent("key");
}

TEST_F(StringCommands, GetdelRemoves) {
  EXPECT_EQ("(nil)", client_("GETDEL key"));
  client_("SET key value");
  EXPECT_EQ("\"value\"", client_("GETDEL key"));
  EXPECT_EQ("(nil)", client_("GETDEL key"));
  client_("SET key value PX 1");
  server_.advance(1);
  EXPECT_EQ("(nil)", client_("GETDEL key"));
}

// ------------------------------------------------------------------------------------------------------ GETEX

TEST_F(StringCommands, GetexChangesTheLifetime) {
  client_("SET key value");
  EXPECT_EQ("\"value\"", client_("GETEX key EX 1"));
  expect_gone_in("key", 1'000);
  client_("SET key value EX 1");
  EXPECT_EQ("\"value\"", client_("GETEX key PX 20"));
  expect_gone_in("key", 20);
  client_("SET key value");
  EXPECT_EQ("\"value\"", client_("GETEX key PXAT " + in_ms(9)));
  expect_gone_in("key", 9);
  client_("SET key value");
  EXPECT_EQ("\"value\"", client_("GETEX key EXAT " + in_seconds(9)));
  expect_gone_in("key", 9'000 - server_.now_ms() % 1'000);
}

TEST_F(StringCommands, GetexPersistMakesPermanent) {
  client_("SET key value EX 1");
  EXPECT_EQ("\"value\"", client_("GETEX key PERSIST"));
  expect_permanent("key");
}

TEST_F(StringCommands, GetexWithoutOptionsChangesNothing) {
  client_("SET key value EX 1");
  EXPECT_EQ("\"value\"", client_("GETEX key"));
  expect_gone_in("key", 1'000);
}

TEST_F(StringCommands, GetexUntilAPastMomentRemoves) {
  client_("SET key value");
  EXPECT_EQ("\"value\"", client_("GETEX key EXAT 1"));
  EXPECT_EQ("(nil)", client_("GET key"));
}

TEST_F(StringCommands, GetexOfNothingAnswersNothing) {
  EXPECT_EQ("(nil)", client_("GETEX absent"));
  EXPECT_EQ("(nil)", client_("GETEX absent EX 10"));
  EXPECT_EQ("(nil)", client_("GETEX absent EX ten")) << "the number is looked at when it is needed";
}

TEST_F(StringCommands, GetexRefusesWhatItDoesNotKnow) {
  client_("SET key value");
  for (const char* options : {"KEEPTTL", "NX", "EX", "EX 1 PERSIST", "PERSIST PX 1", "EX 1 PX 1"})
    EXPECT_EQ("(error) ERR syntax error", client_("GETEX key " + std::string(options))) << options;
  EXPECT_EQ("(error) ERR invalid expire time in 'getex' command", client_("GETEX key EX 0"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("GETEX key PX x"));
  expect_permanent("key");
}

// --------------------------------------------------------------------------------------------- DELEX, DELIFEQ

TEST_F(StringCommands, DelexWithoutAConditionRemoves) {
  EXPECT_EQ("(integer) 0", client_("DELEX key"));
  client_("SET key value");
  EXPECT_EQ("(integer) 1", client_("DELEX key"));
  EXPECT_EQ("(nil)", client_("GET key"));
}

TEST_F(StringCommands, DelexComparesValuesAndDigests) {
  client_("SET key hello");
  EXPECT_EQ("(integer) 0", client_("DELEX key IFEQ world"));
  EXPECT_EQ("(integer) 0", client_("DELEX key IFNE hello"));
  EXPECT_EQ("(integer) 0", client_("DELEX key IFDEQ 0000000000000000"));
  EXPECT_EQ("(integer) 0", client_("DELEX key IFDNE 9555e8555c62dcfd"));
  EXPECT_EQ("(integer) 1", client_("DELEX key IFEQ hello"));
  client_("SET key hello");
  EXPECT_EQ("(integer) 1", client_("DELEX key IFNE world"));
  client_("SET key hello");
  EXPECT_EQ("(integer) 1", client_("DELEX key IFDEQ 9555e8555c62dcfd"));
  client_("SET key hello");
  EXPECT_EQ("(integer) 1", client_("DELEX key IFDNE 0000000000000000"));
  EXPECT_EQ("(integer) 0", client_("DELEX key IFNE anything")) << "what is not there cannot be removed";
}

TEST_F(StringCommands, DelexRefusesOtherConditions) {
  const std::string refusal = "(error) ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE";
  client_("SET key value");
  EXPECT_EQ(refusal, client_("DELEX key NX value"));
  EXPECT_EQ(refusal, client_("DELEX key WHEN value"));
  EXPECT_EQ("(error) ERR must be exactly 16 hexadecimal characters", client_("DELEX key IFDEQ value"));
  EXPECT_EQ("(integer) 0", client_("DELEX key IFDEQ no-number-at-all"));
  EXPECT_EQ("(integer) 1", client_("DELEX key IFDNE no-number-at-all"));
}

TEST_F(StringCommands, DelexOfAKeyThatIsNotThereAsksForNoCondition) {
  EXPECT_EQ("(integer) 0", client_("DELEX missing WHEN value"));
  EXPECT_EQ("(integer) 0", client_("DELEX missing IFDEQ value"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'delex' command", client_("DELEX missing IFDEQ"));
}

TEST_F(StringCommands, DelifeqRemovesOnlyTheValueGiven) {
  EXPECT_EQ("(integer) 0", client_("DELIFEQ key value"));
  client_("SET key value PX 10");
  EXPECT_EQ("(integer) 0", client_("DELIFEQ key other"));
  EXPECT_EQ("(integer) 1", client_("DELIFEQ key value"));
  EXPECT_EQ("(nil)", client_("GET key"));
  client_("SET key value PX 10");
  server_.advance(10);
  EXPECT_EQ("(integer) 0", client_("DELIFEQ key value"));
}

// The digests are those of Redis and Dragonfly's documentation.
TEST_F(StringCommands, DigestIsXxh3InHexadecimal) {
  EXPECT_EQ("(nil)", client_("DIGEST key"));
  client_("SET key \"Hello world\"");
  EXPECT_EQ("\"b6acb9d84a38ff74\"", client_("DIGEST key"));
  client_("SET key hello");
  EXPECT_EQ("\"9555e8555c62dcfd\"", client_("DIGEST key"));
}

}  // namespace
}  // namespace lapse::server
