// TurnClock: the time of a turn. It stands still while commands run, so that all of them are judged by one reading.

#pragma once

#include <atomic>
#include <cstdint>

#include "lapse/clock.h"

namespace lapse::server {

class TurnClock final : public Clock {
 public:
  explicit TurnClock(Clock* inner) : inner_(inner), now_ms_(inner->now_ms()) {}

  void advance() { now_ms_.store(inner_->now_ms(), std::memory_order_relaxed); }
  int64_t real_now_ms() { return inner_->now_ms(); }

  int64_t now_ms() override { return now_ms_.load(std::memory_order_relaxed); }
  bool in_doubt() override { return inner_->in_doubt(); }
  void resume_from(int64_t last_seen_ms) override {
    inner_->resume_from(last_seen_ms);
    advance();
  }

 private:
  Clock* const inner_;
  std::atomic<int64_t> now_ms_;
};

}  // namespace lapse::server
