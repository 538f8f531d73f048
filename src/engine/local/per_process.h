// PerProcess: one object for the process, and another one for each forked child.
//
// A child has a copy of everything, but of one thread only: a lock that another thread held at the fork is held for ever, and
// what it guarded may be half changed. So the child leaves such a thing alone, and begins with a fresh one.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "lapse/process.h"

namespace lapse::engine {

template <typename T>
class PerProcess {
 public:
  // The objects are never destroyed.
  T& get() {
    const uint64_t generation = fork_generation();
    Made* made = made_.load(std::memory_order_acquire);
    while (made == nullptr || made->generation != generation) {
      auto fresh = std::make_unique<Made>(generation);
      // If another thread was quicker, `made` is its object now.
      if (made_.compare_exchange_strong(made, fresh.get(), std::memory_order_acq_rel)) made = fresh.release();
    }
    return made->object;
  }

 private:
  struct Made {
    explicit Made(uint64_t made_in) : generation(made_in) {}
    const uint64_t generation;
    T object;
  };
  std::atomic<Made*> made_{nullptr};
};

}  // namespace lapse::engine
