// A turn whose commit fails: those who wrote are told, those who only read are not held up.

#include "test_server.h"

namespace lapse::server {
namespace {

class FailedCommit : public testing::Test {
 protected:
  FailedCommit() { writer_("SET key value"); }

  void let_it_fail() { server_->turn().give_up({StatusCode::kNoSpace, "no space left on device"}); }

  TestServer server_;
  TestClient writer_{server_};
  TestClient reader_{server_};
};

constexpr std::string_view kFull = "(error) MISCONF no space left on device";

TEST_F(FailedCommit, EveryCommandFromTheFirstWriteOnIsToldSo) {
  server_.together([&] {
    let_it_fail();
    writer_("PING");
    reader_("GET key");
    writer_("SET key other");
    reader_("GET key");
    reader_("PING");
  });
  EXPECT_EQ((std::vector<std::string>{"PONG", std::string(kFull)}), writer_.receive_all());
  EXPECT_EQ((std::vector<std::string>{"\"value\"", std::string(kFull), "PONG"}), reader_.receive_all());
  EXPECT_EQ("\"value\"", reader_("GET key"));
}

TEST_F(FailedCommit, AfterOneEachWriteStandsForItself) {
  server_.together([&] {
    let_it_fail();
    writer_("SET key other");
  });
  EXPECT_EQ(kFull, writer_.receive());
  server_.together([&] {
    let_it_fail();
    writer_("SET key other");
    reader_("GET key");  // in the same turn, and after the write
  });
  EXPECT_EQ(kFull, writer_.receive());
  EXPECT_EQ("\"value\"", reader_.receive());
}

TEST_F(FailedCommit, OnceOneSucceedsAllIsAsBefore) {
  server_.together([&] {
    let_it_fail();
    writer_("SET key other");
  });
  EXPECT_EQ(kFull, writer_.receive());
  const uint64_t commits = server_->statistics().commits;
  EXPECT_EQ("OK", writer_("SET key new"));
  server_.together([&] {
    writer_("SET key newer");
    writer_("SET key newest");
    reader_("GET key");
  });
  EXPECT_EQ("\"newest\"", reader_.receive());
  EXPECT_EQ(commits + 2, server_->statistics().commits);
}

TEST_F(FailedCommit, WhatIsDueIsHiddenAndReadsGoOn) {
  EXPECT_EQ("OK", writer_("SET dying value PX 100"));
  server_.clock().advance(100);
  server_.together([&] {
    let_it_fail();  // the commit of what was removed
    reader_("GET dying");
    reader_("GET key");
  });
  EXPECT_EQ((std::vector<std::string>{"(nil)", "\"value\""}), reader_.receive_all());
  EXPECT_GT(server_->wakeup_ms(), server_.now_ms());
  server_.advance(1'000);
  EXPECT_EQ(kNever, server_->wakeup_ms());
}

TEST_F(FailedCommit, KeysThatDidNotGoAreNotCounted) {
  server_->expirer().enable(false);
  writer_("SET a value PX 100");
  writer_("SET b value PX 100");
  server_.advance(100);
  server_.together([&] {
    let_it_fail();
    writer_("SET a value");  // which expired before
    writer_("PURGE");
  });
  EXPECT_EQ(0U, server_->statistics().expired);
  EXPECT_EQ(0U, server_->statistics().purged);
  writer_.receive_all();
  writer_("PURGE");
  EXPECT_EQ(2U, server_->statistics().expired);
  EXPECT_EQ(2U, server_->statistics().purged);
}

}  // namespace
}  // namespace lapse::server
