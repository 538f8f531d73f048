// Transactions: one per handle, joined by single operations, never ended by an expired key.

#include <chrono>
#include <thread>

#include "c_store.h"

namespace lapse {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class CTransaction : public testing::Test {
 protected:
  Owned<KVStore> open(int busy_timeout_ms = 0) {
    return open_store(dir.file("my.db").c_str(), {.busyTimeout = busy_timeout_ms});
  }
  const TempDir dir;
  const Owned<KVStore> kv = open();
  const Owned<KVStore> other = open();  // sees what is committed
};

TEST_F(CTransaction, CommitMakesAllOfItVisible) {
  const auto cf = create_family(kv, "f");
  ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 1));
  put(kv.get(), "a", "1");
  put(cf.get(), "b", "2");
  EXPECT_EQ("1", get(kv.get(), "a")) << "its own writes";
  EXPECT_EQ("2", get(cf.get(), "b"));
  EXPECT_EQ(1, count(kv.get()));
  EXPECT_EQ(kNotFound, get(other.get(), "a"));
  ASSERT_EQ(KVSTORE_OK, kvstore_commit(kv.get()));
  EXPECT_EQ("1", get(other.get(), "a"));
  EXPECT_EQ("2", get(cf.get(), "b"));
}

TEST_F(CTransaction, RollbackLeavesNothing) {
  put(kv.get(), "a", "1");
  ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 1));
  put(kv.get(), "a", "2");
  put(kv.get(), "b", "2");
  EXPECT_EQ(KVSTORE_OK, kvstore_clear(kv.get()));
  ASSERT_EQ(KVSTORE_OK, kvstore_rollback(kv.get()));
  EXPECT_EQ("1", get(kv.get(), "a"));
  EXPECT_EQ(kNotFound, get(kv.get(), "b"));
}

TEST_F(CTransaction, OneAtATime) {
  EXPECT_EQ(KVSTORE_ERROR, kvstore_commit(kv.get()));
  EXPECT_EQ(KVSTORE_ERROR, kvstore_rollback(kv.get()));
  for (const int write : {0, 1}) {
    ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), write));
    EXPECT_EQ(KVSTORE_ERROR, kvstore_begin(kv.get(), 0));
    EXPECT_EQ(KVSTORE_ERROR, kvstore_begin(kv.get(), 1));
    EXPECT_EQ(KVSTORE_OK, kvstore_rollback(kv.get()));
    EXPECT_EQ(KVSTORE_ERROR, kvstore_rollback(kv.get()));
  }
}

TEST_F(CTransaction, OneForReadingSeesOneMomentAndRefusesWrites) {
  put(kv.get(), "a", "1");
  ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 0));
  put(other.get(), "a", "2");
  EXPECT_EQ("1", get(kv.get(), "a"));
  EXPECT_EQ(KVSTORE_READONLY, put(kv.get(), "a", "3"));
  EXPECT_EQ(KVSTORE_READONLY, erase(kv.get(), "a"));
  EXPECT_EQ(KVSTORE_READONLY, kvstore_purge_expired(kv.get(), nullptr));
  EXPECT_EQ("1", get(kv.get(), "a"));
  ASSERT_EQ(KVSTORE_OK, kvstore_commit(kv.get()));
  EXPECT_EQ("2", get(kv.get(), "a"));
}

TEST_F(CTransaction, ACallThatFailsLeavesItAsItWas) {
  ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 1));
  put(kv.get(), "a", "not a number");
  int64_t sum = 0;
  EXPECT_EQ(KVSTORE_ERROR, kvstore_increment(kv.get(), "a", 1, 1, 0, &sum));
  EXPECT_EQ(KVSTORE_NOTFOUND, erase(kv.get(), "absent"));
  EXPECT_EQ(KVSTORE_OK, kvstore_commit(kv.get()));
  EXPECT_EQ("not a number", get(other.get(), "a"));
}

// The two that SNKV gets wrong: both committed what was not theirs to commit.

TEST_F(CTransaction, AGetThatMeetsAnExpiredKeyDoesNotCommitIt) {
  put(kv.get(), "expired", "v", kvstore_now_ms() - 1000);
  put(kv.get(), "kept", "before");
  ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 1));
  put(kv.get(), "kept", "inside");
  EXPECT_EQ(kNotFound, get(kv.get(), "expired"));
  int64_t left = 0;
  int exists = 0;
  EXPECT_EQ(KVSTORE_NOTFOUND, kvstore_ttl_remaining(kv.get(), "expired", 7, &left));
  EXPECT_EQ(KVSTORE_OK, kvstore_exists(kv.get(), "expired", 7, &exists));
  KVIterator* it = nullptr;
  ASSERT_EQ(KVSTORE_OK, kvstore_iterator_create(kv.get(), &it));
  EXPECT_EQ("kept=inside", walk(it));
  kvstore_iterator_close(it);
  EXPECT_EQ("before", get(other.get(), "kept")) << "it is still open";
  ASSERT_EQ(KVSTORE_OK, kvstore_rollback(kv.get())) << "and can be rolled back";
  EXPECT_EQ("before", get(kv.get(), "kept"));
}

