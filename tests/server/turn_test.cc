// Turns: what the commands of one turn of the loop have in common, and what becomes of them if its commit fails.

#include <future>
#include <thread>

#include "test_server.h"

namespace lapse::server {
namespace {

class Turns : public testing::Test {
 protected:
  // What the turn holds cannot be committed.
  void fail_turn() { server_->turn().give_up(Status(StatusCode::kNoSpace, "the disk is full")); }
  static constexpr const char* kFailed = "(error) MISCONF the disk is full";

  TestServer server_;
  TestClient a_{server_};
  TestClient b_{server_};
};

TEST_F(Turns, CommandsSeeEachOthersWritesInOrder) {
  server_.together([&] {
    a_("GET key");
    b_("SET key first");
    a_("GET key");
    a_("SET key second");
    b_("GET key");
    a_("DEL key");
    b_("EXISTS key");
  });
  EXPECT_EQ((std::vector<std::string>{"(nil)", "\"first\"", "OK", "(integer) 1"}), a_.receive_all());
  EXPECT_EQ((std::vector<std::string>{"OK", "\"second\"", "(integer) 0"}), b_.receive_all());
}

TEST_F(Turns, ManyCommandsAreOneCommit) {
  const uint64_t before = server_->statistics().commits;
  server_.together([&] {
    for (int i = 0; i < 100; ++i) a_("SET key" + std::to_string(i) + " value");
    b_("SET other value");
  });
  EXPECT_EQ(before + 1, server_->statistics().commits);
}

TEST_F(Turns, ATurnThatWritesMuchIsSeveralCommits) {
  a_(std::vector<std::string>{"SET", "source", std::string(20 << 20, 'x')});
  const uint64_t before = server_->statistics().commits;
  server_.together([&] {
    for (int i = 0; i < 8; ++i) a_("COPY source copy" + std::to_string(i));
  });
  EXPECT_EQ(before + 2, server_->statistics().commits);
  EXPECT_EQ(std::vector<std::string>(8, "(integer) 1"), a_.receive_all());
}

TEST_F(Turns, ALifetimeThatIsChangedCountsAsTheWholeRow) {
  a_(std::vector<std::string>{"SET", "blob", std::string(20 << 20, 'x')});
  const auto commits_of = [&](const std::string& line) {
    const uint64_t before = server_->statistics().commits;
    server_.together([&] {
      for (int i = 0; i < 8; ++i) a_(line + std::to_string(1'000 + i));
    });
    EXPECT_EQ(8U, a_.receive_all().size());
    return server_->statistics().commits - before;
  };
  EXPECT_EQ(2U, commits_of("EXPIRE blob "));
  EXPECT_EQ(2U, commits_of("GETEX blob EX "));
}

TEST_F(Turns, WhatGoesIntoTheHistoryCounts) {
  a_("FAMILY CREATE docs history yes");
  a_("SELECT docs");
  for (int i = 0; i < 8; ++i)
    a_(std::vector<std::string>{"SET", "doc" + std::to_string(i), std::string(20 << 20, 'x')});
  const uint64_t before = server_->statistics().commits;
  server_.together([&] {
    for (int i = 0; i < 8; ++i) a_("DEL doc" + std::to_string(i));
  });
  EXPECT_EQ(before + 2, server_->statistics().commits);
  EXPECT_EQ(std::vector<std::string>(8, "(integer) 1"), a_.receive_all());
}

TEST_F(Turns, AnExecIsOneCommitHoweverMuchItWrites) {
  a_(std::vector<std::string>{"SET", "source", std::string(20 << 20, 'x')});
  a_("MULTI");
  for (int i = 0; i < 8; ++i) a_("COPY source copy" + std::to_string(i));
  const uint64_t before = server_->statistics().commits;
  a_("EXEC");
  EXPECT_EQ(before + 1, server_->statistics().commits);
}

TEST_F(Turns, AFailingCommandUndoesOnlyItself) {
  const std::string too_long(65 << 10, 'k');
  a_("SET first 1");
  server_.together([&] {
    a_("SET before 1");
    b_(std::vector<std::string>{"DEL", "first", too_long});  // fails when it has erased the first
    a_("SET after 1");
  });
  EXPECT_TRUE(b_.receive().starts_with("(error)"));
  a_.receive_all();
  EXPECT_EQ("(integer) 3", a_("EXISTS first before after"));
}

TEST_F(Turns, ARepliedTimeStandsStillDuringATurn) {
  a_("SET key value PX 100");
  server_.together([&] {
    server_.clock().advance(100);
    a_("GET key");
    a_("PTTL key");
  });
  EXPECT_EQ((std::vector<std::string>{"\"value\"", "(integer) 100"}), a_.receive_all());
  EXPECT_EQ("(nil)", a_("GET key"));
}

// ------------------------------------------------------------------------------- commits that fail

TEST_F(Turns, AFailingCommitIsTheReplyOfAllThatTouchedTheStore) {
  a_("SET key before");
  server_.together([&] {
    a_("SET key value");
    a_("PING");
    b_("GET key");
    b_("ECHO hello");
    fail_turn();
  });
  EXPECT_EQ((std::vector<std::string>{kFailed, "PONG"}), a_.receive_all());
  EXPECT_EQ((std::vector<std::string>{kFailed, "\"hello\""}), b_.receive_all());
  EXPECT_EQ("\"before\"", a_("GET key"));
  EXPECT_EQ("OK", a_("SET key after"));
}

TEST_F(Turns, AFailingCommitIsTheOneReplyOfAnExec) {
  a_("MULTI");
  a_("SET key value");
  a_("GET key");
  server_.together([&] {
    a_("EXEC");
    fail_turn();
  });
  EXPECT_EQ((std::vector<std::string>{kFailed}), a_.receive_all());
  EXPECT_EQ("(nil)", a_("GET key"));
}

TEST_F(Turns, AFailingCommitTakesWatchMarksBack) {
  a_("WATCH key");
  server_.together([&] {
    b_("SET key value");
    fail_turn();
  });
  a_("MULTI");
  a_("PING");
  EXPECT_EQ("1) PONG", a_("EXEC"));
}

TEST_F(Turns, AnExecThatWasCalledOffByAWriteThatFailedSaysSo) {
  a_("WATCH key");
  a_("MULTI");
  a_("PING");
  server_.together([&] {
    b_("SET key value");
    a_("EXEC");
    fail_turn();
  });
  EXPECT_EQ(kFailed, a_.receive());
}

TEST_F(Turns, AFailingCommitLetsNoNotificationOut) {
  server_->want_events(kAllEvents | kKeyevent);
  server_->pubsub().subscribe(b_.session(), "__keyevent@0__:set");
  server_.together([&] {
    a_("SET key value");
    fail_turn();
  });
  EXPECT_EQ("", b_.receive());
  a_("SET key value");
  EXPECT_EQ("1) \"message\"\n2) \"__keyevent@0__:set\"\n3) \"key\"", b_.receive());
}

// ------------------------------------------------------------------------------------ the writer

// Another thread has a transaction open for as long as this lives.
class OtherWriter {
 public:
  explicit OtherWriter(Store* store) {
    std::promise<void> begun;
    thread_ = std::thread([this, store, &begun] {
      const Transaction transaction = must(store->begin());
      begun.set_value();
      ended_.get_future().wait();
    });
    begun.get_future().wait();
  }
  ~OtherWriter() {
    ended_.set_value();
    thread_.join();
  }

 private:
  std::promise<void> ended_;
  std::thread thread_;
};

TEST_F(Turns, ATurnOfReadsTakesNoWriter) {
  a_("SET key value PX 100");
  const OtherWriter other(&server_->store());
  server_.together([&] {
    a_("GET key");
    a_("PTTL key");
    a_("SCAN 0");
    b_("EXISTS key other");
    b_("DBSIZE");
    b_("WATCH key");
  });
  EXPECT_EQ("\"value\"", a_.receive());
  EXPECT_EQ("(integer) 1", b_.receive());
}

}  // namespace
}  // namespace lapse::server
