// Clock: where milliseconds come from. Handed in, so that tests turn it by hand.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lapse {

class Clock {
 public:
  virtual ~Clock() = default;
  // Milliseconds since the clock's own epoch. Safe to call from any thread.
  virtual int64_t now_ms() = 0;
};

// Time that only goes forward and has no date: for intervals and ages.
class SteadyClock final : public Clock {
 public:
  int64_t now_ms() override {
    using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::steady_clock;
    return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
  }
  static SteadyClock* instance() {
    static SteadyClock clock;
    return &clock;
  }
};

// How long something takes, for statistics.
class Stopwatch {
 public:
  uint64_t elapsed_us() const {
    using std::chrono::duration_cast, std::chrono::microseconds;
    return static_cast<uint64_t>(duration_cast<microseconds>(Steady::now() - began_).count());
  }

 private:
  using Steady = std::chrono::steady_clock;
  Steady::time_point began_ = Steady::now();
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
