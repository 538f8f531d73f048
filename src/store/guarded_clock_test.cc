#include "store/guarded_clock.h"

#include <gtest/gtest.h>

namespace lapse::internal {
namespace {

constexpr int64_t kSecond = 1'000;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kStart = 1'700'000'000'000;

class GuardedClockTest : public testing::Test {
 protected:
  // Both clocks go on.
  void pass(int64_t ms) {
    wall_.advance(ms);
    boot_.advance(ms);
  }
  void leap(int64_t ms) { wall_.advance(ms); }
  // Ahead of the start.
  int64_t now() { return clock_.now_ms() - kStart; }

  ManualClock wall_{kStart};
  ManualClock boot_{12'345};
  GuardedClock clock_{&wall_, &boot_};
};

TEST_F(GuardedClockTest, FollowsTheWallClock) {
  EXPECT_EQ(now(), 0);
  pass(kHour);
  EXPECT_EQ(now(), kHour);
  EXPECT_FALSE(clock_.in_doubt());
}

TEST_F(GuardedClockTest, SmallStepForwardIsFollowed) {
  leap(GuardedClock::kLeapMs);
  EXPECT_EQ(now(), GuardedClock::kLeapMs);
  EXPECT_FALSE(clock_.in_doubt());
}

TEST_F(GuardedClockTest, SmallStepBackIsAbsorbedByStandingStill) {
  pass(10 * kSecond);
  EXPECT_EQ(now(), 10 * kSecond);
  leap(-3 * kSecond);
  EXPECT_EQ(now(), 10 * kSecond);
  pass(2 * kSecond);
  EXPECT_EQ(now(), 10 * kSecond);
  pass(2 * kSecond);
  EXPECT_EQ(now(), 11 * kSecond);
  EXPECT_FALSE(clock_.in_doubt());
}

TEST_F(GuardedClockTest, SlowDriftIsFollowedForEver) {
  for (int i = 0; i < 100; ++i) {
    pass(kMinute);
    leap(kSecond);
    EXPECT_EQ(now(), (i + 1) * (kMinute + kSecond));
  }
  EXPECT_FALSE(clock_.in_doubt());
}

TEST_F(GuardedClockTest, LeapAheadIsNotBelievedAtOnce) {
  EXPECT_EQ(now(), 0);
  leap(kHour);
  EXPECT_EQ(now(), 0);
  EXPECT_TRUE(clock_.in_doubt());
  pass(kMinute);
  EXPECT_EQ(now(), kMinute);
}

TEST_F(GuardedClockTest, LeapThatIsUndoneHasNeverHappened) {
  EXPECT_EQ(now(), 0);
  leap(kHour);
  EXPECT_EQ(now(), 0);
  pass(5 * kMinute);
  leap(-kHour);
  EXPECT_EQ(now(), 5 * kMinute);
  EXPECT_FALSE(clock_.in_doubt());
}

TEST_F(GuardedClockTest, LeapAheadIsAdoptedWhenItHasStood) {
  leap(kHour);
  EXPECT_EQ(now(), 0);
  pass(GuardedClock::kAdoptAfterMs - 1);
  EXPECT_EQ(now(), GuardedClock::kAdoptAfterMs - 1);
  EXPECT_TRUE(clock_.in_doubt());
  pass(1);
  EXPECT_EQ(now(), GuardedClock::kAdoptAfterMs + kHour);
  EXPECT_FALSE(clock_.in_doubt());
}

TEST_F(GuardedClockTest, LeapBackIsAdoptedWhenItHasStood) {
  leap(-kHour);
  EXPECT_EQ(now(), 0);
  EXPECT_TRUE(clock_.in_doubt());
  pass(GuardedClock::kAdoptAfterMs);
  EXPECT_EQ(now(), GuardedClock::kAdoptAfterMs - kHour);
  EXPECT_FALSE(clock_.in_doubt());
  pass(kSecond);
  EXPECT_EQ(now(), GuardedClock::kAdoptAfterMs - kHour + kSecond);
}

TEST_F(GuardedClockTest, AnotherLeapStartsTheWaitAgain) {
  leap(kHour);
  EXPECT_EQ(now(), 0);
  pass(9 * kMinute);
  leap(kHour);
  EXPECT_EQ(now(), 9 * kMinute);
  pass(9 * kMinute);
  EXPECT_EQ(now(), 18 * kMinute);
  EXPECT_TRUE(clock_.in_doubt());
  pass(kMinute);
  EXPECT_EQ(now(), 19 * kMinute + 2 * kHour);
}

TEST_F(GuardedClockTest, LeapThatWasSeenUndoneStartsTheWaitAgain) {
  leap(kHour);
  EXPECT_EQ(now(), 0);
  pass(9 * kMinute);
  leap(-kHour);
  EXPECT_EQ(now(), 9 * kMinute);
  leap(kHour);
  pass(kMinute);
  EXPECT_EQ(now(), 10 * kMinute) << "the same leap, but it has not stood";
  EXPECT_TRUE(clock_.in_doubt());
}

TEST_F(GuardedClockTest, LeapSeenTwiceWithNothingReadBetweenHasStood) {
  leap(kHour);
  EXPECT_EQ(now(), 0);
  pass(GuardedClock::kAdoptAfterMs);
  EXPECT_EQ(now(), kHour + GuardedClock::kAdoptAfterMs);
  EXPECT_FALSE(clock_.in_doubt());
}

TEST_F(GuardedClockTest, WallClockBehindWhatAStoreSawIsALeapBack) {
  clock_.resume_from(kStart + kHour);
  EXPECT_EQ(now(), kHour);
  EXPECT_TRUE(clock_.in_doubt());
  pass(kMinute);
  EXPECT_EQ(now(), kHour + kMinute);
  pass(GuardedClock::kAdoptAfterMs);
  EXPECT_EQ(now(), GuardedClock::kAdoptAfterMs + kMinute);
  EXPECT_FALSE(clock_.in_doubt());
}

TEST_F(GuardedClockTest, WallClockALittleBehindWhatAStoreSawStandsStill) {
  clock_.resume_from(kStart + 2 * kSecond);
  EXPECT_EQ(now(), 2 * kSecond);
  EXPECT_FALSE(clock_.in_doubt());
  pass(kSecond);
  EXPECT_EQ(now(), 2 * kSecond);
  pass(2 * kSecond);
  EXPECT_EQ(now(), 3 * kSecond);
}

TEST_F(GuardedClockTest, WallClockAheadOfWhatAStoreSawIsDowntime) {
  clock_.resume_from(kStart - 365 * 24 * kHour);
  EXPECT_EQ(now(), 0);
  EXPECT_FALSE(clock_.in_doubt());
}

}  // namespace
}  // namespace lapse::internal
