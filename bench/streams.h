// Which entries, in which order: the i-th of one stream. Streams differ, lest one workload read just
// what another wrote, in the order it did.

#pragma once

#include <cstdint>

#include "bench/dataset.h"

namespace lapse::bench {

using IndexOf = uint64_t (*)(uint64_t i, uint64_t entries);

inline uint64_t new_entry(uint64_t i, uint64_t /*entries*/) { return i; }
inline uint64_t absent_entry(uint64_t i, uint64_t entries) { return entries + i; }
template <uint64_t kStream>
uint64_t random_entry(uint64_t i, uint64_t entries) {
  return mix(i + (kStream << 48)) % entries;
}
inline constexpr IndexOf entry_to_get = random_entry<1>;
inline constexpr IndexOf entry_to_overwrite = random_entry<2>;
inline constexpr IndexOf entry_to_fill_with = random_entry<3>;
inline constexpr IndexOf entry_to_write_meanwhile = random_entry<4>;
inline constexpr IndexOf entry_to_look_back_at = random_entry<5>;

}  // namespace lapse::bench
