// TurnClock: the time of a turn. It stands still while commands run, so that all of them are judged by one reading; and the
// doubt that the reading was taken in stays with it, whatever the clock below makes up its mind to meanwhile.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "lapse/clock.h"

namespace lapse::server {

class TurnClock final : public Clock {
 public:
  explicit TurnClock(Clock* inner) : inner_(inner) { advance(); }

  void advance() {
    const bool doubted = inner_->in_doubt();
    const int64_t now_ms = inner_->now_ms();
    steady_ms_ += std::max<int64_t>(0, now_ms - this->now_ms());
    now_ms_.store(now_ms, std::memory_order_relaxed);
    in_doubt_.store(doubted || inner_->in_doubt(), std::memory_order_relaxed);
  }
  int64_t real_now_ms() { return inner_->now_ms(); }
  // For how long something has been: goes on with the turns' time, but stays where it is when the date is set back.
  int64_t steady_ms() const { return steady_ms_; }
  bool really_in_doubt() { return inner_->in_doubt(); }

  int64_t now_ms() override { return now_ms_.load(std::memory_order_relaxed); }
  bool in_doubt() override { return in_doubt_.load(std::memory_order_relaxed); }
  void resume_from(int64_t last_seen_ms) override {
    inner_->resume_from(last_seen_ms);
    advance();
  }

 private:
  Clock* const inner_;
  std::atomic<int64_t> now_ms_{0};
  int64_t steady_ms_ = 0;  // of the loop's thread alone
  std::atomic<bool> in_doubt_{false};
};

}  // namespace lapse::server
