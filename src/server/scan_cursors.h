// ScanCursors: the numbers that SCAN hands out, and the keys that they stand for.
//
// Keys are in byte order, so a scan goes on behind the last key it showed: what is there from beginning to end is shown, and
// shown once, whatever is written meanwhile. The table is bounded; a number that has been pushed out is an error, never a
// silent gap. A number may be used again: a client that lost a reply asks once more.

#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace lapse::server {

class ScanCursors {
 public:
  // A number for "behind this key". Never 0. Of more than `most`, the ones used longest ago go.
  uint64_t add(std::string_view after_key, size_t most);
  // Nothing: no such number, or no longer.
  std::optional<std::string> find(uint64_t cursor);

 private:
  struct Position {
    uint64_t cursor;
    std::string after_key;
  };
  std::list<Position> by_use_;  // used last first
  std::unordered_map<uint64_t, std::list<Position>::iterator> by_cursor_;
  uint64_t last_ = 0;
};

}  // namespace lapse::server
