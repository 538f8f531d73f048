// The clocks that ask the system. Nothing outside src/base does.

#pragma once

#include <chrono>
#include <cstdint>

#include "lapse/clock.h"

namespace lapse {

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

// The date, as the system has it: people and NTP set it, forwards and backwards.
class WallClock final : public Clock {
 public:
  int64_t now_ms() override {
    using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::system_clock;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  }
  static WallClock* instance() {
    static WallClock clock;
    return &clock;
  }
};

// Since the machine was started, sleep included. Nobody can set it.
class BootClock final : public Clock {
 public:
  int64_t now_ms() override;
  static BootClock* instance() {
    static BootClock clock;
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

}  // namespace lapse
