// The one checksum of all formats: XXH3, 64 bits, seeded.

#pragma once

#include <cstdint>
#include <string_view>

namespace lapse {

uint64_t checksum(std::string_view bytes, uint64_t seed);

// Over two pieces, as one value that depends on where the first ends.
inline uint64_t checksum(std::string_view first, std::string_view second, uint64_t seed) {
  return checksum(second, checksum(first, seed));
}

}  // namespace lapse
