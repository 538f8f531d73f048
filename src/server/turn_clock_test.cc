#include "server/turn_clock.h"

#include <gtest/gtest.h>

namespace lapse::server {
namespace {

class DoubtfulClock final : public Clock {
 public:
  int64_t now_ms() override { return now; }
  bool in_doubt() override { return doubt; }
  int64_t now = 100;
  bool doubt = false;
};

TEST(TurnClock, StandsStillUntilTheNextTurn) {
  DoubtfulClock inner;
  TurnClock clock(&inner);
  inner.now = 200;
  EXPECT_EQ(100, clock.now_ms());
  EXPECT_EQ(200, clock.real_now_ms());
  clock.advance();
  EXPECT_EQ(200, clock.now_ms());
}

TEST(TurnClock, WhatItSaysOfHowLongSomethingHasBeenNeverGoesBack) {
  DoubtfulClock inner;
  TurnClock clock(&inner);
  const int64_t begin_ms = clock.steady_ms();
  inner.now = 130;
  clock.advance();
  EXPECT_EQ(begin_ms + 30, clock.steady_ms());
  inner.now = 50;
  clock.advance();
  EXPECT_EQ(begin_ms + 30, clock.steady_ms());
  inner.now = 60;
  clock.advance();
  EXPECT_EQ(begin_ms + 40, clock.steady_ms());
}

TEST(TurnClock, KeepsTheDoubtThatItsReadingWasTakenIn) {
  DoubtfulClock inner;
  inner.doubt = true;
  TurnClock clock(&inner);
  inner.doubt = false;  // adopted, by a reading in the middle of the turn
  EXPECT_TRUE(clock.in_doubt());
  clock.advance();
  EXPECT_FALSE(clock.in_doubt());
}

}  // namespace
}  // namespace lapse::server
