#include "store/guarded_clock.h"

#include <cstdlib>

namespace lapse::internal {

namespace {

bool is_near(int64_t a_ms, int64_t b_ms) { return std::llabs(a_ms - b_ms) <= GuardedClock::kLeapMs; }

}  // namespace

GuardedClock::GuardedClock(Clock* wall, Clock* boot) : wall_(wall), boot_(boot) {
  const int64_t wall_ms = wall_->now_ms();
  followed_offset_ms_ = wall_ms - boot_->now_ms();
  last_ms_ = wall_ms;
}

int64_t GuardedClock::now_ms() {
  const int64_t boot_ms = boot_->now_ms();
  const int64_t wall_ms = wall_->now_ms();
  const int64_t offset_ms = wall_ms - boot_ms;
  if (!in_doubt_.load(std::memory_order_acquire) &&
      is_near(offset_ms, followed_offset_ms_.load(std::memory_order_relaxed))) {
    followed_offset_ms_.store(offset_ms, std::memory_order_relaxed);
    return at_least_last(wall_ms);
  }
  return watch(boot_ms, offset_ms);
}

// A leap has been seen, now or before: what to make of it.
int64_t GuardedClock::watch(int64_t boot_ms, int64_t offset_ms) {
  std::lock_guard lock(mutex_);
  const int64_t followed_ms = followed_offset_ms_.load(std::memory_order_relaxed);
  if (is_near(offset_ms, followed_ms)) {
    follow(offset_ms);
    return at_least_last(boot_ms + offset_ms);
  }
  if (!in_doubt_.load(std::memory_order_relaxed) || !is_near(offset_ms, leap_offset_ms_)) {
    in_doubt_.store(true, std::memory_order_release);
    leap_offset_ms_ = offset_ms;
    leap_since_boot_ms_ = boot_ms;
  }
  if (boot_ms - leap_since_boot_ms_ >= kAdoptAfterMs) {
    last_ms_.store(boot_ms + offset_ms, std::memory_order_relaxed);
    follow(offset_ms);
    return boot_ms + offset_ms;
  }
  return at_least_last(boot_ms + followed_ms);
}

void GuardedClock::follow(int64_t offset_ms) {
  followed_offset_ms_.store(offset_ms, std::memory_order_relaxed);
  in_doubt_.store(false, std::memory_order_release);
}

int64_t GuardedClock::at_least_last(int64_t now_ms) {
  int64_t last = last_ms_.load(std::memory_order_relaxed);
  while (last < now_ms && !last_ms_.compare_exchange_weak(last, now_ms, std::memory_order_relaxed)) {
  }
  return last < now_ms ? now_ms : last;
}

void GuardedClock::resume_from(int64_t last_seen_ms) {
  if (last_seen_ms <= now_ms()) return;
  std::lock_guard lock(mutex_);
  // From here on the wall clock lies behind what is followed: by little, and time stands still until it has caught up,
  // or by a leap, and the next reading begins to watch it.
  followed_offset_ms_.store(last_seen_ms - boot_->now_ms(), std::memory_order_relaxed);
  at_least_last(last_seen_ms);
}

}  // namespace lapse::internal
