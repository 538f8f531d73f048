// Counters, integrity, sync, checkpoint, memory.

#include <fstream>

#include "c_store.h"

namespace lapse {
namespace {

TEST(CStats, CountWhatWasDone) {
  const TempDir dir;
  const auto kv = open_store(dir.file("my.db").c_str());
  const KVStoreStats fresh = stats(kv.get());
  EXPECT_EQ(0U, fresh.nPuts + fresh.nGets + fresh.nDeletes + fresh.nIterations + fresh.nErrors +
                    fresh.nBytesRead + fresh.nBytesWritten + fresh.nWalCommits + fresh.nCheckpoints +
                    fresh.nTtlExpired + fresh.nTtlPurged);
  put(kv.get(), "key", "value");
  put(kv.get(), "expired", "v", kvstore_now_ms() - 1000);
  put(kv.get(), "due", "v", kvstore_now_ms() - 1000);
  kvstore_put_if_absent(kv.get(), "key", 3, "other", 5, 0, nullptr);  // writes nothing
  get(kv.get(), "key");
  get(kv.get(), "expired");
  get(kv.get(), "absent");
  kvstore_purge_expired(kv.get(), nullptr);
  erase(kv.get(), "key");
  erase(kv.get(), "key");
  kvstore_commit(kv.get());  // an error
  KVIterator* it = nullptr;
  kvstore_iterator_create(kv.get(), &it);
  kvstore_iterator_close(it);
  kvstore_checkpoint(kv.get(), KVSTORE_CHECKPOINT_FULL, nullptr, nullptr);
  const KVStoreStats now = stats(kv.get());
  EXPECT_EQ(3U, now.nPuts);
  EXPECT_EQ(3U, now.nGets);
  EXPECT_EQ(1U, now.nDeletes);
  EXPECT_EQ(1U, now.nIterations);
  EXPECT_EQ(1U, now.nErrors) << "NOTFOUND is none";
  EXPECT_EQ(5U, now.nBytesRead);
  EXPECT_EQ(8U + 8U + 4U, now.nBytesWritten);
  EXPECT_GE(now.nWalCommits, 5U);
  EXPECT_EQ(1U, now.nCheckpoints);
  EXPECT_EQ(1U, now.nTtlExpired);
  EXPECT_EQ(1U, now.nTtlPurged);
  EXPECT_GT(now.nDbPages, 0U);
}

// The same rule, and the same numbers, as in bindings/python/tests/test_kvstore.py.
TEST(CStats, CountOnlyConditionalWritesThatWereMade) {
  const auto kv = open_store();
  put(kv.get(), "k", "value");
  kvstore_stats_reset(kv.get());
  for (int i = 0; i < 2; ++i) kvstore_put_if_absent(kv.get(), "a", 1, "1", 1, 0, nullptr);
  for (int i = 0; i < 2; ++i) kvstore_compare_and_set(kv.get(), "k", 1, "value", 5, "new", 3, 0, nullptr);
  kvstore_increment(kv.get(), "n", 1, 12, 0, nullptr);
  for (int i = 0; i < 2; ++i) kvstore_compare_and_delete(kv.get(), "k", 1, "new", 3, nullptr);
  kvstore_clear(kv.get());
  const KVStoreStats now = stats(kv.get());
  EXPECT_EQ(3U, now.nPuts);
  EXPECT_EQ(2U + 4U + 3U, now.nBytesWritten);
  EXPECT_EQ(1U, now.nDeletes);
  EXPECT_EQ(0U, now.nGets + now.nErrors);
}

TEST(CStats, ResetBeginsAnew) {
  const TempDir dir;
  const auto kv = open_store(dir.file("my.db").c_str());
  put(kv.get(), "key", "value");
  get(kv.get(), "key");
  kvstore_commit(kv.get());
  EXPECT_EQ(KVSTORE_OK, kvstore_stats_reset(kv.get()));
  const KVStoreStats now = stats(kv.get());
  EXPECT_EQ(0U, now.nPuts + now.nGets + now.nErrors + now.nBytesRead + now.nBytesWritten + now.nWalCommits);
  EXPECT_GT(now.nDbPages, 0U) << "a size is not a count";
  put(kv.get(), "key", "value");
  EXPECT_EQ(1U, stats(kv.get()).nPuts);
}

TEST(CMaintenance, IntegrityCheckOfASoundStore) {
  const auto kv = open_store();
  put(kv.get(), "key", "value", kvstore_now_ms() + kHourMs);
  char* message = reinterpret_cast<char*>(1);
  EXPECT_EQ(KVSTORE_OK, kvstore_integrity_check(kv.get(), &message));
  EXPECT_EQ(nullptr, message);
  EXPECT_EQ(KVSTORE_OK, kvstore_integrity_check(kv.get(), nullptr));
  ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 1));
  EXPECT_EQ(KVSTORE_OK, kvstore_integrity_check(kv.get(), nullptr)) << "also in a transaction";
  EXPECT_EQ(KVSTORE_OK, kvstore_rollback(kv.get()));
}

