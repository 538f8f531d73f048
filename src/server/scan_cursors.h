// ScanCursors: the numbers that SCAN hands out, and the keys that they stand for.
//
// Keys are in byte order, so a scan goes on behind the last key it showed: what is there from beginning to end is shown, and
// shown once, whatever is written meanwhile. The table is bounded; a number that has been pushed out is an error, never a
// silent gap. A number may be used again: a client that lost a reply asks once more. But numbers that a scan has gone
// beyond are the first to go, so that however many calls a scan takes, it costs the others one place. Each process begins
// at a number of its own: else one from before a restart would stand for another scan's place.

#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/random.h"

namespace lapse::server {

class ScanCursors {
 public:
  // A number for "behind this key". Never 0, and below 2^53, since some clients take it for a double. Of more than `most`, those that were superseded first go first, and then the
  // ones given out longest ago.
  uint64_t add(std::string_view after_key, size_t most);
  // Nothing: no such number, or no longer.
  std::optional<std::string> find(uint64_t cursor);
  // The scan has gone on from there.
  void supersede(uint64_t cursor);

 private:
  struct Position {
    uint64_t cursor;
    std::string after_key;
    bool superseded = false;
  };
  using Positions = std::list<Position>;
  Positions live_;        // given out last first
  Positions superseded_;  // superseded last first
  std::unordered_map<uint64_t, Positions::iterator> by_cursor_;
  uint64_t last_ = random_u64() >> 12;
};

}  // namespace lapse::server