TEST_F(CTransaction, APurgeDoesNotCommitIt) {
  for (int i = 0; i < 600; ++i) put(kv.get(), numbered(i), "v", kvstore_now_ms() - 1000);
  put(kv.get(), "kept", "before");
  int deleted = -1;
  ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 1));
  put(kv.get(), "kept", "inside");
  EXPECT_EQ(KVSTORE_OK, kvstore_purge_expired(kv.get(), &deleted));
  EXPECT_EQ(600, deleted);
  EXPECT_EQ("before", get(other.get(), "kept")) << "it is still open";
  ASSERT_EQ(KVSTORE_OK, kvstore_rollback(kv.get()));
  EXPECT_EQ("before", get(kv.get(), "kept"));
  EXPECT_EQ(KVSTORE_OK, kvstore_purge_expired(kv.get(), &deleted));
  EXPECT_EQ(600, deleted) << "the purge was rolled back with the rest";
}

// ----------------------------------------------------------------------------------------- two handles

TEST_F(CTransaction, ASecondHandleInTheSameThreadIsBusyAtOnce) {
  const auto patient = open(60'000);
  ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 1));
  for (KVStore* second : {other.get(), patient.get()}) {
    const auto start = steady_clock::now();
    EXPECT_EQ(KVSTORE_BUSY, kvstore_begin(second, 1));
    EXPECT_EQ(KVSTORE_BUSY, put(second, "a", "1"));
    EXPECT_LT(steady_clock::now() - start, milliseconds(30'000)) << "it would wait for itself";
    EXPECT_EQ(kNotFound, get(second, "a")) << "reads go on";
  }
  ASSERT_EQ(KVSTORE_OK, kvstore_commit(kv.get()));
  EXPECT_EQ(KVSTORE_OK, kvstore_begin(other.get(), 1));
  EXPECT_EQ(KVSTORE_OK, kvstore_commit(other.get()));
}

TEST_F(CTransaction, ASecondHandleInAnotherThreadIsBusyAfterItsTimeout) {
  const auto patient = open(300);
  ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 1));
  std::thread([&] {
    auto start = steady_clock::now();
    EXPECT_EQ(KVSTORE_BUSY, kvstore_begin(patient.get(), 1));
    EXPECT_GE(steady_clock::now() - start, milliseconds(300));
    start = steady_clock::now();
    EXPECT_EQ(KVSTORE_BUSY, kvstore_begin(other.get(), 1));
    EXPECT_EQ(KVSTORE_BUSY, put(other.get(), "a", "1"));
    EXPECT_EQ(KVSTORE_BUSY, kvstore_checkpoint(other.get(), 0, nullptr, nullptr));
    EXPECT_LT(steady_clock::now() - start, milliseconds(30'000));
  }).join();
  EXPECT_EQ(KVSTORE_OK, kvstore_rollback(kv.get()));
}

TEST_F(CTransaction, APatientHandleGetsItsTurn) {
  const auto patient = open(60'000);
  ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 1));
  put(kv.get(), "a", "first");
  std::thread waiting([&] {
    EXPECT_EQ(KVSTORE_OK, kvstore_begin(patient.get(), 1)) << kvstore_errmsg(patient.get());
    EXPECT_EQ("first", get(patient.get(), "a"));
    EXPECT_EQ(KVSTORE_OK, kvstore_commit(patient.get()));
  });
  EXPECT_EQ(KVSTORE_OK, kvstore_commit(kv.get()));
  waiting.join();
}

TEST_F(CTransaction, EachHandleHasItsOwn) {
  put(kv.get(), "a", "1");
  ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 1));
  ASSERT_EQ(KVSTORE_OK, kvstore_begin(other.get(), 0));
  put(kv.get(), "a", "2");
  EXPECT_EQ("1", get(other.get(), "a"));
  ASSERT_EQ(KVSTORE_OK, kvstore_commit(kv.get()));
  EXPECT_EQ("1", get(other.get(), "a"));
  ASSERT_EQ(KVSTORE_OK, kvstore_commit(other.get()));
  EXPECT_EQ("2", get(other.get(), "a"));
}

// It is the handle's, not the thread's.
TEST_F(CTransaction, OtherThreadsOnTheHandleJoinIt) {
  ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 1));
  std::thread([&] {
    EXPECT_EQ(KVSTORE_OK, put(kv.get(), "a", "1"));
    EXPECT_EQ(KVSTORE_ERROR, kvstore_begin(kv.get(), 1));
  }).join();
  EXPECT_EQ("1", get(kv.get(), "a"));
  EXPECT_EQ(kNotFound, get(other.get(), "a"));
  std::thread([&] { EXPECT_EQ(KVSTORE_OK, kvstore_commit(kv.get())); }).join();
  EXPECT_EQ("1", get(other.get(), "a"));
}

}  // namespace
}  // namespace lapse
