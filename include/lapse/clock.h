// Clock: where the time comes from. Handed in, so that tests turn it by hand.
//
//   lapse::ManualClock clock(1'000);
//   auto store = lapse::Store::open_in_memory({.clock = &clock});
//   store->put("code", "1234", 30s);
//   clock.advance(29'999);   // there
//   clock.advance(1);        // gone
//
// Without one, a store follows the system's clock, guarded against leaps: see ClockPolicy in options.h.

#pragma once

#include <atomic>
#include <cstdint>

namespace lapse {

class Clock {
 public:
  virtual ~Clock() = default;

  // Milliseconds since the clock's epoch; of a store's clock, since 1970. Safe to call from any thread.
  virtual int64_t now_ms() = 0;

  // Whether now_ms() may yet turn out to be wrong. While it is so, a store hides what is due, but removes
  // nothing for it.
  virtual bool in_doubt() { return false; }

  // Called when a store is opened, with the latest time that it has seen.
  virtual void resume_from(int64_t /*last_seen_ms*/) {}
};

// Stands still until told otherwise.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(int64_t now_ms = 0) : now_ms_(now_ms) {}
  int64_t now_ms() override { return now_ms_.load(); }
  void set(int64_t now_ms) { now_ms_.store(now_ms); }
  void advance(int64_t by_ms) { now_ms_.fetch_add(by_ms); }

 private:
  std::atomic<int64_t> now_ms_;
};

}  // namespace lapse
