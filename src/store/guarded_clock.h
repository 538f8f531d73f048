// GuardedClock: the wall clock, watched against the time since boot, so that a wrong clock kills no key.
//
// Wall and boot clock go at the same pace; their difference, the offset, says what date it is. While the offset
// stays within kLeapMs of the one that is followed, so does this clock, and a small step back is absorbed by
// standing still. When it leaps:
//
//   leap seen      time goes on at the boot clock's pace, in_doubt() is true: nothing is removed
//   leap undone    the wall clock is back where it was: nothing has happened
//   leap stood     for kAdoptAfterMs: it is adopted, and in_doubt() ends. Only then may time go backwards
//
// It has stood if every reading from the one that saw it to one kAdoptAfterMs later agrees with it; any other undoes it,
// or begins the wait anew. There is no thread: what the wall clock said between two readings nobody knows, so two that lie
// so far apart are enough. To ask for more would keep a store that is read once an hour from ever healing.
//
// What a store last saw counts as a reading of this clock: a wall clock behind it at open is a leap back; one
// ahead of it is downtime.

#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "lapse/clock.h"

namespace lapse::internal {

class GuardedClock final : public Clock {
 public:
  static constexpr int64_t kLeapMs = 5'000;  // more than NTP corrects in a step, less than any TTL minds
  static constexpr int64_t kAdoptAfterMs = 10 * 60'000;  // long enough for a wrong setting to be noticed

  // Both must outlive it.
  GuardedClock(Clock* wall, Clock* boot);

  int64_t now_ms() override;
  bool in_doubt() override { return in_doubt_.load(std::memory_order_acquire); }
  void resume_from(int64_t last_seen_ms) override;

 private:
  int64_t watch(int64_t boot_ms, int64_t offset_ms);
  void follow(int64_t offset_ms);
  int64_t at_least_last(int64_t now_ms);

  Clock* const wall_;
  Clock* const boot_;
  std::atomic<int64_t> followed_offset_ms_;
  std::atomic<int64_t> last_ms_;
  std::atomic<bool> in_doubt_{false};

  std::mutex mutex_;  // guards the leap being watched
  int64_t leap_offset_ms_ = 0;
  int64_t leap_since_boot_ms_ = 0;
};

}  // namespace lapse::internal
