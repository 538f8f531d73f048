// Promise 4: a plain read of an expired key removes it, in a transaction of its own, if the writer is free right
// then; it never waits, and never writes where it must not.

#include <thread>

#include "test_stores.h"

namespace lapse {
namespace {

class LazyRemoval : public StoreTest {
 protected:
  LazyRemoval() : StoreTest(file_config()) {}

  void put_expired(Keyspace& keyspace, std::string_view key) {
    must(keyspace.put(key, "value", Lifetime::until(kStart)));
  }
  // Whether it is still stored, hidden or not: by turning the clock back to when it was visible.
  bool is_stored(const Reader& reader, std::string_view key) {
    const int64_t now = clock_.now_ms();
    clock_.set(kStart - 1);
    const bool found = exists(reader, key);
    clock_.set(now);
    return found;
  }
  uint64_t removed() { return store().stats().expired_removed; }
  uint64_t revision() { return store().stats().last_revision; }
};

TEST_F(LazyRemoval, EveryPlainReadRemovesWhatHasExpired) {
  const std::vector<std::function<void()>> reads = {
      [&] { must(store().get("key")); },
      [&] { must(store().get_entry("key")); },
      [&] {
        must(store().multi_get(std::vector<std::string_view>{"other", "key"}));
      },
      [&] { must(store().exists("key")); },
      [&] { must(store().ttl("key")); },
      [&] { must(store().deadline_of("key")); },
      [&] { contents(store()); },
      [&] { reversed_contents(store()); },
  };
  must(store().put("other", "value"));
  for (size_t i = 0; i < reads.size(); ++i) {
    put_expired(store(), "key");
    const uint64_t before = removed();
    reads[i]();
    EXPECT_EQ(before + 1, removed()) << "read " << i;
    EXPECT_FALSE(is_stored(store(), "key")) << "read " << i;
    EXPECT_EQ(0u, purge(store())) << "read " << i << ": the expiry entry is still there";
  }
  EXPECT_OK(store().verify());
}

TEST_F(LazyRemoval, TakesOneTransactionOfItsOwn) {
  put_expired(store(), "key");
  const uint64_t before = revision();
  EXPECT_EQ(std::nullopt, get(store(), "key"));
  EXPECT_EQ(before + 1, revision());
  EXPECT_EQ(std::nullopt, get(store(), "key"));
  EXPECT_EQ(before + 1, revision()) << "there was nothing more to remove";
}

TEST_F(LazyRemoval, ReadsCountHowOftenTheyMetAnExpiredKey) {
  put_expired(store(), "key");
  const uint64_t before = store().stats().expired_hidden;
  EXPECT_EQ(std::nullopt, get(store(), "key"));
  EXPECT_EQ(before + 1, store().stats().expired_hidden);
}

TEST_F(LazyRemoval, KeepsTheHistory) {
  Family past = this->past();
  must(past.put("key", "value", 1s));
  clock_.advance(5'000);
  EXPECT_EQ(std::nullopt, get(past, "key"));
  EXPECT_EQ(1u, removed());
  EXPECT_EQ("value[1000,2000)expired", history(past, "key"));
  EXPECT_EQ("value", get_at(past, "key", 1'999));
  EXPECT_EQ(std::nullopt, get_at(past, "key", 2'000));
}

TEST_F(LazyRemoval, KeepsTheCount) {
  Family counted = family("counted", {.counted = true});
  must(counted.put("a", "1"));
  must(counted.put("b", "2", 1s));
  clock_.advance(1'000);
  EXPECT_EQ(1u, count(counted));
  EXPECT_EQ(std::nullopt, get(counted, "b"));
  EXPECT_EQ(1u, count(counted));
  EXPECT_EQ(1u, must(counted.estimated_count()));
  EXPECT_OK(store().verify());
}

TEST_F(LazyRemoval, NeverWaitsForAnotherThreadsTransaction) {
  put_expired(store(), "key");
  Transaction transaction = must(store().begin());
  must(transaction.put("mine", "value"));
  std::thread([&] {
    EXPECT_EQ(std::nullopt, get(store(), "key"));
    EXPECT_EQ("", contents(store()));
  }).join();
  EXPECT_TRUE(is_stored(store(), "key"));
  must(transaction.commit());
  EXPECT_EQ("mine", keys(store()));
  EXPECT_FALSE(is_stored(store(), "key"));
}

TEST_F(LazyRemoval, NeverTouchesTheOpenTransactionOfItsOwnThread) {
  put_expired(store(), "key");
  {
    Transaction transaction = must(store().begin());
    must(transaction.put("mine", "value"));
    EXPECT_EQ(std::nullopt, get(store(), "key"));
    EXPECT_EQ("mine", keys(transaction));
  }
  EXPECT_TRUE(is_stored(store(), "key"));
  EXPECT_EQ(std::nullopt, get(store(), "mine"));
}

TEST_F(LazyRemoval, ReadInATransactionRemovesNothing) {
  put_expired(store(), "key");
  const uint64_t before = revision();
  Transaction transaction = must(store().begin());
  EXPECT_FALSE(visible(transaction, "key"));
  EXPECT_EQ(before, must(transaction.commit()));
  EXPECT_TRUE(is_stored(store(), "key"));
}

TEST_F(LazyRemoval, ReadInASnapshotRemovesNothing) {
  put_expired(store(), "key");
  const uint64_t before = revision();
  {
    const Snapshot snapshot = must(store().snapshot());
    EXPECT_FALSE(visible(snapshot, "key"));
  }
  EXPECT_EQ(before, revision());
  EXPECT_TRUE(is_stored(store(), "key"));
}

TEST_F(LazyRemoval, ReadOnlyStoreHidesAndWritesNothing) {
  put_expired(store(), "key");
  must(store().put("other", "value"));
  close();
  options_.read_only = true;
  EXPECT_FALSE(visible(store(), "key"));
  EXPECT_FALSE(visible(static_cast<const Reader&>(store()), "key"));
  EXPECT_EQ(0u, removed());
  EXPECT_TRUE(is_stored(store(), "key"));
  EXPECT_CODE(kReadOnly, store().purge_expired());
}

TEST_F(LazyRemoval, NeverSyncs) {
  options_.durability = Durability::kFull;
  put_expired(store(), "key");
  const StoreStats before = store().stats();
  EXPECT_EQ(std::nullopt, get(store(), "key"));
  EXPECT_EQ(before.syncs, store().stats().syncs);
  EXPECT_EQ(std::nullopt, get(store(), "key")) << "and hidden it is in any case";
}

// ---------------------------------------------------------------------------------- doubt about the time

class DoubtfulClock final : public Clock {
 public:
  int64_t now_ms() override { return now_ms_; }
  bool in_doubt() override { return doubt_; }

  int64_t now_ms_ = kStart;
  bool doubt_ = false;
};

class LazyRemovalInDoubt : public LazyRemoval {
 protected:
  LazyRemovalInDoubt() { options_.clock = &doubtful_; }
  DoubtfulClock doubtful_;
};

TEST_F(LazyRemovalInDoubt, NothingIsRemoved) {
  options_.sweep_per_write = 10;
  must(store().put("a", "1", 1s));
  must(store().put("b", "2", 1s));
  doubtful_.now_ms_ += 1'000;
  doubtful_.doubt_ = true;
  EXPECT_TRUE(store().stats().clock_in_doubt);
  EXPECT_EQ(std::nullopt, get(store(), "a"));
  EXPECT_EQ("", contents(store()));
  EXPECT_EQ(0u, purge(store()));
  EXPECT_EQ(0u, must(store().purge_all_expired()).removed);
  must(store().put("c", "3"));
  EXPECT_EQ("c=3", contents(store()));
  EXPECT_EQ(0u, removed());
  doubtful_.now_ms_ = kStart;
  doubtful_.doubt_ = false;
  EXPECT_EQ("a=1 b=2 c=3", contents(store())) << "the clock was wrong: nothing was lost";
}

TEST_F(LazyRemovalInDoubt, AnExpiredKeyMayBeOverwritten) {
  must(store().put("a", "1", 1s));
  doubtful_.now_ms_ += 1'000;
  doubtful_.doubt_ = true;
  EXPECT_TRUE(must(store().put_if_absent("a", "2")));
  EXPECT_EQ("a=2", contents(store()));
  EXPECT_OK(store().verify());
}

// ------------------------------------------------------------------------------------------- iterators

TEST_F(LazyRemoval, IteratorRemovesWhatItCameAcrossWhenItGoes) {
  for (int i = 0; i < 1'000; ++i) {
    must(store().put(numbered(i), "value", i % 2 == 0 ? Lifetime::until(kStart) : Lifetime()));
  }
  {
    Iterator iterator = must(store().iterate({.from = numbered(0), .to = numbered(500)}));
    int seen = 0;
    for (; iterator.valid(); iterator.next()) ++seen;
    EXPECT_EQ(250, seen);
    EXPECT_EQ(0u, removed());
  }
  EXPECT_EQ(250u, removed());
  EXPECT_EQ(250u, purge(store()));
  EXPECT_OK(store().verify());
}

TEST_F(LazyRemoval, IteratorRemovesNothingThatWasWrittenAgain) {
  put_expired(store(), "a");
  put_expired(store(), "b");
  put_expired(store(), "c");
  {
    Iterator iterator = must(store().iterate());
    EXPECT_FALSE(iterator.valid());
    must(store().put("b", "alive", 1s));
    must(store().put("c", "alive"));
  }
  EXPECT_EQ("b=alive c=alive", contents(store()));
  EXPECT_OK(store().verify());
}

}  // namespace
}  // namespace lapse
