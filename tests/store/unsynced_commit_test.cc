// Transaction::commit_unsynced() and Store::wait_durable(): a commit now, and the disk later.

#include "test_stores.h"

namespace lapse {
namespace {

using UnsyncedCommit = EveryStore;
INSTANTIATE_STORE_TESTS(UnsyncedCommit);

TEST_P(UnsyncedCommit, IsACommitOnceItIsDurable) {
  const Family docs = past();
  uint64_t revision = 0;
  {
    Transaction transaction = must(store().begin());
    must(transaction.put("session", "ada", 10s));
    must(transaction.in(docs).put("motto", "flows"));
    revision = transaction.revision();
    EXPECT_EQ(revision, must(transaction.commit_unsynced()));
    EXPECT_EQ("ada", get(must(store().begin()), "session"));  // for other transactions, at once
  }
  EXPECT_OK(store().wait_durable(revision));
  EXPECT_EQ("ada", get(store(), "session"));
  EXPECT_EQ(kStart + 10'000, deadline(store(), "session"));
  EXPECT_EQ("flows[1000,)", history(docs, "motto"));
  reopen();
  EXPECT_EQ("ada", get(store(), "session"));
  EXPECT_OK(store().verify());
}

TEST_P(UnsyncedCommit, EndsTheTransaction) {
  Transaction transaction = must(store().begin());
  must(transaction.put("key", "value"));
  must(transaction.commit_unsynced());
  EXPECT_CODE(kInvalidArgument, transaction.put("key", "other"));
  EXPECT_CODE(kInvalidArgument, transaction.commit_unsynced());
  EXPECT_CODE(kInvalidArgument, transaction.commit());
}

TEST_P(UnsyncedCommit, ThatHasNotHappenedCannotBeWaitedFor) {
  must(store().put("key", "value"));
  const uint64_t last = store().stats().last_revision;
  EXPECT_OK(store().wait_durable(0));
  EXPECT_OK(store().wait_durable(last));
  EXPECT_COMPLAINT(kInvalidArgument, store().wait_durable(last + 1), std::to_string(last + 1),
                   "has not happened");
}

class AtFull : public StoreTest {
 protected:
  AtFull() : StoreTest(file_config()) { options_.durability = Durability::kFull; }
};

TEST_F(AtFull, AnUnsyncedCommitIsHiddenFromReadersUntilItIsDurable) {
  must(store().put("key", "old"));
  Transaction transaction = must(store().begin());
  must(transaction.put("key", "new"));
  const uint64_t revision = must(transaction.commit_unsynced());
  EXPECT_EQ("old", get(store(), "key"));
  EXPECT_EQ(revision - 1, store().stats().durable_revision);
  EXPECT_OK(store().wait_durable(revision));
  EXPECT_EQ("new", get(store(), "key"));
  EXPECT_EQ(revision, store().stats().durable_revision);
}

// Handles find a family's rows by what is in memory, which must not be ahead of what snapshots see.
TEST_F(AtFull, OneThatChangesFamiliesIsDurableAtOnce) {
  must(store().put("key", "value"));
  {
    Transaction transaction = must(store().begin());
    must(transaction.create_family("docs"));
    const uint64_t revision = must(transaction.commit_unsynced());
    EXPECT_EQ(revision, store().stats().durable_revision);
    EXPECT_OK(must(store().family("docs")).put("motto", "everything flows"));
  }
  Transaction transaction = must(store().begin());
  must(transaction.clear());
  const uint64_t revision = must(transaction.commit_unsynced());
  EXPECT_EQ(revision, store().stats().durable_revision);
  EXPECT_EQ("", contents(store()));
}

}  // namespace
}  // namespace lapse
