#include "base/clock.h"

#include <gtest/gtest.h>

namespace lapse {
namespace {

TEST(ManualClockTest, StandsStillUntilTold) {
  ManualClock clock(1000);
  EXPECT_EQ(1000, clock.now_ms());
  EXPECT_EQ(1000, clock.now_ms());
}

TEST(ManualClockTest, Advances) {
  ManualClock clock;
  EXPECT_EQ(0, clock.now_ms());
  clock.advance(2999);
  EXPECT_EQ(2999, clock.now_ms());
  clock.advance(1);
  EXPECT_EQ(3000, clock.now_ms());
}

TEST(ManualClockTest, IsSetBothWays) {
  ManualClock clock(5);
  clock.set(1'000'000'000'000);
  EXPECT_EQ(1'000'000'000'000, clock.now_ms());
  clock.set(-1);
  EXPECT_EQ(-1, clock.now_ms());
}

TEST(SteadyClockTest, NeverGoesBack) {
  Clock* clock = SteadyClock::instance();
  int64_t before_ms = clock->now_ms();
  for (int i = 0; i < 10000; ++i) {
    const int64_t now_ms = clock->now_ms();
    ASSERT_LE(before_ms, now_ms);
    before_ms = now_ms;
  }
}

TEST(SteadyClockTest, IsOne) { EXPECT_EQ(SteadyClock::instance(), SteadyClock::instance()); }

}  // namespace
}  // namespace lapse
