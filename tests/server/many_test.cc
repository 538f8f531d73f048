// Many strings in one command.

#include "test_server.h"

namespace lapse::server {
namespace {

class ManyCommands : public testing::Test {
 protected:
  TestServer server_;
  TestClient client_{server_};
};

TEST_F(ManyCommands, MgetAnswersInOrderWithGaps) {
  client_("MSET a 1 b 2");
  EXPECT_EQ("1) \"2\"\n2) (nil)\n3) \"1\"\n4) \"2\"", client_("MGET b absent a b"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'mget' command", client_("MGET"));
}

TEST_F(ManyCommands, MgetHidesWhatHasExpired) {
  client_("SET a 1 PX 10");
  server_.advance(9);
  EXPECT_EQ("1) \"1\"", client_("MGET a"));
  server_.advance(1);
  EXPECT_EQ("1) (nil)", client_("MGET a"));
}

TEST_F(ManyCommands, MsetClearsLifetimesAndTakesTheLastOfTwo) {
  client_("SET a 0 PX 10");
  EXPECT_EQ("OK", client_("MSET a 1 b 2 a 3"));
  server_.advance(10);
  EXPECT_EQ("1) \"3\"\n2) \"2\"", client_("MGET a b"));
}

TEST_F(ManyCommands, MsetWantsPairs) {
  EXPECT_EQ("(error) ERR wrong number of arguments for 'mset' command", client_("MSET a"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'mset' command", client_("MSET a 1 b"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'msetnx' command", client_("MSETNX a 1 b"));
  EXPECT_EQ("(nil)", client_("GET a"));
}

TEST_F(ManyCommands, MsetnxIsAllOrNothing) {
  EXPECT_EQ("(integer) 1", client_("MSETNX a 1 b 2"));
  EXPECT_EQ("(integer) 0", client_("MSETNX c 3 b 4"));
  EXPECT_EQ("1) \"1\"\n2) \"2\"\n3) (nil)", client_("MGET a b c"));
  EXPECT_EQ("(integer) 1", client_("MSETNX c 3 c 4")) << "both were absent when it began";
  EXPECT_EQ("\"4\"", client_("GET c"));
}

TEST_F(ManyCommands, MsetnxTakesExpiredForAbsent) {
  client_("SET a 1 PX 10");
  server_.advance(10);
  EXPECT_EQ("(integer) 1", client_("MSETNX a 2"));
}

TEST_F(ManyCommands, MsetexGivesAllOneLifetime) {
  EXPECT_EQ("(integer) 1", client_("MSETEX 2 a 1 b 2 PX 10"));
  server_.advance(9);
  EXPECT_EQ("1) \"1\"\n2) \"2\"", client_("MGET a b"));
  server_.advance(1);
  EXPECT_EQ("1) (nil)\n2) (nil)", client_("MGET a b"));
}

TEST_F(ManyCommands, MsetexWithoutLifetimeClearsItUnlessKeepttl) {
  client_("MSETEX 2 a 1 b 2 EX 1");
  EXPECT_EQ("(integer) 1", client_("MSETEX 1 a 3"));
  EXPECT_EQ("(integer) 1", client_("MSETEX 1 b 4 KEEPTTL"));
  server_.advance(1'000);
  EXPECT_EQ("1) \"3\"\n2) (nil)", client_("MGET a b"));
}

TEST_F(ManyCommands, MsetexNxWantsNoneAndXxAll) {
  client_("SET a 1");
  EXPECT_EQ("(integer) 0", client_("MSETEX 2 a 2 b 2 NX"));
  EXPECT_EQ("(integer) 0", client_("MSETEX 2 a 2 b 2 EX 10 XX"));
  EXPECT_EQ("1) \"1\"\n2) (nil)", client_("MGET a b"));
  EXPECT_EQ("(integer) 1", client_("MSETEX 2 b 2 c 2 NX"));
  EXPECT_EQ("(integer) 1", client_("MSETEX 3 a 3 b 3 c 3 XX"));
  EXPECT_EQ("1) \"3\"\n2) \"3\"\n3) \"3\"", client_("MGET a b c"));
}

TEST_F(ManyCommands, MsetexUntilAPastMomentLeavesNoKeys) {
  client_("SET a 1");
  EXPECT_EQ("(integer) 1", client_("MSETEX 2 a 2 b 2 PXAT 1"));
  EXPECT_EQ("1) (nil)\n2) (nil)", client_("MGET a b"));
}

TEST_F(ManyCommands, MsetexRefusesCountsThatAreNone) {
  for (const char* count : {"0", "-1", "a", "2147483648"})
    EXPECT_EQ("(error) ERR invalid numkeys value", client_("MSETEX " + std::string(count) + " a 1")) << count;
  EXPECT_EQ("(error) ERR wrong number of key-value pairs", client_("MSETEX 2 a 1 b"));
  EXPECT_EQ("(error) ERR wrong number of key-value pairs", client_("MSETEX 2147483647 a 1"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'msetex' command", client_("MSETEX 1 a"));
}

TEST_F(ManyCommands, MsetexRefusesWordsThatClash) {
  for (const char* options : {"NX XX", "EX 1 PX 1", "KEEPTTL EX 1", "b 2", "EX", "PERSIST"})
    EXPECT_EQ("(error) ERR syntax error", client_("MSETEX 1 a 1 " + std::string(options))) << options;
  EXPECT_EQ("(error) ERR invalid expire time in 'msetex' command", client_("MSETEX 1 a 1 EX 0"));
  EXPECT_EQ("(nil)", client_("GET a"));
}

}  // namespace
}  // namespace lapse::server
