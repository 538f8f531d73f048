// MULTI, EXEC, DISCARD, WATCH, UNWATCH.

#include "test_server.h"

namespace lapse::server {
namespace {

class TransactionCommands : public testing::Test {
 protected:
  TestServer server_;
  TestClient client_{server_};
  TestClient other_{server_};
};

TEST_F(TransactionCommands, ExecRunsWhatWasQueued) {
  EXPECT_EQ("OK", client_("MULTI"));
  EXPECT_EQ("QUEUED", client_("SET key value"));
  EXPECT_EQ("QUEUED", client_("GET key"));
  EXPECT_EQ("(nil)", other_("GET key"));
  EXPECT_EQ("1) OK\n2) \"value\"", client_("EXEC"));
  EXPECT_EQ("\"value\"", client_("GET key"));
  EXPECT_EQ("(error) ERR EXEC without MULTI", client_("EXEC"));
}

TEST_F(TransactionCommands, ExecOfNothingIsEmpty) {
  client_("MULTI");
  EXPECT_EQ("(empty array)", client_("EXEC"));
}

TEST_F(TransactionCommands, DiscardForgetsQueueAndWatches) {
  client_("WATCH key");
  client_("MULTI");
  client_("SET key value");
  EXPECT_EQ("OK", client_("DISCARD"));
  EXPECT_EQ("(nil)", client_("GET key"));
  EXPECT_EQ("(error) ERR DISCARD without MULTI", client_("DISCARD"));
  other_("SET key theirs");
  client_("MULTI");
  EXPECT_EQ("(empty array)", client_("EXEC"));
}

TEST_F(TransactionCommands, MultiCannotBeNestedAndTheOuterOneGoesOn) {
  client_("MULTI");
  client_("SET key value");
  EXPECT_EQ("(error) ERR MULTI calls can not be nested", client_("MULTI"));
  EXPECT_EQ("1) OK", client_("EXEC"));
}

TEST_F(TransactionCommands, WatchWithinMultiIsRefusedAndTheRestGoesOn) {
  client_("MULTI");
  EXPECT_EQ("(error) ERR WATCH inside MULTI is not allowed", client_("WATCH key"));
  client_("SET key value");
  EXPECT_EQ("1) OK", client_("EXEC"));
}

TEST_F(TransactionCommands, ACommandThatIsRefusedWhileQueueingAbortsTheWhole) {
  client_("MULTI");
  client_("SET key value");
  EXPECT_EQ("(error) ERR unknown command 'NONSENSE', with args beginning with: ", client_("NONSENSE"));
  EXPECT_EQ("(error) EXECABORT Transaction discarded because of previous errors.", client_("EXEC"));
  EXPECT_EQ("(nil)", client_("GET key"));
  client_("MULTI");
  EXPECT_EQ("(error) ERR wrong number of arguments for 'get' command", client_("GET"));
  EXPECT_EQ("(error) EXECABORT Transaction discarded because of previous errors.", client_("EXEC"));
  client_("MULTI");
  EXPECT_EQ("(empty array)", client_("EXEC"));
}

TEST_F(TransactionCommands, ExecWithArgumentsAbortsAndSaysWhy) {
  client_("MULTI");
  client_("SET key value");
  EXPECT_EQ(
      "(error) EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command",
      client_("EXEC now"));
  EXPECT_EQ("(error) ERR EXEC without MULTI", client_("EXEC"));
  EXPECT_EQ(
      "(error) EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command",
      client_("EXEC now"));
}

TEST_F(TransactionCommands, AnErrorWithinExecUndoesOnlyItself) {
  client_("MULTI");
  client_("SET a 1");
  client_("RENAME absent b");
  client_("SET c 3");
  EXPECT_EQ("1) OK\n2) (error) ERR no such key\n3) OK", client_("EXEC"));
  EXPECT_EQ("(integer) 2", client_("EXISTS a c"));
}

TEST_F(TransactionCommands, WrongArgumentsOfTheOthers) {
  EXPECT_EQ("(error) ERR wrong number of arguments for 'multi' command", client_("MULTI now"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'discard' command", client_("DISCARD now"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'watch' command", client_("WATCH"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'unwatch' command", client_("UNWATCH key"));
}

TEST_F(TransactionCommands, TooMuchInAQueueIsRefusedAndAborts) {
  Config config = TestServer::in_memory();
  config.max_queued_commands = 2;
  TestServer server(config);
  TestClient client(server);
  client("MULTI");
  client("PING");
  client("PING");
  EXPECT_EQ("(error) ERR too much between MULTI and EXEC", client("PING"));
  EXPECT_EQ("(error) EXECABORT Transaction discarded because of previous errors.", client("EXEC"));
}

// ---------------------------------------------------------------------------------------------- WATCH

// Watches `key`, lets `meanwhile` happen, and answers what EXEC of a PING says.
class Watching : public TransactionCommands {
 protected:
  std::string exec_after(const std::function<void()>& meanwhile) {
    EXPECT_EQ("OK", client_("WATCH key"));
    meanwhile();
    client_("MULTI");
    client_("PING");
    return client_("EXEC");
  }
  static constexpr const char* kDone = "1) PONG";
  static constexpr const char* kAborted = "(nil)";
};

TEST_F(Watching, NothingChangedRuns) {
  EXPECT_EQ(kDone, exec_after([] {}));
  EXPECT_EQ(kDone, exec_after([&] { other_("SET another value"); }));
  EXPECT_EQ(kDone, exec_after([&] { other_("GET key"); }));
  EXPECT_EQ(kDone, exec_after([&] { other_("DEL key"); }));
}

TEST_F(Watching, AnyChangeAborts) {
  EXPECT_EQ(kAborted, exec_after([&] { other_("SET key value"); }));
  EXPECT_EQ(kAborted, exec_after([&] { other_("SET key value"); }));
  EXPECT_EQ(kAborted, exec_after([&] { other_("EXPIRE key 100"); }));
  EXPECT_EQ(kAborted, exec_after([&] { other_("PERSIST key"); }));
  EXPECT_EQ(kAborted, exec_after([&] { client_("SET key mine"); }));
  EXPECT_EQ(kAborted, exec_after([&] { other_("RENAME key other"); }));
  EXPECT_EQ(kAborted, exec_after([&] { other_("RENAME other key"); }));
  EXPECT_EQ(kAborted, exec_after([&] { other_("MOVE key 1"); }));
  EXPECT_EQ(kDone, exec_after([] {}));
}

TEST_F(Watching, AnotherDatabasesKeyIsAnotherKey) {
  EXPECT_EQ(kDone, exec_after([&] {
              other_("SELECT 1");
              other_("SET key value");
            }));
  EXPECT_EQ(kAborted, exec_after([&] { other_("COPY key key DB 0"); }));
}

TEST_F(Watching, UnwatchForgets) {
  EXPECT_EQ(kDone, exec_after([&] {
              other_("SET key value");
              EXPECT_EQ("OK", client_("UNWATCH"));
            }));
}

TEST_F(Watching, ACommandThatFailsMarksNobody) {
  other_("SET key text");
  EXPECT_EQ(kDone, exec_after([&] { EXPECT_TRUE(other_("RENAME absent key").starts_with("(error)")); }));
}

TEST_F(Watching, ExpiryIsAChange) {
  other_("SET key value PX 100");
  EXPECT_EQ(kDone, exec_after([&] { server_.advance(99); }));
  EXPECT_EQ(kAborted, exec_after([&] { server_.advance(1); }));
  EXPECT_EQ(kDone, exec_after([&] { server_.advance(1'000); }));
}

TEST_F(Watching, ExpiryIsAChangeAlsoIfNobodyHasRemovedTheKeyYet) {
  server_->expirer().enable(false);
  other_("SET key value PX 100");
  EXPECT_EQ(kAborted, exec_after([&] { server_.advance(100); }));
}

TEST_F(Watching, AKeyThatHadExpiredBeforeTheWatchIsAbsentAndItsRemovalNoChange) {
  server_->expirer().enable(false);
  other_("SET key value PX 100");
  server_.advance(100);
  EXPECT_EQ(kDone, exec_after([&] {
              server_->expirer().enable(true);
              server_.turn();
            }));
}

TEST_F(Watching, NorIsItsRemovalByPurge) {
  server_->expirer().enable(false);
  other_("SET key value PX 100");
  server_.advance(100);
  EXPECT_EQ(kDone, exec_after([&] { other_("PURGE"); }));
  other_("SET key value PX 100");
  EXPECT_EQ(kAborted, exec_after([&] {
              server_.advance(100);
              other_("PURGE");
            }));
}

TEST_F(Watching, FlushesTouchWhatWasThere) {
  EXPECT_EQ(kDone, exec_after([&] { other_("FLUSHALL"); }));
  other_("SET key value");
  EXPECT_EQ(kAborted, exec_after([&] { other_("FLUSHALL"); }));
  other_("SET key value");
  EXPECT_EQ(kAborted, exec_after([&] { other_("FLUSHDB"); }));
}

TEST_F(Watching, AChangeEarlierInTheSameTurnAborts) {
  client_("WATCH key");
  client_("MULTI");
  client_("SET key mine");
  server_.together([&] {
    other_("SET key theirs");
    client_("EXEC");
  });
  EXPECT_EQ("(nil)", client_.receive());
  EXPECT_EQ("\"theirs\"", client_("GET key"));
}

TEST_F(Watching, AChangeLaterInTheSameTurnDoesNot) {
  client_("WATCH key");
  client_("MULTI");
  client_("SET key mine");
  server_.together([&] {
    client_("EXEC");
    other_("SET key theirs");
  });
  EXPECT_EQ("1) OK", client_.receive());
  EXPECT_EQ("\"theirs\"", client_("GET key"));
}

TEST_F(Watching, AClientThatLeavesIsForgotten) {
  client_("WATCH key");
  EXPECT_FALSE(server_->watchers().empty());
  client_("QUIT");
  EXPECT_TRUE(server_->watchers().empty());
}

}  // namespace
}  // namespace lapse::server
