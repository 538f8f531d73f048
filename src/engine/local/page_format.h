// LMDB's data file, as found in the field (integers little-endian, page size P, offsets in bytes):
//
//   page           0  u64  its own number
//                  8  u16  unused by us
//                 10  u16  flags: 1 branch, 2 leaf, 4 overflow, 8 meta; others never reach the disk
//                 12  u16  lower: end of the slots          overflow: 12  u32  pages in the run
//                 14  u16  upper: begin of the nodes
//                 16  u16  slots[(lower - 16) / 2]: where the nodes are, in key order
//                 upper …  nodes, in any order, each padded to an even size, without gaps up to P
//
//   leaf node      0  u32  value size                       branch node: 0  u16  child, bits 0-15
//                  4  u16  flags: 0, or 1 for "overflow"                 2  u16         bits 16-31
//                                                                        4  u16         bits 32-47
//                  6  u16  key size                                      6  u16  key size
//                  8       key, then the value, or                       8       key: the lowest
//                          the u64 number of its overflow run                    below the child
//
//   A branch's first key is not looked at: it stands for "lower than all". A run has one page
//   header, then nothing but the value; it may be longer than needed.
//
//   meta page      0  page header; pages 0 and 1; transaction t writes page t & 1
//                 16  u32  0xBEEFC0DE
//                 20  u32  1, the data version
//                 24  u64  address, for fixed maps
//                 32  u64  map size
//                 40       database record of the free list (its first field is P)
//                 88       database record of the main tree
//                136  u64  last page
//                144  u64  transaction number
//
//   database       0  u32  P, or 0          8  u64  branch pages      32  u64  entries
//     record       4  u16  flags           16  u64  leaf pages        40  u64  root, or ~0
//                  6  u16  depth           24  u64  overflow pages
//
//   free list: the key is the u64 number of the transaction that freed the pages, compared as a
//   number; the value is a u64 count and then that many u64 page numbers, descending. There may be
//   unused room behind them.
//
// A page is sound if and only if its number is its own, its flags are exactly one of 1, 2 and 4,
// 16 < lower <= upper <= P, its nodes tile [upper, P), each has exactly one slot, keys have 1 to
// 511 bytes (8 in the free list; a branch's first may be empty) and strictly ascend, node flags are
// legal, no node is larger than LMDB makes them, and children lie in the file. Tiling is what makes
// node_del() safe: it moves all lower nodes up by the size of the one deleted, and nodes that
// overlap would leave the page.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/coding.h"
#include "lapse/status.h"

namespace lapse::engine {

inline constexpr uint64_t kNoPage = ~uint64_t{0};
inline constexpr unsigned kMaxDepth = 32;         // liblmdb's own limit
inline constexpr size_t kMaxTreeKeyBytes = 511;   // as liblmdb is built by default
inline constexpr size_t kMaxPageBytes = 1 << 15;  // upper must fit 16 bits
inline constexpr size_t kPageHeader = 16;
inline constexpr size_t kNodeHeader = 8;
inline constexpr size_t kSlotBytes = 2;  // a node's place in its page
inline constexpr uint16_t kBigValue = 1;
inline constexpr size_t kBigValueBytes = 8;  // what is left of it in the leaf

inline uint16_t load16(const char* from) { return load_le<uint16_t>(from); }

inline uint16_t lower_of(const char* page) { return load16(page + 12); }
inline uint16_t upper_of(const char* page) { return load16(page + 14); }
inline unsigned count_of(const char* page) { return (lower_of(page) - kPageHeader) / 2; }
inline size_t slot_of(const char* page, unsigned index) { return load16(page + kPageHeader + 2 * index); }

inline size_t key_bytes_of(const char* node) { return load16(node + 6); }
inline std::string_view key_of(const char* node) { return {node + kNodeHeader, key_bytes_of(node)}; }
inline uint64_t child_of(const char* node) { return load_le<uint64_t>(node) & 0xFFFF'FFFF'FFFF; }
inline uint16_t node_flags_of(const char* node) { return load16(node + 4); }
inline size_t value_bytes_of(const char* node) { return load_le<uint32_t>(node); }
inline const char* value_bytes_at(const char* node) { return node + kNodeHeader + key_bytes_of(node); }

inline size_t even(size_t size) { return (size + 1) & ~size_t{1}; }

// memcmp order, then the shorter first. Inlined word by word: keys are short, and a call to memcmp
// costs more than it does.
inline int compare_bytes(std::string_view a, std::string_view b) {
  const size_t common = a.size() < b.size() ? a.size() : b.size();
  size_t at = 0;
  for (; at + 8 <= common; at += 8) {
    const uint64_t left = load_be64(a.data() + at);
    const uint64_t right = load_be64(b.data() + at);
    if (left != right) return left < right ? -1 : 1;
  }
  for (; at < common; ++at) {
    const int difference = static_cast<uint8_t>(a[at]) - static_cast<uint8_t>(b[at]);
    if (difference != 0) return difference;
  }
  return a.size() == b.size() ? 0 : (a.size() < b.size() ? -1 : 1);
}

[[gnu::cold]] inline Status corrupt(std::string message) {
  return Status(StatusCode::kCorrupt, std::move(message));
}

[[gnu::cold]] inline Status damaged(uint64_t page, const std::string& what) {
  return corrupt("page " + std::to_string(page) + ": " + what);
}

}  // namespace lapse::engine
