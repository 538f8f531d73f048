// The quick half of PageTree, for those who read pages in a hurry: page_tree.h says what it is. Each step is checked
// just so far that it stays in the file.

#pragma once

#include "base/coding.h"
#include "base/prefetch.h"
#include "engine/local/page_tree.h"

namespace lapse::engine {

// Good enough to read the slots; whether they lead anywhere is node_at()'s business.
inline const char* PageTree::load(uint64_t page, Kind kind) const {
  if (!in_file(page)) return nullptr;
  const char* at = map_ + page * page_bytes_;
  prefetch(at, 128);  // with the header, a leaf's slots
  const size_t lower = lower_of(at);
  const bool sound = load_le<uint64_t>(at) == page && load16(at + 10) == uint16_t(kind) &&
                     lower >= kPageHeader + 2 && lower % 2 == 0 && lower <= page_bytes_;
  return sound ? at : nullptr;
}

// REQUIRES: index < count_of(page). The header and the key lie in the page.
inline const char* PageTree::node_at(const char* page, unsigned index) const {
  const size_t offset = slot_of(page, index);
  if (offset + kNodeHeader > page_bytes_) return nullptr;
  const char* node = page + offset;
  if (offset + kNodeHeader + key_bytes_of(node) > page_bytes_) return nullptr;
  return node;
}

// Asks for the nodes that the next kSteps steps of a search in [low, high) may look at, so that it waits for them once. Inlined
// for the same reason as prefetch().
template <int kSteps>
[[gnu::always_inline]] inline void expect_nodes(const char* page, unsigned low, unsigned high) {
  if constexpr (kSteps > 0) {
    if (low >= high) return;
    const unsigned middle = (low + high) / 2;
    prefetch(page + slot_of(page, middle), 1);
    expect_nodes<kSteps - 1>(page, low, middle);
    expect_nodes<kSteps - 1>(page, middle + 1, high);
  }
}

// The child to follow: the last one whose key is not above `key`.
inline bool PageTree::branch_slot(const char* page, unsigned count, std::string_view key,
                                  unsigned* slot) const {
  unsigned low = 1;
  unsigned high = count;
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    const char* node = node_at(page, middle);
    if (node == nullptr) return false;
    if (compare_bytes(key_of(node), key) <= 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  *slot = low - 1;
  return true;
}

// The first entry at or after `key`, or count.
inline bool PageTree::leaf_slot(const char* page, unsigned count, std::string_view key, unsigned* slot,
                                bool* found) const {
  unsigned low = 0;
  unsigned high = count;
  *found = false;
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    const char* node = node_at(page, middle);
    if (node == nullptr) return false;
    const int order = compare_bytes(key_of(node), key);
    if (order == 0) {
      *found = true;
      *slot = middle;
      return true;
    }
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  *slot = low;
  return true;
}

// REQUIRES: `node` is from node_at(page, …).
inline bool PageTree::value_of(const char* node, const char* page, std::string_view* value) const {
  const char* data = value_bytes_at(node);
  const size_t room = size_t(page + page_bytes_ - data);
  const size_t size = value_bytes_of(node);
  const uint16_t flags = node_flags_of(node);
  if (flags == 0 && size <= room) {
    *value = {data, size};
    return true;
  }
  if (flags != kBigValue || room < kBigValueBytes) return false;
  const auto number = load_le<uint64_t>(data);
  if (!in_file(number)) return false;
  const char* run = map_ + number * page_bytes_;
  const uint64_t pages = load_le<uint32_t>(run + 12);
  if (load_le<uint64_t>(run) != number || load16(run + 10) != uint16_t(Kind::kOverflow) ||
      pages > readable_pages_ - number || size + kPageHeader > pages * page_bytes_) {
    return false;
  }
  *value = {run + kPageHeader, size};
  return true;
}

inline int PageTree::compare(std::string_view a, std::string_view b) const {
  if (!numeric_ || a.size() != 8 || b.size() != 8) return compare_bytes(a, b);
  const auto left = load_le<uint64_t>(a.data());
  const auto right = load_le<uint64_t>(b.data());
  return left == right ? 0 : (left < right ? -1 : 1);
}

}  // namespace lapse::engine
