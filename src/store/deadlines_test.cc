#include "store/deadlines.h"

#include <gtest/gtest.h>

#include <set>

namespace lapse::internal {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kNow = 1'000'000;

Result<int64_t> deadline(const Lifetime& lifetime, const FamilyOptions& policies = {},
                         std::optional<int64_t> present = std::nullopt, uint64_t seed = 0) {
  return deadline_for(
      {.lifetime = lifetime, .now_ms = kNow, .present_deadline_ms = present, .jitter_seed = seed}, policies);
}

void expect_deadline(int64_t expected, const Result<int64_t>& actual) {
  ASSERT_TRUE(actual.ok()) << actual.status().to_string();
  EXPECT_EQ(*actual, expected);
}

void expect_refused(const Result<int64_t>& actual) {
  EXPECT_EQ(actual.status().code(), StatusCode::kInvalidArgument);
}

TEST(DeadlinesTest, TtlCountsFromNow) {
  expect_deadline(kNow + 1, deadline(1ms));
  expect_deadline(kNow + 3'600'000, deadline(1h));
}

TEST(DeadlinesTest, TtlOfAFractionIsRoundedUp) {
  expect_deadline(kNow + 1, deadline(1us));
  expect_deadline(kNow + 2, deadline(std::chrono::duration<double, std::milli>(1.5)));
}

TEST(DeadlinesTest, TtlThatIsNotAboveZeroIsRefused) {
  expect_refused(deadline(0ms));
  expect_refused(deadline(-1ms));
  expect_refused(deadline(std::chrono::milliseconds::min()));
}

TEST(DeadlinesTest, TtlBeyondTheEndOfTimeIsRefused) {
  expect_deadline(kNever - 1, deadline(std::chrono::milliseconds(kNever - 1 - kNow)));
  expect_refused(deadline(std::chrono::milliseconds(kNever - kNow)));
  expect_refused(deadline(std::chrono::milliseconds::max()));
  expect_refused(deadline(std::chrono::hours::max()));
  expect_refused(deadline(std::chrono::duration<double>(1e300)));
}

TEST(DeadlinesTest, DeadlineIsTakenAsItIs) {
  expect_deadline(1, deadline(Lifetime::until(1)));
  expect_deadline(kNow, deadline(Lifetime::until(kNow)));
  expect_deadline(kNever, deadline(Lifetime::until(kNever)));
  expect_refused(deadline(Lifetime::until(0)));
  expect_refused(deadline(Lifetime::until(INT64_MIN)));
}

TEST(DeadlinesTest, KeepTakesThePresentDeadlineOrTheDefault) {
  expect_deadline(77, deadline(Lifetime::keep(), {}, 77));
  expect_deadline(kNever, deadline(Lifetime::keep(), {.default_ttl = 5ms}, kNever));
  expect_deadline(kNever, deadline(Lifetime::keep()));
  expect_deadline(kNow + 5, deadline(Lifetime::keep(), {.default_ttl = 5ms}));
}

TEST(DeadlinesTest, DefaultTtlIsForKeysWithoutALifetime) {
  const FamilyOptions policies{.default_ttl = 5ms};
  expect_deadline(kNow + 5, deadline(Lifetime(), policies));
  expect_deadline(kNow + 9, deadline(9ms, policies));
  expect_deadline(kNever, deadline(Lifetime::forever(), policies));
}

TEST(DeadlinesTest, MaxTtlCutsEveryLifetime) {
  const FamilyOptions policies{.max_ttl = 10ms};
  expect_deadline(kNow + 9, deadline(9ms, policies));
  expect_deadline(kNow + 10, deadline(11ms, policies));
  expect_deadline(kNow + 10, deadline(Lifetime::until(kNow + 11), policies));
  expect_deadline(kNow + 10, deadline(Lifetime::forever(), policies));
  expect_deadline(kNow + 10, deadline(Lifetime(), policies));
  expect_deadline(kNow + 10, deadline(Lifetime::keep(), policies, kNever));
}

TEST(DeadlinesTest, RequiredTtlRefusesPermanentKeys) {
  const FamilyOptions policies{.require_ttl = true};
  expect_refused(deadline(Lifetime(), policies));
  expect_refused(deadline(Lifetime::forever(), policies));
  expect_refused(deadline(Lifetime::until(kNever), policies));
  expect_deadline(kNow + 1, deadline(1ms, policies));
}

TEST(DeadlinesTest, JitterSpreadsTtlsEvenlyWithinItsBounds) {
  const FamilyOptions policies{.jitter_percent = 10};
  std::set<int64_t> seen;
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    const Result<int64_t> jittered = deadline(100ms, policies, {}, seed * 0x9e3779b97f4a7c15ULL);
    ASSERT_TRUE(jittered.ok());
    seen.insert(*jittered - kNow);
  }
  EXPECT_EQ(*seen.begin(), 90);
  EXPECT_EQ(*seen.rbegin(), 110);
  EXPECT_EQ(seen.size(), 21U);
}

TEST(DeadlinesTest, JitterLeavesDeadlinesAlone) {
  expect_deadline(kNow + 100, deadline(Lifetime::until(kNow + 100), {.jitter_percent = 50}, {}, 12345));
}

TEST(DeadlinesTest, JitterNeverMakesATtlZeroOrOverflow) {
  const FamilyOptions policies{.jitter_percent = 100};
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    for (const int64_t ttl : {int64_t{1}, int64_t{2}, kNever - kNow - 1, kNever / 2}) {
      const Result<int64_t> jittered =
          deadline(std::chrono::milliseconds(ttl), policies, {}, seed * 0x9e3779b97f4a7c15ULL);
      if (jittered.ok()) {
        EXPECT_GT(*jittered, kNow);
      }
    }
  }
}

}  // namespace
}  // namespace lapse::internal
