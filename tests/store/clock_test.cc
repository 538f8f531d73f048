// Promise 11: leaps of the clock are survived; and revisions never go back in time.

#include <memory>

#include "store/guarded_clock.h"
#include "test_stores.h"

namespace lapse {
namespace {

constexpr int64_t kSecond = 1'000;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kDay = 24 * kHour;
constexpr int64_t kBegin = 100 * kDay;  // what the wall clock says at first

// A store on a machine whose wall clock can be set wrong, and which can be started again.
class ClockLeaps : public StoreTest {
 protected:
  ClockLeaps() : StoreTest(file_config()) {
    options_.sweep_per_write = 10;
    start_machine(kBegin);
  }

  void start_machine(int64_t wall_ms) {
    close();
    wall_.set(wall_ms);
    boot_.set(0);
    guarded_ = std::make_unique<internal::GuardedClock>(&wall_, &boot_);
    options_.clock = guarded_.get();
  }
  // Time goes by, as it should.
  void pass(int64_t ms) {
    wall_.advance(ms);
    boot_.advance(ms);
    store().now_ms();  // somebody looks at the clock now and then
  }
  void leap(int64_t ms) {
    wall_.advance(ms);
    store().now_ms();
  }
  // Does all that could remove a key.
  void try_to_remove(std::string_view key) {
    must(store().get(key));
    contents(store());
    must(store().purge_expired());
    must(store().purge_all_expired());
    must(store().put("other", "value"));
  }

