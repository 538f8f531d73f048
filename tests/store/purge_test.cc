// Promises 6 and 7: purges, and the sweep that writes may do.

#include <thread>

#include "test_stores.h"

namespace lapse {
namespace {

class Purge : public EveryStore {
 protected:
  // All keys that are stored, hidden or not: seen by a clock from before all deadlines.
  std::string stored(const Reader& reader) {
    const int64_t now = clock_.now_ms();
    clock_.set(1);
    const std::string found = keys(reader);
    clock_.set(now);
    return found;
  }
  void put_due(int from, int to) {
    must(store().update([&](Transaction& transaction) {
      for (int i = from; i < to; ++i) LAPSE_TRY(transaction.put(numbered(i), "value", 1s));
      return Status();
    }));
  }
  uint64_t revision() { return store().stats().last_revision; }
};
INSTANTIATE_STORE_TESTS(Purge);

TEST_P(Purge, StopsAtTheFirstKeyThatIsNotDue) {
  must(store().put("a", "1", 1s));
  must(store().put("b", "2", 2s));
  must(store().put("c", "3", 2'001ms));
  must(store().put("d", "4"));
  clock_.advance(2'000);
  const PurgeResult result = must(store().purge_expired());
  EXPECT_EQ(2u, result.removed);
  EXPECT_FALSE(result.more_due);
  EXPECT_EQ("c d", stored(store()));
}

TEST_P(Purge, RemovesTheOldestDeadlineFirstWhateverTheKey) {
  must(store().put("z", "1", 1s));
  must(store().put("m", "2", 2s));
  must(store().put("a", "3", 3s));
  clock_.advance(10'000);
  const char* const kLeft[] = {"a m", "a", ""};
  for (const char* left : kLeft) {
    EXPECT_EQ(1u, purge(store(), {.limit = 1}));
    EXPECT_EQ(left, stored(store()));
  }
}

TEST_P(Purge, ReportsWhetherMoreIsDue) {
  put_due(0, 10);
  must(store().put("later", "value", 1h));
  clock_.advance(1'000);
  PurgeResult result = must(store().purge_expired({.limit = 4}));
  EXPECT_EQ(4u, result.removed);
  EXPECT_TRUE(result.more_due);
  result = must(store().purge_expired({.limit = 6}));
  EXPECT_EQ(6u, result.removed);
  EXPECT_FALSE(result.more_due);
}

TEST_P(Purge, LimitOfNothingRemovesNothing) {
  put_due(0, 3);
  clock_.advance(1'000);
  const PurgeResult result = must(store().purge_expired({.limit = 0}));
  EXPECT_EQ(0u, result.removed);
  EXPECT_TRUE(result.more_due);
}

TEST_P(Purge, Takes256KeysATransaction) {
  put_due(0, 600);
  clock_.advance(1'000);
  const uint64_t before = revision();
  EXPECT_EQ(600u, purge(store()));
  EXPECT_EQ(before + 3, revision());
}

TEST_P(Purge, BudgetEndsItAfterTheBatchInWhichItRanOut) {
  put_due(0, 600);
  clock_.advance(1'000);
  const PurgeResult result = must(store().purge_expired({.budget = 0ms}));
  EXPECT_EQ(256u, result.removed);
  EXPECT_TRUE(result.more_due);
}

TEST_P(Purge, InATransactionItIsPartOfThatOne) {
  put_due(0, 300);
  clock_.advance(1'000);
  {
    Transaction transaction = must(store().begin());
    EXPECT_EQ(300u, purge(transaction));
  }
  EXPECT_NE("", stored(store())) << "rolled back";
  const uint64_t before = revision();
  Transaction transaction = must(store().begin());
  EXPECT_EQ(300u, purge(transaction));
  EXPECT_EQ(before + 1, must(transaction.commit()));
  EXPECT_EQ("", stored(store()));
}

TEST_P(Purge, InATransactionSeesItsOwnWrites) {
  must(store().put("saved", "value", 1s));
  clock_.advance(1'000);
  Transaction transaction = must(store().begin());
  must(transaction.put("saved", "again"));
  must(transaction.put("due", "value", Lifetime::until(5)));
  EXPECT_EQ(1u, purge(transaction));
  must(transaction.commit());
  EXPECT_EQ("saved", stored(store()));
  EXPECT_OK(store().verify());
}

TEST_P(Purge, CountsWhatWasExpiredWhenItWasWritten) {
  must(store().put("past", "value", Lifetime::until(1)));
  must(store().put("ended", "value"));
  EXPECT_TRUE(must(store().expire_at("ended", 1)));
  EXPECT_EQ(2u, purge(store()));
}

TEST_P(Purge, KeepsTheHistoryDatedAtTheDeadline) {
  Family past = this->past();
  must(past.put("key", "value", 1s));
  clock_.advance(3'600'000);
  EXPECT_EQ(1u, purge(past));
  EXPECT_EQ("value[1000,2000)expired", history(past, "key"));
}

TEST_P(Purge, EveryFamilyAtOnce) {
  Family a = family("a");
  Family past = this->past();
  must(store().put("key", "value", 1s));
  must(a.put("key", "value", 2s));
  must(past.put("key", "value", 3s));
  must(past.put("later", "value", 1h));
  clock_.advance(10'000);
  PurgeResult result = must(store().purge_all_expired({.limit = 2}));
  EXPECT_EQ(2u, result.removed);
  EXPECT_TRUE(result.more_due);
  result = must(store().purge_all_expired());
  EXPECT_EQ(1u, result.removed);
  EXPECT_FALSE(result.more_due);
  EXPECT_EQ("", stored(store()));
  EXPECT_EQ("", stored(a));
  EXPECT_EQ("later", stored(past));
}

TEST_P(Purge, EveryFamilyGetsItsTurnWhateverTheLimit) {
  Family busy = family("busy");
  Family patient = family("patient");
  put_numbered(busy, 0, 20, "value", 1s);
  put_numbered(patient, 0, 5, "value", 2s);
  clock_.advance(10'000);
  for (int round = 0; round < 4; ++round) {
    put_numbered(busy, 100 + 10 * round, 110 + 10 * round, "value", 1ms);  // as many as go at a time
    clock_.advance(1);
    EXPECT_EQ(10u, must(store().purge_all_expired({.limit = 10})).removed);
  }
  EXPECT_EQ("", stored(patient));
}

TEST_P(Purge, ReclaimsWhatClearedFamiliesLeftAlsoBehindEmptyOnes) {
  for (const char* name : {"a", "b", "c", "full"}) family(name);
  Family full = must(store().family("full"));
  put_numbered(full, 0, 1'000, "value");
  must(store().update([&](Transaction& transaction) -> Status {
    for (const char* name : {"a", "b", "c", "full"}) {
      LAPSE_TRY_ASSIGN(Family family, transaction.family(name));
      LAPSE_TRY(transaction.in(family).clear());
    }
    return {};
  }));
  purge(store());
  const uint64_t commits = store().stats().commits;
  purge(store());
  EXPECT_EQ(commits, store().stats().commits) << "nothing was left";
  EXPECT_OK(store().verify());
}

TEST_P(Purge, CountsOfSnapshotsBeforeItStayAsTheyWere) {
  Family counted = family("counted", {.counted = true});
  put_numbered(counted, 0, 10, "value", 1s);
  put_numbered(counted, 10, 15, "value", 1h);
  clock_.advance(1'000);
  const Snapshot before = must(store().snapshot());
  EXPECT_EQ(10u, purge(counted));
  EXPECT_EQ(5u, count(before.in(counted)));
  EXPECT_EQ(5u, count(counted));
  must(counted.put("late", "value", Lifetime::until(1)));  // due before all that the purge has seen
  EXPECT_EQ(5u, count(counted));
  Transaction transaction = must(store().begin());
  Family within = transaction.in(counted);
  EXPECT_EQ(1u, purge(within));
  EXPECT_EQ(5u, count(within));
  EXPECT_EQ(5u, count(counted));
  transaction.rollback();
  EXPECT_EQ(5u, count(counted));
}

TEST_P(Purge, CountsInTheStats) {
  put_due(0, 10);
  clock_.advance(1'000);
  EXPECT_EQ(10u, purge(store()));
  EXPECT_EQ(10u, store().stats().expired_removed);
}

TEST_P(Purge, CountsOnlyWhatIsNotRolledBack) {
  put_due(0, 10);
  clock_.advance(1'000);
  Transaction transaction = must(store().begin());
  EXPECT_EQ(4u, purge(transaction, {.limit = 4}));
  const Savepoint before = transaction.savepoint();
  EXPECT_EQ(6u, purge(transaction));
  must(transaction.rollback_to(before));
  must(transaction.commit());
  EXPECT_EQ(4u, store().stats().expired_removed);
}

// With history, a removal writes the value once more.
TEST_P(Purge, TakesAsManyLargeKeysATransactionAsItHasRoomFor) {
  options_.max_transaction_bytes = 200'000;
  Family past = this->past();
  Family plain = family("plain");
  const std::string value(10'000, 'v');
  const auto put = [&] {
    for (int i = 0; i < 50; ++i) must(past.put(numbered(i), value, 1s));
    for (int i = 0; i < 5; ++i) must(plain.put(std::string(60'000, 'k') + numbered(i), "value", 1s));
    clock_.advance(1'000);
  };
  options_.sweep_per_write = 0;
  put();
  const PurgeResult result = must(store().purge_all_expired());
  EXPECT_EQ(55u, result.removed);
  EXPECT_FALSE(result.more_due);
  put();
  EXPECT_EQ("", keys(past));
  EXPECT_GE(memory_ ? 0u : 50u, purge(past))
      << "the iterator removes them, in a file if that needs no waiting";
  EXPECT_EQ("", stored(past));
  put();
  clock_.set(kStart);
  EXPECT_EQ(50u, must(past.erase_prefix("key")));
  EXPECT_EQ(5u, must(plain.erase_range("a", "z")));
  EXPECT_EQ("", keys(past) + keys(plain));
  put();
  Transaction transaction = must(store().begin());
  EXPECT_CODE(kTooLarge, transaction.in(past).purge_expired());
  transaction.rollback();
  EXPECT_OK(store().verify());
}

TEST_P(Purge, SweepLeavesRoomForTheWriteItself) {
  options_.max_transaction_bytes = 200'000;
  options_.sweep_per_write = 50;
  Family past = this->past();
  for (int i = 0; i < 50; ++i) must(past.put(numbered(i), std::string(10'000, 'v'), 1s));
  clock_.advance(1'000);
  EXPECT_OK(past.put("alone", std::string(15'000, 'v')));
  Transaction transaction = must(store().begin());
  EXPECT_OK(transaction.in(past).put("together", std::string(15'000, 'v')));
  EXPECT_OK(transaction.commit());
  EXPECT_EQ(50u, purge(past)) << "nothing of a sweep that left no room";
  EXPECT_EQ("alone together", keys(past));
  EXPECT_OK(store().verify());
}

TEST_P(Purge, OfAllFamiliesHasItsLimitAndBudgetForAllOfThem) {
  options_.sweep_per_write = 0;
  for (const char* name : {"a", "b", "c"}) {
    Family family = this->family(name);
    put_numbered(family, 0, 300, "value", 1s);
  }
  must(family("d").put("key", "value", 1h));
  clock_.advance(1'000);
  PurgeResult result;
  const auto expect = [&](const PurgeOptions& options, uint64_t removed, bool more_due) {
    const uint64_t before = revision();
    result = must(store().purge_all_expired(options));
    EXPECT_EQ(removed, result.removed);
    EXPECT_EQ(more_due, result.more_due);
    return revision() - before;
  };
  EXPECT_EQ(1u, expect({.budget = 0ms}, 256, true));
  EXPECT_EQ(1u, expect({.limit = 44}, 44, true));
  EXPECT_EQ(0u, expect({.limit = 0}, 0, true));
  EXPECT_EQ(3u, expect({.limit = 500}, 500, true));
  EXPECT_EQ(1u, expect({.limit = 100}, 100, false));
}

TEST_P(Purge, OfAllFamiliesWaitsForTheWriterOnce) {
  int asked = 0;
  options_.keep_waiting = [&] { return ++asked, false; };
  for (const char* name : {"a", "b", "c"}) family(name);
  Transaction transaction = must(store().begin());
  std::thread([&] { EXPECT_CODE(kBusy, store().purge_all_expired()); }).join();
  EXPECT_EQ(1, asked);
}

TEST_P(Purge, OfAllFamiliesCountsWhatWentOfOneThatIsDroppedMeanwhile) {
  Family past = this->past();
  for (int i = 0; i < 300; ++i) must(past.put(numbered(i), "value", 1s));
  clock_.advance(1'000);
  const auto drop = [&](const RemovedKey&) { (void)store().drop_family("past"); };
  EXPECT_EQ(256u, must(store().purge_all_expired({.removed = drop})).removed);
}

TEST_P(Purge, OfAFamilyThatFailsKeepsOthersFromNothing) {
  Family past = this->past();
  must(past.put("large", std::string(30'000, 'v'), 1s));
  must(store().put("key", "value", 2s));
  clock_.advance(2'000);
  if (memory_) return;  // keeps its options
  options_.max_transaction_bytes = 20'000;
  options_.sweep_per_write = 0;
  reopen();
  EXPECT_CODE(kTooLarge, store().purge_all_expired());
  EXPECT_FALSE(must(store().lapsed("key")));
  EXPECT_TRUE(must(must(store().family("past")).lapsed("large")));
}

TEST_P(Purge, OfKeysWithAnyBytes) {
  for (const std::string& key : {std::string(), std::string("\0", 1), std::string("\0\xff\0\x01", 4),
                                 std::string(kMaxKeyBytes, '\xff'), std::string(600, '\0')}) {
    must(store().put(key, "value", 1s));
  }
  EXPECT_EQ(5u, must(store().expiring(0, kNever)).size());
  clock_.advance(1'000);
  EXPECT_EQ(5u, purge(store()));
  EXPECT_EQ("", stored(store()));
  EXPECT_OK(store().verify());
}

// ----------------------------------------------------------------------------------- telling what went

class PurgeTells : public Purge {
 protected:
  PurgeTells() { options_.sweep_per_write = 0; }
  // A millisecond apart: more than two batches.
  void put_600_due_from(int64_t first_ms) {
    must(store().update([&](Transaction& transaction) {
      for (int i = 0; i < 600; ++i)
        LAPSE_TRY(transaction.put(numbered(i), "value", Lifetime::until(first_ms + i)));
      return Status();
    }));
  }
  // "default/a@2000": what was told of.
  std::function<void(const RemovedKey&)> listener() {
    return [this](const RemovedKey& gone) {
      if (!told_.empty()) told_ += ' ';
      told_ +=
          std::string(gone.family) + '/' + std::string(gone.key) + '@' + std::to_string(gone.deadline_ms);
    };
  }
  std::string told_;
};
INSTANTIATE_STORE_TESTS(PurgeTells);

TEST_P(PurgeTells, EachKeyInTheOrderOfDeadlines) {
  must(store().put("z", "1", 1s));
  must(store().put("a", "2", 2s));
  must(store().put("m", "3", 3s));
  must(store().put("erased", "4", 1s));
  must(store().erase("erased"));
  clock_.advance(2'500);
  EXPECT_EQ(2u, purge(store(), {.removed = listener()}));
  EXPECT_EQ("default/z@2000 default/a@3000", told_);
}

TEST_P(PurgeTells, WhichFamily) {
  Family a = family("a");
  Family b = family("b");
  must(b.put("key", "value", 1s));
  must(a.put("key", "value", 2s));
  must(store().put("key", "value", 3s));
  clock_.advance(10'000);
  EXPECT_EQ(3u, must(store().purge_all_expired({.removed = listener()})).removed);
  EXPECT_EQ("b/key@2000 a/key@3000 default/key@4000", told_);
}

TEST_P(PurgeTells, WhenABatchHasBeenCommitted) {
  put_due(0, 300);
  clock_.advance(1'000);
  const uint64_t before = revision();
  uint64_t told = 0;
  const auto check = [&](const RemovedKey& gone) {
    EXPECT_EQ(before + (told < 256 ? 1 : 2), revision()) << "key " << told;
    EXPECT_FALSE(must(store().lapsed(gone.key)));
    ++told;
  };
  EXPECT_EQ(300u, purge(store(), {.removed = check}));
  EXPECT_EQ(300u, told);
}

TEST_P(PurgeTells, AListenerThatMayWrite) {
  put_due(0, 3);
  clock_.advance(1'000);
  const auto archive = [&](const RemovedKey& gone) {
    must(store().put("gone:" + std::string(gone.key), ""));
  };
  EXPECT_EQ(3u, purge(store(), {.removed = archive}));
  EXPECT_EQ("gone:key00000 gone:key00001 gone:key00002", stored(store()));
}

// A purge looks further ahead than one batch. What others do between batches must not be missed, nor undone.
TEST_P(PurgeTells, WhatIsWrittenBetweenBatchesCounts) {
  const int64_t start_ms = clock_.now_ms();
  put_600_due_from(start_ms + 1'000);
  clock_.advance(5'000);
  int batches = 0;
  std::vector<std::string> gone;
  const uint64_t removed =
      purge(store(), {.removed = [&](const RemovedKey& key) {
              gone.emplace_back(key.key);
              if (gone.size() % 256 != 0) return;
              const std::string name = std::to_string(++batches);
              must(store().put("first" + name, "value", Lifetime::until(start_ms + 1)));
              must(store().put("within" + name, "value", Lifetime::until(start_ms + 1'590 + batches)));
              must(store().put("last" + name, "value", Lifetime::until(start_ms + 4'000)));
              must(store().put(numbered(590 + batches), "stays"));
              must(store().erase(numbered(580 + batches)));
            }});
  EXPECT_EQ(2, batches);
  EXPECT_EQ(gone.size(), removed);
  EXPECT_EQ(596u + 6u, removed);
  EXPECT_EQ("key00591 key00592", keys(store()));
  EXPECT_EQ(kNever, must(store().next_deadline()));
  EXPECT_EQ(0u, purge(store()));
}

TEST_P(PurgeTells, WhatIsNoLongerDueWhenTheClockGoesBackBetweenBatchesStays) {
  const int64_t start_ms = clock_.now_ms();
  put_600_due_from(start_ms + 1'000);
  clock_.advance(5'000);
  const auto put_back = [&](const RemovedKey&) { clock_.set(start_ms + 1'299); };
  EXPECT_EQ(300u, purge(store(), {.removed = put_back}));
  EXPECT_EQ(300u, how_many(stored(store())));
}

// Those who look for what is due meanwhile may find the same end as the purge has found before.
TEST_P(PurgeTells, WhatIsAddedBetweenBatchesCountsWhoeverElseLooks) {
  put_due(0, 600);
  clock_.advance(1'000);
  bool added = false;
  const auto add = [&](const RemovedKey&) {
    if (std::exchange(added, true)) return;
    must(store().put(numbered(270) + "x", "value", Lifetime::until(must(store().next_deadline()))));
    EXPECT_EQ(0u, purge(store(), {.limit = 0}));
  };
  EXPECT_EQ(300u, purge(store(), {.limit = 300, .removed = add}));
  EXPECT_EQ(301u, purge(store()));
  EXPECT_EQ(kNever, must(store().next_deadline()));
}

TEST_P(PurgeTells, InATransactionOfWhatItRemoves) {
  put_due(0, 300);
  clock_.advance(1'000);
  Transaction transaction = must(store().begin());
  uint64_t told = 0;
  EXPECT_EQ(300u, purge(transaction, {.removed = [&](const RemovedKey& gone) {
                          EXPECT_FALSE(must(transaction.lapsed(gone.key)));
                          must(transaction.put("gone:" + std::string(gone.key), "value"));
                          ++told;
                        }}));
  EXPECT_EQ(300u, told);
  must(transaction.commit());
  EXPECT_EQ(300u, how_many(stored(store())));
}

TEST_P(PurgeTells, NobodyIfNothingIsDue) {
  must(store().put("later", "value", 1h));
  EXPECT_EQ(0u, purge(store(), {.removed = listener()}));
  EXPECT_EQ("", told_);
}

// ------------------------------------------------------------------------------------------------ sweep

class Sweep : public Purge {
 protected:
  Sweep() { options_.sweep_per_write = 3; }
};
INSTANTIATE_STORE_TESTS(Sweep);

TEST_P(Sweep, EachWriteRemovesAFewDueKeysOldestFirst) {
  for (int i = 0; i < 8; ++i) must(store().put(numbered(i), "value", std::chrono::milliseconds(1'000 - i)));
  clock_.advance(1'000);
  must(store().put("x", "value"));
  EXPECT_EQ("key00000 key00001 key00002 key00003 key00004 x", stored(store()));
  must(store().erase("nothing"));
  must(store().put("y", "value"));
  must(store().put("z", "value"));
  EXPECT_EQ("x y z", stored(store()));
  EXPECT_EQ(8u, store().stats().expired_removed);
  EXPECT_OK(store().verify());
}

TEST_P(Sweep, OnlyInTheFamilyThatIsWritten) {
  Family a = family("a");
  must(a.put("due", "value", 1s));
  must(store().put("due", "value", 1s));
  clock_.advance(1'000);
  must(store().put("x", "value"));
  EXPECT_EQ("x", stored(store()));
  EXPECT_EQ("due", stored(a));
}

TEST_P(Sweep, OncePerTransaction) {
  put_due(0, 10);
  clock_.advance(1'000);
  must(store().update([&](Transaction& transaction) {
    for (int i = 100; i < 110; ++i) LAPSE_TRY(transaction.put(numbered(i), "value"));
    return Status();
  }));
  EXPECT_EQ(17u, how_many(stored(store())));
}

TEST_P(Sweep, KeysDueAfterAReopenAreFound) {
  put_due(0, 3);
  reopen();
  clock_.advance(1'000);
  must(store().put("x", "value"));
  EXPECT_EQ("x", stored(store()));
}

TEST_P(Sweep, NeverRemovesWhatTheWriteItselfWrote) {
  put_due(0, 2);
  clock_.advance(1'000);
  must(store().put(numbered(0), "alive"));
  EXPECT_EQ("key00000=alive", contents(store()));
  EXPECT_EQ("key00000", stored(store()));
}

TEST_P(Sweep, NeverRemovesWhatTheTransactionWroteBefore) {
  must(store().update([&](Transaction& transaction) -> Status {
    LAPSE_TRY(transaction.put("expired", "value", Lifetime::until(2)));
    return transaction.put("key", "value");
  }));
  EXPECT_EQ("expired key", stored(store()));
}

TEST_P(Sweep, SeesSoonerDeadlinesThatComeLater) {
  must(store().put("late", "value", 1h));
  must(store().put("soon", "value", 1s));
  clock_.advance(1'000);
  must(store().put("x", "value"));
  EXPECT_EQ("late x", stored(store()));
}

}  // namespace
}  // namespace lapse
