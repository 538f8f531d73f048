// Turns at durability full: they end with waiting for the disk, and before that there is time for something else.

#include "test_server.h"

namespace lapse::server {
namespace {

class SyncedTurns : public testing::Test {
 protected:
  explicit SyncedTurns(Durability durability = Durability::kFull) : server_(config(durability)) {}

  // What a reply must not leave before.
  uint64_t unsynced() {
    const StoreStats stats = server_->store().stats();
    return stats.last_revision - stats.durable_revision;
  }

  void begin(std::string_view line) {
    server_->begin_turn();
    server_->receive(client_.session(), std::string(line) + "\r\n");
  }

  TempDir dir_;
  TestServer server_;
  TestClient client_{server_};
  TestClient other_{server_};

 private:
  Config config(Durability durability) const {
    Config config;
    config.file = dir_.file("test.db");
    config.durability = durability;
    return config;
  }
};

TEST_F(SyncedTurns, LetTheDiskGoToWorkAndWaitForItAtTheirEnd) {
  begin("SET key value");
  ASSERT_TRUE(server_->must_sync());
  server_->begin_commit();
  EXPECT_EQ(1U, unsynced());
  server_->end_turn();
  EXPECT_EQ(0U, unsynced());
  EXPECT_EQ("OK", client_.receive());
  EXPECT_EQ("\"value\"", other_("GET key"));
}

TEST_F(SyncedTurns, NeedNotBegin) {
  const uint64_t commits = server_->statistics().commits;
  EXPECT_EQ("OK", client_("SET key value"));
  EXPECT_EQ(0U, unsynced());
  EXPECT_EQ(commits + 1, server_->statistics().commits);
}

TEST_F(SyncedTurns, TakeOneSyncForAllTheirClients) {
  client_("SET key value");  // the journal has its file
  const uint64_t syncs = server_->store().stats().syncs;
  server_.together([&] {
    for (int i = 0; i < 5; ++i) {
      client_.send("SET a" + std::to_string(i) + " 1\r\n");
      other_.send("INCR counter\r\n");
    }
  });
  EXPECT_EQ(syncs + 1, server_->store().stats().syncs);
  EXPECT_EQ(0U, unsynced());
  other_.receive_all();
  EXPECT_EQ("\"5\"", other_("GET counter"));
}

TEST_F(SyncedTurns, ThatOnlyReadWaitForNothing) {
  client_("SET key value");
  begin("GET key");
  EXPECT_FALSE(server_->must_sync());
  server_->end_turn();
  EXPECT_EQ("\"value\"", client_.receive());
}

TEST_F(SyncedTurns, ThatWereGivenUpBeginNothing) {
  begin("SET key value");
  server_->turn().give_up({StatusCode::kNoSpace, "the disk is full"});
  server_->begin_commit();
  EXPECT_EQ(0U, unsynced());
  server_->end_turn();
  EXPECT_EQ("(error) MISCONF the disk is full", client_.receive());
  EXPECT_EQ("(nil)", other_("GET key"));
}

TEST_F(SyncedTurns, ThatMakeFamiliesAreSyncedAtOnce) {
  begin("FAMILY CREATE docs");
  ASSERT_TRUE(server_->must_sync());
  server_->begin_commit();
  EXPECT_EQ(0U, unsynced());
  server_->end_turn();
  EXPECT_EQ("OK", client_.receive());
  EXPECT_EQ("OK", client_("SELECT docs"));
}

TEST_F(SyncedTurns, OneAfterTheOtherGetNumbersOfTheirOwn) {
  const uint64_t before = server_->store().stats().last_revision;
  for (int i = 0; i < 5; ++i) {
    begin("INCR visits");
    server_->begin_commit();
    server_->end_turn();
    EXPECT_EQ("(integer) " + std::to_string(i + 1), client_.receive());
  }
  EXPECT_EQ(before + 5, server_->store().stats().last_revision);
}

class UnsyncedTurns : public SyncedTurns {
 protected:
  UnsyncedTurns() : SyncedTurns(Durability::kNormal) {}
};

TEST_F(UnsyncedTurns, DoNotWaitForTheDisk) {
  begin("SET key value");
  EXPECT_FALSE(server_->must_sync());
  server_->end_turn();
  EXPECT_EQ("OK", client_.receive());
}

}  // namespace
}  // namespace lapse::server
