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

TEST_F(DatabaseCommands, SwapdbExchangesContents) {
  client_("SET a zero PX 100");
  client_("SELECT 1");
  client_("SET a one");
  EXPECT_EQ("OK", client_("SWAPDB 0 1"));
  EXPECT_EQ("\"zero\"", client_("GET a"));
  EXPECT_EQ("(integer) 100", client_("PTTL a"));
  client_("SELECT 0");
  EXPECT_EQ("\"one\"", client_("GET a"));
  EXPECT_EQ("OK", client_("SWAPDB 0 0"));
  server_.advance(100);
  EXPECT_EQ("(integer) 1", client_("DBSIZE"));
  client_("SELECT 1");
  EXPECT_EQ("(integer) 0", client_("DBSIZE"));
}

TEST_F(DatabaseCommands, SwapdbIsSeenByTheCommandsOfItsTurnAndOfItsExec) {
  client_("SET a zero");
  server_.together([&] {
    client_("GET a");
    client_("SWAPDB 0 1");
    client_("GET a");
    client_("SET b new");
    client_("SWAPDB 1 0");
    client_("EXISTS a b");
  });
  EXPECT_EQ((std::vector<std::string>{"\"zero\"", "OK", "(nil)", "OK", "OK", "(integer) 1"}),
            client_.receive_all());
  client_("MULTI");
  client_("SWAPDB 0 1");
  client_("GET b");
  EXPECT_EQ("1) OK\n2) \"new\"", client_("EXEC"));
}

TEST_F(DatabaseCommands, SwapdbTouchesWhatIsWatchedInBothDatabases) {
  TestClient other(server_);
  const auto exec_after_swap = [&] {
    other("SWAPDB 0 1");
    client_("MULTI");
    return client_("EXEC");
  };
  client_("WATCH a");
  EXPECT_EQ("(empty array)", exec_after_swap());
  other("SET a value");
  client_("WATCH a");
  EXPECT_EQ("(nil)", exec_after_swap());
  client_("WATCH a");  // which is not here now, but there
  EXPECT_EQ("(nil)", exec_after_swap());
}

TEST_F(DatabaseCommands, SwapdbMakesNoNumberedDatabaseUncounted) {
  client_("FAMILY CREATE plain counted no");
  client_("FAMILY CREATE other counted no");
  client_("SET a zero");
  const std::string refusal =
      "(error) ERR a numbered database is always counted: see FAMILY SET plain counted yes";
  EXPECT_EQ(refusal, client_("SWAPDB 0 plain"));
  EXPECT_EQ(refusal, client_("SWAPDB plain 0"));
  EXPECT_EQ("\"zero\"", client_("GET a"));
  EXPECT_EQ("OK", client_("SWAPDB plain other"));
  EXPECT_EQ("OK", client_("FAMILY SET plain counted yes"));
  EXPECT_EQ("OK", client_("SWAPDB 0 plain"));
  EXPECT_EQ("(integer) 0", client_("DBSIZE"));
}

TEST_F(DatabaseCommands, SwapdbRefusesWhatIsNoDatabase) {
  EXPECT_EQ("(error) ERR invalid first DB index", client_("SWAPDB here 1"));
  EXPECT_EQ("(error) ERR invalid second DB index", client_("SWAPDB 1 there"));
  EXPECT_EQ("(error) ERR DB index is out of range", client_("SWAPDB 0 16"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'swapdb' command", client_("SWAPDB 0"));
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