  ManualClock wall_;
  ManualClock boot_;
  std::unique_ptr<internal::GuardedClock> guarded_;
};

TEST_F(ClockLeaps, AnHourAheadAndBackKillsNoKey) {
  must(store().put("session", "ada", 30min));
  leap(kHour);
  EXPECT_TRUE(store().stats().clock_in_doubt);
  try_to_remove("session");
  EXPECT_EQ("ada", get(store(), "session"));
  pass(9 * kMinute);
  try_to_remove("session");
  EXPECT_EQ(21min, ttl(store(), "session"));
  leap(-kHour);
  EXPECT_FALSE(store().stats().clock_in_doubt);
  EXPECT_EQ(21min, ttl(store(), "session"));
  pass(21 * kMinute);
  EXPECT_EQ(std::nullopt, get(store(), "session"));
}

TEST_F(ClockLeaps, ALeapAheadIsAdoptedWhenItHasStood) {
  must(store().put("session", "ada", 30min));
  leap(kHour);
  pass(10 * kMinute - 1);
  EXPECT_EQ("ada", get(store(), "session"));
  pass(1);
  EXPECT_FALSE(store().stats().clock_in_doubt);
  EXPECT_EQ(std::nullopt, get(store(), "session"));
  EXPECT_EQ(kBegin + kHour + 10 * kMinute, store().now_ms());
}

TEST_F(ClockLeaps, ALeapBackIsAdoptedWhenItHasStood) {
  must(store().put("session", "ada", 30min));
  leap(-kHour);
  pass(10 * kMinute - 1);
  EXPECT_EQ(20min + 1ms, ttl(store(), "session"));
  pass(1);
  EXPECT_EQ(kBegin - kHour + 10 * kMinute, store().now_ms());
  EXPECT_EQ(80min, ttl(store(), "session"));
}

TEST_F(ClockLeaps, WhatFallsDueMeanwhileIsHiddenButNotRemoved) {
  must(store().put("session", "ada", 5min));
  leap(kHour);
  pass(5 * kMinute);
  EXPECT_EQ(std::nullopt, get(store(), "session"));
  try_to_remove("session");
  EXPECT_EQ(0u, store().stats().expired_removed);
  leap(-kHour);
  EXPECT_EQ(std::nullopt, get(store(), "session"));
  EXPECT_EQ(1u, store().stats().expired_removed);
}

// A store whose clock was a day ahead when it last closed, so that time is: in doubt, until the leap back is adopted.
class AheadAndInDoubt : public ClockLeaps {
 protected:
  AheadAndInDoubt() {
    options_.sweep_per_write = 0;
    must(store().put("ada", "value", 2h));
    must(store().put("bob", "value", 2h));
    start_machine(kBegin + kDay);
    must(store().put("other", "value"));
    start_machine(kBegin);
    pass(1);
  }
  void adopt() {
    pass(10 * kMinute);
    ASSERT_EQ(kBegin + 10 * kMinute + 1, store().now_ms());
  }
  void expect_all_there() {
    EXPECT_EQ("ada bob other", keys(store()));
    EXPECT_EQ(0u, store().stats().expired_removed);
  }
};

TEST_F(AheadAndInDoubt, IteratorRemovesNothingByItsReadingThen) {
  must(store().put("other", "again"));  // so that there is a journal, and nothing to wait for
  {
    const Iterator met = must(store().iterate());
    EXPECT_EQ("other", met.key());
    adopt();
  }
  expect_all_there();
}

TEST_F(AheadAndInDoubt, PurgeInATransactionOfThenRemovesNothing) {
  Transaction transaction = must(store().begin());
  EXPECT_FALSE(exists(transaction, "ada"));
  adopt();
  EXPECT_EQ(0u, purge(transaction));
  must(transaction.commit());
  expect_all_there();
}

TEST_F(AheadAndInDoubt, WriteInATransactionOfThenSweepsNothing) {
  options_.sweep_per_write = 10;
  start_machine(kBegin + 1);
  Transaction transaction = must(store().begin());
  adopt();
  must(transaction.put("other", "again"));
  must(transaction.commit());
  expect_all_there();
}

TEST_F(AheadAndInDoubt, PurgeStopsWhenTheClockGoesBackBetweenItsBatches) {
  adopt();
  put_numbered(store(), 0, 1'000, "value", 1min);
  pass(kMinute);
  const uint64_t removed = purge(store(), {.removed = [&](const RemovedKey&) {
                                   if (wall_.now_ms() > kBegin) {
                                     wall_.advance(-kDay);
                                     store().now_ms();
                                     pass(10 * kMinute);
                                   }
                                 }});
  EXPECT_EQ(256u, removed) << "by the next batch, the rest is not due";
}

TEST_F(ClockLeaps, IteratorRemovesNothingOnceTheClockHasGoneBackBehindItsReading) {
  must(store().put("session", "ada", 30min));
  leap(kHour);
  pass(10 * kMinute);
  ASSERT_FALSE(store().stats().clock_in_doubt);
  {
    const Iterator met = must(store().iterate());  // by a clock that is believed, and wrong
    EXPECT_FALSE(met.valid());
    leap(-kHour);
    pass(10 * kMinute);
    ASSERT_FALSE(store().stats().clock_in_doubt);
  }
  EXPECT_EQ(10min, ttl(store(), "session"));
}

TEST_F(ClockLeaps, ASmallStepBackIsAbsorbedByStandingStill) {
  must(store().put("key", "value", 1s));
  pass(1'000);
  const int64_t now = store().now_ms();
  leap(-3'000);
  EXPECT_EQ(now, store().now_ms());
  EXPECT_FALSE(store().stats().clock_in_doubt);
  EXPECT_FALSE(visible(store(), "key")) << "nothing seen as expired comes back";
  pass(4'000);
  EXPECT_EQ(now + 1'000, store().now_ms());
}

TEST_F(ClockLeaps, AWallClockBehindAtOpenIsALeapBack) {
  must(store().put("gone", "value", 1min));
  must(store().put("session", "ada", 2h));
  pass(kHour);
  must(store().put("late", "value"));
  start_machine(kBegin - 10 * kDay);
  EXPECT_LE(kBegin + kHour, store().now_ms());
  EXPECT_TRUE(store().stats().clock_in_doubt);
  EXPECT_FALSE(visible(store(), "gone")) << "nothing seen as expired comes back";
  EXPECT_EQ(1h, ttl(store(), "session"));
  EXPECT_EQ(0u, purge(store())) << "nothing is removed meanwhile";
  pass(10 * kMinute);
  EXPECT_FALSE(store().stats().clock_in_doubt);
  EXPECT_EQ(kBegin - 10 * kDay + 10 * kMinute, store().now_ms()) << "adopted";
}

TEST_F(ClockLeaps, ALeapBackThatWasAdoptedStaysSoAfterAReopen) {
  options_.sweep_per_write = 0;
  must(store().put("session", "ada", 2h));
  start_machine(kBegin + 365 * kDay);  // wrong, for one commit
  must(store().put("other", "value"));
  start_machine(kBegin + kHour);
  pass(1);
  ASSERT_TRUE(store().stats().clock_in_doubt);
  pass(10 * kMinute);
  ASSERT_EQ(kBegin + kHour + 10 * kMinute + 1, store().now_ms()) << "adopted";
  must(store().put("later", "value"));
  start_machine(kBegin + kHour + 11 * kMinute);
  EXPECT_EQ(kBegin + kHour + 11 * kMinute, store().now_ms());
  EXPECT_FALSE(store().stats().clock_in_doubt);
  EXPECT_EQ(49min, ttl(store(), "session"));
}

TEST_F(ClockLeaps, ALeapBackAdoptedInASessionWithoutWritesStaysSo) {
  must(store().put("key", "value"));
  start_machine(kBegin - kDay);
  pass(1);
  pass(10 * kMinute);
  start_machine(kBegin - kDay + kHour);  // the clean close has left the time
  EXPECT_EQ(kBegin - kDay + kHour, store().now_ms());
  EXPECT_FALSE(store().stats().clock_in_doubt);
}

TEST_F(ClockLeaps, RevisionsNeverGoBackInTimeAlsoAfterAReopen) {
  Family past = this->past();
  must(past.put("key", "first"));
  leap(-kHour);
  pass(10 * kMinute);
  must(past.put("key", "second"));
  start_machine(kBegin - 30 * kMinute);
  ASSERT_EQ(kBegin - 30 * kMinute, store().now_ms());
  past = must(store().family("past"));
  must(past.put("key", "third"));
  EXPECT_EQ(kBegin, must(past.get_entry("key"))->written_at_ms);
  pass(kHour);
  must(past.put("key", "fourth"));
  EXPECT_EQ(kBegin + 30 * kMinute, must(past.get_entry("key"))->written_at_ms) << "it has caught up";
}

TEST_F(ClockLeaps, AnIteratorsOldReadingIsNotTakenForTheTime) {
  options_.sweep_per_write = 0;  // or the put would remove it, and leave nothing to the iterator
  // In a process that dies: a clean close would put the time right.
  ASSERT_EQ("removed 1", in_child([this] {
              must(store().put("gone", "value", 1min));
              pass(kMinute);
              {
                const Iterator old = must(store().iterate());
                pass(kHour);
                must(store().put("key", "value"));
              }  // removes what it met, by its own reading
              return "removed " + std::to_string(store().stats().expired_removed);
            }));
  EXPECT_LE(kBegin + kHour, store().now_ms());
}

TEST_F(ClockLeaps, ASessionWithoutWritesAlsoLeavesTheTime) {
  must(store().put("gone", "value", 30min));
  pass(kHour);
  EXPECT_EQ(std::nullopt, must(store().ttl("absent")));
  close();  // nothing was committed since: it is the clean close that says what time it was
  start_machine(kBegin);
  EXPECT_LE(kBegin + kHour, store().now_ms());
  EXPECT_FALSE(visible(store(), "gone"));
}

TEST_F(ClockLeaps, AWallClockAheadAtOpenIsDowntime) {
  must(store().put("session", "ada", 30min));
  must(store().put("lasting", "value", 2 * 24h));
  start_machine(kBegin + kDay);
  EXPECT_FALSE(store().stats().clock_in_doubt);
  EXPECT_EQ("lasting", keys(store()));
  EXPECT_EQ(24h, ttl(store(), "lasting"));
}

TEST_F(ClockLeaps, ACopyRemembersTheTimeToo) {
  must(store().put("gone", "value", 30min));
  pass(kHour);
  must(store().put("late", "value"));
  must(store().compact_to(dir_.file("copy.db")));
  start_machine(kBegin);
  Store copy = must(Store::open(dir_.file("copy.db"), options_));
  EXPECT_LE(kBegin + kHour, copy.now_ms());
  EXPECT_FALSE(visible(copy, "gone"));
}

TEST_F(ClockLeaps, RevisionsNeverGoBackInTime) {
  Family past = this->past();
  must(past.put("key", "first"));
  leap(-kHour);
  pass(10 * kMinute);
  ASSERT_GT(kBegin, store().now_ms());
  must(past.put("key", "second"));
  EXPECT_EQ("second[8640000000,) first[8640000000,8640000000)overwritten", history(past, "key"));
}

// --------------------------------------------------------------- a clock that is followed, whatever it says

class FollowedClock : public EveryStore {};
INSTANTIATE_STORE_TESTS(FollowedClock);

TEST_P(FollowedClock, VisibilityIsJudgedByWhatItSaysNow) {
  must(store().put("key", "value", 1s));
  clock_.advance(1'000);
  EXPECT_FALSE(visible(store(), "key"));
  clock_.advance(-1);
  EXPECT_TRUE(visible(store(), "key"));
}

TEST_P(FollowedClock, RevisionsNeverGoBackInTime) {
  Family past = this->past();
  must(past.put("key", "first"));
  clock_.set(500);
  must(past.put("key", "second"));
  must(past.put("other", "value"));
  EXPECT_EQ(1'000, must(past.get_entry("key"))->written_at_ms);
  EXPECT_EQ(1'000, must(past.get_entry("other"))->written_at_ms);
  EXPECT_EQ("second", get_at(past, "key", 1'000)) << "of two written at one moment, the later counts";
  EXPECT_EQ(std::nullopt, get_at(past, "key", 999));
  reopen();
  past = must(store().family("past"));
  must(past.put("key", "third"));
  EXPECT_EQ(1'000, must(past.get_entry("key"))->written_at_ms);
}

TEST_P(FollowedClock, NewestRevisionCanBeAskedForWhileTheClockIsBehind) {
  Family past = this->past();
  must(past.put("key", "value"));
  clock_.set(500);
  EXPECT_EQ("value", get_at(past, "key", 1'000));
  EXPECT_CODE(kInvalidArgument, past.get_at("key", 1'001));
}

}  // namespace
}  // namespace lapse
