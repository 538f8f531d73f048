// Random bits: from the kernel where they must never repeat (salts, ids), and a small fast generator
// where they only need to be spread (heights in a skip list).

#pragma once

#include <cstdint>

namespace lapse {

// Never the same twice, across processes and reboots.
uint64_t random_u64();

// xorshift64*; not for secrets.
class FastRandom {
 public:
  explicit FastRandom(uint64_t seed) : state_(seed | 1) {}
  uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dULL;
  }

 private:
  uint64_t state_;
};

}  // namespace lapse
