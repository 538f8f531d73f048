// Databases as a whole.

#include "test_server.h"

namespace lapse::server {
namespace {

class DatabaseCommands : public testing::Test {
 protected:
  TestServer server_;
  TestClient client_{server_};
};

TEST_F(DatabaseCommands, DbsizeCountsWhatIsThere) {
  EXPECT_EQ("(integer) 0", client_("DBSIZE"));
  client_("SET a 1");
  client_("SET b 2 PX 100");
  EXPECT_EQ("(integer) 2", client_("DBSIZE"));
  client_("SELECT 1");
  EXPECT_EQ("(integer) 0", client_("DBSIZE"));
  client_("SELECT 0");
  server_.clock().advance(100);
  EXPECT_EQ("(integer) 1", client_("DBSIZE"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'dbsize' command", client_("DBSIZE 0"));
}

TEST_F(DatabaseCommands, FlushdbEmptiesOneDatabase) {
  client_("SET a 1 PX 100");
  client_("SELECT 1");
  client_("SET a 1");
  EXPECT_EQ("OK", client_("FLUSHDB"));
  EXPECT_EQ("(integer) 0", client_("DBSIZE"));
  client_("SELECT 0");
  EXPECT_EQ("(integer) 1", client_("DBSIZE"));
  EXPECT_EQ("OK", client_("FLUSHDB ASYNC"));
  EXPECT_EQ("OK", client_("FLUSHDB sync"));
  EXPECT_EQ("(integer) 0", client_("DBSIZE"));
  EXPECT_EQ("(error) ERR syntax error", client_("FLUSHDB NOW"));
  EXPECT_EQ("(error) ERR syntax error", client_("FLUSHDB ASYNC SYNC"));
}

TEST_F(DatabaseCommands, FlushallEmptiesAllOfThem) {
  client_("SET a 1");
  client_("SELECT 15");
  client_("SET a 1 PX 100");
  EXPECT_EQ("OK", client_("FLUSHALL"));
  EXPECT_EQ("(integer) 0", client_("DBSIZE"));
  client_("SELECT 0");
  EXPECT_EQ("(integer) 0", client_("DBSIZE"));
  EXPECT_EQ("(error) ERR syntax error", client_("FLUSHALL NOW"));
  server_.advance(100);
  EXPECT_EQ("(integer) 0", client_("DBSIZE"));
}

TEST_F(DatabaseCommands, WhatIsWrittenAfterAFlushInTheSameTurnStays) {
  client_("SET a 1");
  server_.together([&] {
    client_("FLUSHDB");
    client_("SET b 2");
  });
  client_.receive_all();
  EXPECT_EQ("(integer) 1", client_("DBSIZE"));
  EXPECT_EQ("\"2\"", client_("GET b"));
}

}  // namespace
}  // namespace lapse::server
