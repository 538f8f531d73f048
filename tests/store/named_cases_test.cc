// The cases that the issue asks for by name, and what a crash leaves of a lifetime.

#include <unistd.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <thread>

#include "test_stores.h"

namespace lapse {
namespace {

class NamedCases : public StoreTest {
 protected:
  NamedCases() : StoreTest(file_config()) {}
};

TEST_F(NamedCases, basic_put_get_expiry) {
  must(store().put("key", "value", 10s));
  EXPECT_EQ("value", get(store(), "key"));
  clock_.advance(9'999);
  EXPECT_EQ("value", get(store(), "key"));
  clock_.advance(1);
  EXPECT_EQ(std::nullopt, get(store(), "key"));
}

TEST_F(NamedCases, lazy_delete_on_get) {
  must(store().put("key", "value", 10s));
  clock_.advance(10'000);
  EXPECT_EQ(0u, store().stats().expired_removed);
  EXPECT_EQ(std::nullopt, get(store(), "key"));
  EXPECT_EQ(1u, store().stats().expired_removed);
  EXPECT_EQ(0u, purge(store())) << "the expiry entry went with it";
  clock_.set(kStart);
  EXPECT_EQ(std::nullopt, get(store(), "key")) << "removed, not only hidden";
}

TEST_F(NamedCases, put_overwrites_ttl) {
  must(store().put("key", "short", 10s));
  must(store().put("key", "long"));
  EXPECT_EQ(kForever, ttl(store(), "key"));
  clock_.advance(10'000);
  EXPECT_EQ("long", get(store(), "key"));
  EXPECT_EQ(0u, purge(store()));
  EXPECT_EQ("long", get(store(), "key"));
}

TEST_F(NamedCases, put_ttl_overwrites_put) {
  must(store().put("key", "long"));
  must(store().put("key", "short", 10s));
  EXPECT_EQ(10s, ttl(store(), "key"));
  clock_.advance(10'000);
  EXPECT_EQ(std::nullopt, get(store(), "key"));
}

TEST_F(NamedCases, put_ttl_change) {
  must(store().put("key", "first", 10s));
  must(store().put("key", "second", 20s));
  clock_.advance(10'000);
  EXPECT_EQ(0u, purge(store())) << "the first deadline counts no more";
  EXPECT_EQ("second", get(store(), "key"));
  must(store().put("key", "third", 1s));
  clock_.advance(1'000);
  EXPECT_EQ(std::nullopt, get(store(), "key"));
}

TEST_F(NamedCases, delete_ttl_key) {
  must(store().put("key", "value", 10s));
  EXPECT_TRUE(must(store().erase("key")));
  EXPECT_EQ(std::nullopt, get(store(), "key"));
  EXPECT_EQ("", expiring(store()));
  must(store().put("key", "again"));
  clock_.advance(10'000);
  EXPECT_EQ(0u, purge(store()));
  EXPECT_EQ("again", get(store(), "key"));
}

TEST_F(NamedCases, purge_empty) {
  PurgeResult result = must(store().purge_expired());
  EXPECT_EQ(0u, result.removed);
  EXPECT_FALSE(result.more_due);
  must(store().put("permanent", "value"));
  must(store().put("later", "value", 1h));
  result = must(store().purge_expired());
  EXPECT_EQ(0u, result.removed);
  EXPECT_FALSE(result.more_due);
}

TEST_F(NamedCases, purge_some_expired) {
  for (int i = 0; i < 10; ++i) must(store().put(numbered(i), "short", 1s));
  for (int i = 10; i < 20; ++i) must(store().put(numbered(i), "long", 1h));
  for (int i = 20; i < 30; ++i) must(store().put(numbered(i), "permanent"));
  clock_.advance(1'000);
  EXPECT_EQ(10u, purge(store()));
  EXPECT_EQ(20u, count(store()));
  EXPECT_EQ(0u, purge(store()));
}

TEST_F(NamedCases, purge_all_expired) {
  for (int i = 0; i < 600; ++i) must(store().put(numbered(i), "value", 1s));
  clock_.advance(1'000);
  EXPECT_EQ(600u, purge(store()));
  EXPECT_EQ("", contents(store()));
  clock_.set(kStart);
  EXPECT_EQ("", contents(store())) << "removed, not only hidden";
}

TEST_F(NamedCases, purge_order) {
  must(store().put("a", "third", 3s));
  must(store().put("b", "first", 1s));
  must(store().put("c", "second", 2s));
  clock_.advance(10'000);
  EXPECT_EQ(1u, purge(store(), {.limit = 1}));
  clock_.set(kStart);
  EXPECT_EQ("a c", keys(store()));
  clock_.advance(10'000);
  EXPECT_EQ(1u, purge(store(), {.limit = 1}));
  clock_.set(kStart);
  EXPECT_EQ("a", keys(store()));
}

TEST_F(NamedCases, ttl_remaining) {
  must(store().put("key", "value", 10s));
  EXPECT_EQ(10s, ttl(store(), "key"));
  clock_.advance(2'500);
  EXPECT_EQ(7'500ms, ttl(store(), "key"));
  clock_.advance(7'499);
  EXPECT_EQ(1ms, ttl(store(), "key"));
}

TEST_F(NamedCases, ttl_no_ttl_key) {
  must(store().put("key", "value"));
  EXPECT_EQ(kForever, ttl(store(), "key"));
  EXPECT_EQ(kNever, deadline(store(), "key"));
}

TEST_F(NamedCases, ttl_expired_key) {
  must(store().put("key", "value", 10s));
  clock_.advance(10'000);
  EXPECT_EQ(std::nullopt, ttl(store(), "key"));
}

TEST_F(NamedCases, ttl_nonexistent) {
  EXPECT_EQ(std::nullopt, ttl(store(), "key"));
  EXPECT_EQ(std::nullopt, must(store().deadline_of("key")));
}

TEST_F(NamedCases, transaction_put_ttl) {
  Transaction transaction = must(store().begin());
  must(transaction.put("key", "value", 10s));
  EXPECT_EQ("value", get(transaction, "key"));
  EXPECT_EQ(10s, ttl(transaction, "key"));
  EXPECT_EQ(std::nullopt, get(store(), "key"));
  must(transaction.commit());
  EXPECT_EQ(10s, ttl(store(), "key"));
  clock_.advance(10'000);
  EXPECT_EQ(std::nullopt, get(store(), "key"));
}

TEST_F(NamedCases, transaction_rollback) {
  must(store().put("kept", "before", 10s));
  Transaction transaction = must(store().begin());
  must(transaction.put("new", "value", 10s));
  must(transaction.put("kept", "after"));
  transaction.rollback();
  EXPECT_EQ("kept=before", contents(store()));
  EXPECT_EQ("kept@11000", expiring(store()));
}

TEST_F(NamedCases, cf_ttl) {
  Family sessions = family("sessions");
  must(sessions.put("key", "short", 10s));
  must(store().put("key", "permanent"));
  EXPECT_EQ(10s, ttl(sessions, "key"));
  EXPECT_EQ(kForever, ttl(store(), "key"));
  clock_.advance(10'000);
  EXPECT_EQ(std::nullopt, get(sessions, "key"));
  EXPECT_EQ("permanent", get(store(), "key"));
}

TEST_F(NamedCases, cf_drop_cleans_ttl) {
  Family sessions = family("sessions");
  for (int i = 0; i < 10; ++i) must(sessions.put(numbered(i), "value", 1s));
  must(store().drop_family("sessions"));
  sessions = family("sessions");
  EXPECT_EQ("", expiring(sessions));
  must(sessions.put(numbered(3), "permanent"));
  clock_.advance(1'000);
  EXPECT_EQ(0u, must(store().purge_all_expired()).removed);
  EXPECT_EQ("permanent", get(sessions, numbered(3)));
}

TEST_F(NamedCases, error_zero_ttl) {
  must(store().put("key", "before"));
  EXPECT_COMPLAINT(kInvalidArgument, store().put("key", "value", 0ms), "TTL", "0");
  EXPECT_COMPLAINT(kInvalidArgument, store().put("key", "value", -1s), "TTL", "-1000");
  EXPECT_EQ("before", get(store(), "key"));
}

TEST_F(NamedCases, reopen_persistence) {
  must(store().put("permanent", "value"));
  must(store().put("long", "value", 1h));
  must(store().put("short", "value", 1s));
  clock_.advance(500);
  reopen();
  EXPECT_EQ("short@2000 long@3601000", expiring(store()));
  EXPECT_EQ(kForever, ttl(store(), "permanent"));
  close();
  clock_.advance(500);
  EXPECT_EQ("long permanent", keys(store()));
  EXPECT_EQ(3'599s, ttl(store(), "long"));
}

// no_overhead_non_ttl_cf counts engine operations: see engine_cost_test.cc.

TEST_F(NamedCases, hundred_thousand_ttl_keys_purged_and_counted) {
  constexpr int kKeys = 100'000;
  for (int first = 0; first < kKeys; first += 1'000) {
    must(store().update([&](Transaction& transaction) {
      for (int i = first; i < first + 1'000; ++i) {
        LAPSE_TRY(transaction.put(numbered(i), "value", i % 2 == 0 ? 1s : 1h));
      }
      return Status();
    }));
  }
  EXPECT_EQ(uint64_t{kKeys}, count(store()));
  clock_.advance(1'000);
  EXPECT_EQ(uint64_t{kKeys / 2}, count(must(store().snapshot()))) << "hidden, purged or not";
  EXPECT_EQ(uint64_t{kKeys / 2}, purge(store()));
  EXPECT_EQ(uint64_t{kKeys / 2}, count(store()));
  EXPECT_EQ(0u, purge(store()));
  clock_.advance(3'600'000);
  EXPECT_EQ(uint64_t{kKeys / 2}, purge(store()));
  EXPECT_EQ(0u, count(store()));
  EXPECT_EQ(uint64_t{kKeys}, store().stats().expired_removed);
}

// -------------------------------------------------------------------------------------------- crashes

class Crashes : public NamedCases {
 protected:
  // Lets `work` have a store in a process of its own, which dies without closing anything.
  std::string before_crash(const std::function<void(Store&)>& work) {
    return in_child([&]() -> std::string {
      auto* leaked = new Store(must(Store::open(path(), options_)));
      work(*leaked);
      return "done";
    });
  }
};

TEST_F(Crashes, crash_before_commit) {
  ASSERT_EQ("done", before_crash([](Store& store) {
              must(store.put("old", "value", 10s));
              auto* leaked = new Transaction(must(store.begin()));
              must(leaked->put("new", "value", 10s));
              must(leaked->erase("old"));
            }));
  EXPECT_EQ("old", keys(store()));
  EXPECT_EQ("old@11000", expiring(store()));
  EXPECT_OK(store().verify());
}

TEST_F(Crashes, crash_after_commit) {
  ASSERT_EQ("done", before_crash([](Store& store) {
              must(store.put("overwritten", "first", 1s));
              must(store.update([](Transaction& transaction) {
                LAPSE_TRY(transaction.put("new", "value", 10s));
                return transaction.put("overwritten", "second");
              }));
            }));
  EXPECT_EQ("new=value overwritten=second", contents(store()));
  EXPECT_EQ("new@11000", expiring(store()));
  clock_.advance(10'000);
  EXPECT_EQ("overwritten=second", contents(store()));
  EXPECT_OK(store().verify());
}

TEST_F(Crashes, NothingExpiredComesBack) {
  ASSERT_EQ("done", before_crash([this](Store& store) {
              must(store.put("purged", "value", 1s));
              must(store.put("read", "value", 2s));
              must(store.put("due", "value", 3s));
              clock_.advance(1'000);
              must(store.purge_expired());
              clock_.advance(1'000);
              must(store.get("read"));
            }));
  EXPECT_EQ("due", keys(store())) << "by a clock at which all of them were there";
  clock_.advance(3'000);
  EXPECT_EQ("", keys(store()));
}

TEST_F(Crashes, HistoryAndRevisionsAreAsBefore) {
  ASSERT_EQ("done", before_crash([this](Store& store) {
              Family past = must(store.create_family("past", {.history = HistoryPolicy{}}));
              must(past.put("key", "first", 1s));
              clock_.advance(2'000);
              must(past.put("key", "second"));
              clock_.advance(1'000);
              must(past.erase("key"));
            }));
  clock_.advance(10'000);
  const Family past = must(store().family("past"));
  EXPECT_EQ("second[3000,4000)erased first[1000,2000)expired", history(past, "key"));
  EXPECT_EQ("second", get_at(past, "key", 3'500));
}

// A commit by an old reading leaves what the clock says, which is later than any date yet; then the clock goes back. The
// last date is within the second in which the clock is not worth storing: it must be stored for its own sake.
TEST_F(Crashes, NoDateIsLostWhenTheClockWentBackBehindWhatAnOldReadingLeft) {
  constexpr int64_t kLastDate = kStart + 20'500;
  options_.sweep_per_write = 0;  // what has expired is left to the iterator
  ASSERT_EQ("done", before_crash([this](Store& store) {
              Family past = must(store.create_family("past", {.history = HistoryPolicy{}}));
              must(store.put("gone", "value", 1s));
              clock_.set(kStart + 1'000);
              {
                const Iterator old = must(store.iterate());
                clock_.set(kStart + 10'000);
                must(store.put("other", "value"));
                clock_.set(kStart + 30'000);
              }
              if (store.stats().expired_removed != 1) throw std::logic_error("the iterator removed nothing");
              clock_.set(kStart + 20'000);
              must(store.put("other", "again"));
              clock_.set(kLastDate);
              must(past.put("key", "before"));
            }));
  ASSERT_GT(kLastDate, clock_.now_ms()) << "behind it again, in this process";
  Family past = must(store().family("past"));
  must(past.put("key", "after"));
  EXPECT_EQ("after[21500,) before[21500,21500)overwritten", history(past, "key"));
}

// A child has none of the parent's threads, but the locks that they held. Whatever would wait for one, waits for ever. Those of
// the store itself are in tests/fault/store_fault_test.cc.
TEST_F(Crashes, TheChildOfAForkWaitsForNoLockOfTheParentsClock) {
  class HeldClock final : public Clock {
   public:
    int64_t now_ms() override {
      const std::lock_guard lock(mutex_);
      if (is_to_be_held.exchange(false)) {
        is_held.release();
        may_go_on.acquire();
      }
      return kStart;
    }
    std::atomic<bool> is_to_be_held{false};
    std::binary_semaphore is_held{0};
    std::binary_semaphore may_go_on{0};

   private:
    std::mutex mutex_;
  };
  HeldClock clock;
  options_.clock = &clock;
  std::optional<Store> store = must(Store::open(path(), options_));
  clock.is_to_be_held.store(true);
  std::thread holding([&] { (void)store->now_ms(); });
  clock.is_held.acquire();
  EXPECT_EQ("done", in_child([&]() -> std::string {
              alarm(30);
              EXPECT_CODE(kUnavailable, store->get("key"));
              EXPECT_CODE(kUnavailable, store->put("key", "value"));
              EXPECT_CODE(kUnavailable, store->snapshot());
              (void)store->now_ms();
              store.reset();
              return HasFailure() ? "" : "done";
            }));
  clock.may_go_on.release();
  holding.join();
}

TEST_F(Crashes, TheChildOfAForkCannotUseTheParentsStore) {
  must(store().put("key", "value", 10s));
  EXPECT_EQ("Unavailable",
            in_child([&] { return std::string(status_code_name(store().get("key").status().code())); }));
  EXPECT_EQ("value", get(store(), "key"));
}

}  // namespace
}  // namespace lapse
