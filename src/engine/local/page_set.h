// PageSet: a set of page numbers.

#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

namespace lapse::engine {

// Pages behind the end of the file, which only the list of free pages may name, are kept apart: their numbers
// are bounded by the file's size, their range is not.
class PageSet {
 public:
  explicit PageSet(uint64_t readable_pages)
      : readable_pages_(readable_pages), bits_(readable_pages / 64 + 1) {}

  // False if the page was there before.
  bool add(uint64_t page) {
    if (page >= readable_pages_) return beyond_.insert(page).second;
    const uint64_t bit = uint64_t{1} << (page % 64);
    if ((bits_[page / 64] & bit) != 0) return false;
    bits_[page / 64] |= bit;
    return true;
  }

  bool contains(uint64_t page) const {
    if (page >= readable_pages_) return beyond_.contains(page);
    return (bits_[page / 64] >> (page % 64) & 1) != 0;
  }

 private:
  uint64_t readable_pages_;
  std::vector<uint64_t> bits_;
  std::unordered_set<uint64_t> beyond_;
};

}  // namespace lapse::engine
