// Many threads on one handle, and on several.

#include <atomic>
#include <thread>

#include "c_store.h"

namespace lapse {
namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 300;

template <typename Work>
void in_threads(Work work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&work, i] { work(i); });
  for (std::thread& thread : threads) thread.join();
}

// Nobody is BUSY because of another thread on the same handle, though busyTimeout is 0.
TEST(CThreads, ShareAHandle) {
  const TempDir dir;
  const auto kv = open_store(dir.file("my.db").c_str());
  in_threads([&](int thread) {
    for (int i = 0; i < kRounds; ++i) {
      const std::string key = std::to_string(thread) + ":" + std::to_string(i);
      EXPECT_EQ(KVSTORE_OK, put(kv.get(), key, key));
      EXPECT_EQ(key, get(kv.get(), key));
      EXPECT_EQ(KVSTORE_OK, put(kv.get(), "expired", "v", kvstore_now_ms() - 1000));
      EXPECT_EQ(kNotFound, get(kv.get(), "expired"));  // which may remove it
      EXPECT_EQ(KVSTORE_OK, kvstore_increment(kv.get(), "n", 1, 1, 0, nullptr));
      if (i % 50 == 0) {
        EXPECT_EQ(KVSTORE_OK, kvstore_purge_expired(kv.get(), nullptr));
      }
    }
  });
  EXPECT_EQ(std::to_string(kThreads * kRounds), get(kv.get(), "n"));
  EXPECT_EQ(kThreads * kRounds + 1, count(kv.get()));
}

// The handle's transaction is everyone's: what is done meanwhile is in it, or after it, and never lost or half done.
TEST(CThreads, ShareATransaction) {
  const auto kv = open_store();
  std::atomic<bool> done = false;
  std::thread transactions([&] {
    for (int i = 0; i < kRounds; ++i) {
      EXPECT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 1));
      EXPECT_EQ(KVSTORE_OK, kvstore_increment(kv.get(), "n", 1, 1, 0, nullptr));
      EXPECT_EQ(KVSTORE_OK, kvstore_commit(kv.get()));
    }
    done = true;
  });
  int64_t mine = 0;
  while (!done) {
    EXPECT_EQ(KVSTORE_OK, kvstore_increment(kv.get(), "n", 1, 1, 0, nullptr));
    ++mine;
    KVIterator* it = nullptr;
    EXPECT_EQ(KVSTORE_OK, kvstore_iterator_create(kv.get(), &it));
    (void)kvstore_iterator_eof(it);
    (void)kvstore_iterator_next(it);  // an error if its transaction has ended
    kvstore_iterator_close(it);
    get(kv.get(), "n");
  }
  transactions.join();
  EXPECT_EQ(std::to_string(kRounds + mine), get(kv.get(), "n"));
}

TEST(CThreads, EachWithItsOwnHandleAndTransactions) {
  const TempDir dir;
  const std::string path = dir.file("my.db");
  const auto kv = open_store(path.c_str());
  in_threads([&](int) {
    const auto own = open_store(path.c_str(), {.busyTimeout = 60'000});
    for (int i = 0; i < kRounds / 3; ++i) {
      EXPECT_EQ(KVSTORE_OK, kvstore_begin(own.get(), 1)) << kvstore_errmsg(own.get());
      EXPECT_EQ(KVSTORE_OK, kvstore_increment(own.get(), "n", 1, 1, 0, nullptr));
      EXPECT_EQ(KVSTORE_OK, i % 5 == 4 ? kvstore_rollback(own.get()) : kvstore_commit(own.get()));
    }
  });
  EXPECT_EQ(std::to_string(kThreads * (kRounds / 3) * 4 / 5), get(kv.get(), "n"));
}

TEST(CThreads, MessagesAreOfTheirOwnThread) {
  const auto kv = open_store();
  in_threads([&](int thread) {
    const std::string expected = "key: a length of -" + std::to_string(thread + 1) + " is negative";
    for (int i = 0; i < kRounds; ++i) {
      EXPECT_EQ(KVSTORE_ERROR, kvstore_delete(kv.get(), "k", -thread - 1));
      EXPECT_EQ(expected, kvstore_errmsg(kv.get()));
    }
  });
  EXPECT_EQ(static_cast<uint64_t>(kThreads * kRounds), stats(kv.get()).nErrors);
}

}  // namespace
}  // namespace lapse
