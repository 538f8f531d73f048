// Keys as such: whether they are there, what they are, and their end.

#include "test_server.h"

namespace lapse::server {
namespace {

class KeyCommands : public testing::Test {
 protected:
  TestServer server_;
  TestClient client_{server_};
};

TEST_F(KeyCommands, DelCountsTheKeysThatWereThere) {
  client_("SET a 1");
  client_("SET b 2");
  EXPECT_EQ("(integer) 2", client_("DEL a b c a"));
  EXPECT_EQ("(nil)", client_("GET a"));
  EXPECT_EQ("(integer) 0", client_("DEL a"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'del' command", client_("DEL"));
}

TEST_F(KeyCommands, DelOfAnExpiredKeyFindsNothing) {
  client_("SET a 1 PX 10");
  server_.clock().advance(10);
  EXPECT_EQ("(integer) 0", client_("DEL a"));
}

TEST_F(KeyCommands, UnlinkIsDel) {
  client_("SET a 1");
  EXPECT_EQ("(integer) 1", client_("UNLINK a b"));
  EXPECT_EQ("(integer) 0", client_("EXISTS a"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'unlink' command", client_("UNLINK"));
}

TEST_F(KeyCommands, ExistsCountsAKeyAsOftenAsItIsNamed) {
  client_("SET a 1 PX 10");
  EXPECT_EQ("(integer) 2", client_("EXISTS a a b"));
  server_.advance(9);
  EXPECT_EQ("(integer) 1", client_("EXISTS a"));
  server_.advance(1);
  EXPECT_EQ("(integer) 0", client_("EXISTS a"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'exists' command", client_("EXISTS"));
}

TEST_F(KeyCommands, TouchCountsKeys) {
  client_("SET a 1");
  EXPECT_EQ("(integer) 1", client_("TOUCH a b"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'touch' command", client_("TOUCH"));
}

TEST_F(KeyCommands, TypeIsStringOrNone) {
  client_("SET a 1 PX 10");
  EXPECT_EQ("string", client_("TYPE a"));
  server_.advance(10);
  EXPECT_EQ("none", client_("TYPE a"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'type' command", client_("TYPE a b"));
}

TEST_F(KeyCommands, ObjectEncodingIsWhatRedisWouldSay) {
  client_("SET number 12345");
  client_("SET short text");
  client_({"SET", "long", std::string(45, 'x')});
  EXPECT_EQ("\"int\"", client_("OBJECT ENCODING number"));
  EXPECT_EQ("\"embstr\"", client_("OBJECT ENCODING short"));
  EXPECT_EQ("\"raw\"", client_("object encoding long"));
  EXPECT_EQ("(nil)", client_("OBJECT ENCODING absent"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'object|encoding' command",
            client_("OBJECT ENCODING"));
}

TEST_F(KeyCommands, ObjectTellsOfReferencesAndAccess) {
  client_("SET key value");
  EXPECT_EQ("(integer) 1", client_("OBJECT REFCOUNT key"));
  client_("MSET small 9999 large 10000 negative -1");
  EXPECT_EQ("(integer) 2147483647", client_("OBJECT REFCOUNT small"));
  EXPECT_EQ("(integer) 1", client_("OBJECT REFCOUNT large"));
  EXPECT_EQ("(integer) 1", client_("OBJECT REFCOUNT negative"));
  EXPECT_EQ("(nil)", client_("OBJECT REFCOUNT absent"));
  EXPECT_EQ("(integer) 0", client_("OBJECT IDLETIME key"));
  EXPECT_EQ("(nil)", client_("OBJECT IDLETIME absent"));
  EXPECT_EQ("(nil)", client_("OBJECT FREQ absent"));
  EXPECT_TRUE(client_("OBJECT FREQ key").starts_with("(error) ERR An LFU maxmemory policy is not selected"));
  EXPECT_NE(std::string::npos, client_("OBJECT HELP").find("ENCODING <key>"));
  EXPECT_EQ("(error) ERR unknown subcommand 'COLOUR'. Try OBJECT HELP.", client_("OBJECT COLOUR key"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'object' command", client_("OBJECT"));
}

// ------------------------------------------------------------------------------- RENAME, COPY, MOVE

TEST_F(KeyCommands, RenameTakesTheDeadlineAlong) {
  client_("SET a 1 PX 100");
  client_("SET b 2");
  EXPECT_EQ("OK", client_("RENAME a b"));
  EXPECT_EQ("(nil)", client_("GET a"));
  EXPECT_EQ("\"1\"", client_("GET b"));
  EXPECT_EQ("(integer) 100", client_("PTTL b"));
  server_.advance(100);
  EXPECT_EQ("(nil)", client_("GET b"));
}

TEST_F(KeyCommands, RenameOverAKeyWithADeadlineMakesItPermanent) {
  client_("SET a 1");
  client_("SET b 2 PX 100");
  EXPECT_EQ("OK", client_("RENAME a b"));
  EXPECT_EQ("(integer) -1", client_("TTL b"));
}

TEST_F(KeyCommands, RenameOfNothingIsAnError) {
  EXPECT_EQ("(error) ERR no such key", client_("RENAME a b"));
  EXPECT_EQ("(error) ERR no such key", client_("RENAMENX a b"));
  EXPECT_EQ("(error) ERR no such key", client_("RENAME a a"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'rename' command", client_("RENAME a"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'renamenx' command", client_("RENAMENX a"));
}

TEST_F(KeyCommands, RenameToItselfChangesNothing) {
  client_("SET a 1 PX 100");
  EXPECT_EQ("OK", client_("RENAME a a"));
  EXPECT_EQ("(integer) 0", client_("RENAMENX a a"));
  EXPECT_EQ("(integer) 100", client_("PTTL a"));
}

TEST_F(KeyCommands, RenamenxLeavesAKeyThatIsThere) {
  client_("SET a 1");
  client_("SET b 2 PX 100");
  EXPECT_EQ("(integer) 0", client_("RENAMENX a b"));
  EXPECT_EQ("\"2\"", client_("GET b"));
  server_.advance(100);
  EXPECT_EQ("(integer) 1", client_("RENAMENX a b"));
  EXPECT_EQ("\"1\"", client_("GET b"));
}

TEST_F(KeyCommands, CopyTakesValueAndDeadline) {
  client_("SET a 1 PX 100");
  EXPECT_EQ("(integer) 1", client_("COPY a b"));
  EXPECT_EQ("(integer) 100", client_("PTTL b"));
  EXPECT_EQ("\"1\"", client_("GET a"));
  EXPECT_EQ("(integer) 0", client_("COPY a b"));
  EXPECT_EQ("(integer) 0", client_("COPY absent c"));
  client_("SET a 3");
  EXPECT_EQ("(integer) 1", client_("COPY a b REPLACE"));
  EXPECT_EQ("\"3\"", client_("GET b"));
  EXPECT_EQ("(integer) -1", client_("TTL b"));
}

TEST_F(KeyCommands, CopyReachesOtherDatabases) {
  client_("SET a 1 PX 100");
  EXPECT_EQ("(integer) 1", client_("COPY a a DB 3"));
  EXPECT_EQ("(integer) 0", client_("COPY a a DB 3"));
  EXPECT_EQ("(integer) 1", client_("COPY a a REPLACE DB 3"));
  client_("SELECT 3");
  EXPECT_EQ("\"1\"", client_("GET a"));
  EXPECT_EQ("(integer) 100", client_("PTTL a"));
}

TEST_F(KeyCommands, CopyRefusesWhatMakesNoSense) {
  client_("SET a 1");
  EXPECT_EQ("(error) ERR source and destination objects are the same", client_("COPY a a"));
  EXPECT_EQ("(error) ERR source and destination objects are the same", client_("COPY a a DB 0"));
  EXPECT_EQ("(error) ERR DB index is out of range", client_("COPY a b DB 16"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("COPY a b DB nowhere"));
  EXPECT_EQ("(error) ERR syntax error", client_("COPY a b DB"));
  EXPECT_EQ("(error) ERR syntax error", client_("COPY a b AGAIN"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'copy' command", client_("COPY a"));
}

TEST_F(KeyCommands, MoveTakesAKeyToAnotherDatabase) {
  client_("SET a 1 PX 100");
  EXPECT_EQ("(integer) 1", client_("MOVE a 1"));
  EXPECT_EQ("(nil)", client_("GET a"));
  EXPECT_EQ("(integer) 0", client_("MOVE a 1"));
  client_("SET a 2");
  EXPECT_EQ("(integer) 0", client_("MOVE a 1"));
  client_("SELECT 1");
  EXPECT_EQ("\"1\"", client_("GET a"));
  EXPECT_EQ("(integer) 100", client_("PTTL a"));
  EXPECT_EQ("(error) ERR source and destination objects are the same", client_("MOVE a 1"));
  EXPECT_EQ("(error) ERR DB index is out of range", client_("MOVE a 99"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("MOVE a b"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'move' command", client_("MOVE a"));
}

TEST_F(KeyCommands, MoveGoesOverAKeyThatHasExpired) {
  client_("SET a here");
  client_("SELECT 1");
  client_("SET a there PX 100");
  client_("SELECT 0");
  server_.clock().advance(100);
  EXPECT_EQ("(integer) 1", client_("MOVE a 1"));
  client_("SELECT 1");
  EXPECT_EQ("\"here\"", client_("GET a"));
  EXPECT_EQ("(integer) -1", client_("TTL a"));
}

}  // namespace
}  // namespace lapse::server