TEST(CMaintenance, IntegrityCheckOfADamagedStore) {
  const TempDir dir;
  const std::string path = dir.file("my.db");
  {
    const auto kv = open_store(path.c_str());
    for (int i = 0; i < 200; ++i) put(kv.get(), numbered(i), std::string(100, 'v'));
    ASSERT_EQ(KVSTORE_OK, kvstore_checkpoint(kv.get(), KVSTORE_CHECKPOINT_TRUNCATE, nullptr, nullptr));
  }
  std::string bytes;
  {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  size_t at = bytes.find(std::string(100, 'v'));
  ASSERT_NE(std::string::npos, at);
  for (; at != std::string::npos; at = bytes.find(std::string(100, 'v'))) bytes[at + 50] = 'w';
  std::ofstream(path, std::ios::binary) << bytes;

  const auto kv = open_store(path.c_str());
  char* message = nullptr;
  EXPECT_EQ(KVSTORE_CORRUPT, kvstore_integrity_check(kv.get(), &message));
  ASSERT_NE(nullptr, message);
  EXPECT_STREQ(message, kvstore_errmsg(kv.get()));
  snkv_free(message);
  EXPECT_EQ("code " + std::to_string(KVSTORE_CORRUPT), get(kv.get(), numbered(0)));
}

TEST(CMaintenance, SyncVacuumCheckpoint) {
  const TempDir dir;
  const auto kv = open_store(dir.file("my.db").c_str());
  put(kv.get(), "key", "value");
  EXPECT_EQ(KVSTORE_OK, kvstore_sync(kv.get()));
  EXPECT_EQ(KVSTORE_OK, kvstore_incremental_vacuum(kv.get(), 0));
  EXPECT_EQ(KVSTORE_OK, kvstore_incremental_vacuum(kv.get(), 100));
  EXPECT_EQ(KVSTORE_ERROR, kvstore_incremental_vacuum(kv.get(), -1));
  for (const int mode : {KVSTORE_CHECKPOINT_PASSIVE, KVSTORE_CHECKPOINT_FULL, KVSTORE_CHECKPOINT_RESTART,
                         KVSTORE_CHECKPOINT_TRUNCATE}) {
    int log = -1;
    int done = -1;
    EXPECT_EQ(KVSTORE_OK, kvstore_checkpoint(kv.get(), mode, &log, &done));
    EXPECT_GE(log, 0);
    EXPECT_EQ(log, done);
  }
  EXPECT_EQ(KVSTORE_ERROR, kvstore_checkpoint(kv.get(), 4, nullptr, nullptr));
  EXPECT_EQ(KVSTORE_ERROR, kvstore_checkpoint(kv.get(), -1, nullptr, nullptr));
}

TEST(CMaintenance, InATransaction) {
  const auto kv = open_store();
  ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 1));
  put(kv.get(), "key", "value");
  EXPECT_EQ(KVSTORE_OK, kvstore_sync(kv.get()));
  EXPECT_EQ(KVSTORE_LOCKED, kvstore_checkpoint(kv.get(), KVSTORE_CHECKPOINT_FULL, nullptr, nullptr));
  EXPECT_EQ(KVSTORE_OK, kvstore_rollback(kv.get())) << "none of them ended it";
  EXPECT_EQ(kNotFound, get(kv.get(), "key"));
}

TEST(CMemory, MallocAndFree) {
  void* memory = snkv_malloc(100);
  ASSERT_NE(nullptr, memory);
  snkv_free(memory);
  memory = snkv_malloc(0);
  EXPECT_NE(nullptr, memory);
  sqlite3_free(memory);
  snkv_free(nullptr);
  sqlite3_free(nullptr);
}

TEST(CMemory, NowIsMillisecondsSince1970) {
  EXPECT_GT(kvstore_now_ms(), 1'700'000'000'000);
  EXPECT_LT(kvstore_now_ms(), 4'000'000'000'000);
}

}  // namespace
}  // namespace lapse
