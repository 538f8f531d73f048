// From where to where: two indexes into something of a length, as GETRANGE, BITCOUNT and BITPOS take them.

#pragma once

#include <algorithm>
#include <cstdint>

namespace lapse::server {

struct IndexRange {
  int64_t first;
  int64_t last;  // itself included

  bool empty() const { return first > last; }

  // Negative indexes count from the end. What lies before the beginning is moved onto it, even the last index: so the
  // range 0 to -100 of "abc" has its first byte.
  IndexRange within(int64_t length) const {
    const auto from_start = [&](int64_t index) {
      return std::max<int64_t>(index < 0 ? index + length : index, 0);
    };
    return {from_start(first), std::min(from_start(last), length - 1)};
  }

  // Two negative indexes in the wrong order, which the above would move onto the first byte.
  bool backwards_from_end() const { return first < 0 && last < 0 && first > last; }
};

}  // namespace lapse::server
