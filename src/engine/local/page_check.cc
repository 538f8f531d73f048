// The thorough half of PageTree: whether a page is sound, as page_format.h defines it. Everything that liblmdb's
// code relies on is checked.

#include <array>
#include <string>

#include "base/prefetch.h"
#include "base/try.h"
#include "engine/local/page_reading.h"

namespace lapse::engine {

Status PageTree::check_header(uint64_t number, Kind kind) const {
  if (!in_file(number)) {
    return damaged(number, "it is referred to, but not among the pages of the file, 2 to " +
                               std::to_string(readable_pages_ - 1));
  }
  const char* page = map_ + number * page_bytes_;
  if (load_le<uint64_t>(page) != number) {
    return damaged(number, "it says that it is page " + std::to_string(load_le<uint64_t>(page)));
  }
  if (load16(page + 10) != uint16_t(kind)) {
    return damaged(number, "its flags are " + std::to_string(load16(page + 10)) +
                               ", where its place in the tree wants " + std::to_string(uint16_t(kind)));
  }
  return Status();
}

uint64_t PageTree::run_pages(uint64_t first) const {
  return load_le<uint32_t>(map_ + first * page_bytes_ + 12);
}

// Longer values go to overflow runs, so that at least two nodes fit any page.
size_t PageTree::max_node_bytes() const { return (((page_bytes_ - kPageHeader) / 2) & ~size_t{1}) - 2; }

// The padded size of the node at an offset of the page; 0 if there can be none.
size_t PageTree::node_bytes(const char* page, size_t offset, Kind kind) const {
  if (offset + kNodeHeader > page_bytes_) return 0;
  const char* node = page + offset;
  const size_t key_bytes = key_bytes_of(node);
  if (key_bytes > (numeric_ ? 8 : kMaxTreeKeyBytes)) return 0;
  size_t size = kNodeHeader + key_bytes;
  if (kind == Kind::kLeaf) {
    const uint16_t flags = node_flags_of(node);
    if (flags > kBigValue) return 0;
    size += flags == kBigValue ? kBigValueBytes : value_bytes_of(node);
  }
  return size > max_node_bytes() || offset + even(size) > page_bytes_ ? 0 : even(size);
}

// One pass over the nodes, one over the slots.
Status PageTree::check_page(uint64_t number, Kind kind) const {
  LAPSE_TRY(check_header(number, kind));
  const char* page = map_ + number * page_bytes_;
  const size_t lower = lower_of(page);
  const size_t upper = upper_of(page);
  if (lower <= kPageHeader || ((lower | upper) & 1) != 0 || lower > upper || upper > page_bytes_) {
    return damaged(number,
                   "its free space cannot be from " + std::to_string(lower) + " to " + std::to_string(upper));
  }
  // Where a node ends is known when it is there: without this, each would be waited for in turn.
  prefetch(page + upper, page_bytes_ - upper);
  std::array<uint64_t, kMaxPageBytes / 128> begins;  // a bit for each even offset: a node begins here
  std::memset(begins.data(), 0, page_bytes_ / 16);
  unsigned nodes = 0;
  for (size_t offset = upper; offset < page_bytes_; ++nodes) {
    const size_t size = node_bytes(page, offset, kind);
    if (size == 0) return damaged(number, "there is no sound node at " + std::to_string(offset));
    begins[offset / 128] |= uint64_t{1} << (offset / 2 % 64);
    offset += size;
  }
  if (nodes != count_of(page)) {
    return damaged(number, "it has " + std::to_string(nodes) + " nodes, but slots for " +
                               std::to_string(count_of(page)));
  }
  for (unsigned i = 0; i < nodes; ++i) {
    const size_t offset = slot_of(page, i);
    const uint64_t bit = uint64_t{1} << (offset / 2 % 64);
    if (offset >= page_bytes_ || (offset & 1) != 0 || (begins[offset / 128] & bit) == 0) {
      return damaged(number, "slot " + std::to_string(i) + " is not that of a node of its own");
    }
    begins[offset / 128] &= ~bit;
  }
  return check_slots(number, page, kind);
}

// Keys and children. REQUIRES: the nodes themselves are sound.
Status PageTree::check_slots(uint64_t number, const char* page, Kind kind) const {
  const unsigned count = count_of(page);
  const bool branch = kind == Kind::kBranch;
  // LMDB aborts on a main branch with one child; in the free list it may leave one.
  if (branch && count < 2 && !numeric_) return damaged(number, "a branch with a single child");
  std::string_view previous;
  for (unsigned i = 0; i < count; ++i) {
    const char* node = page + slot_of(page, i);
    if (branch && !in_file(child_of(node))) {
      return damaged(number,
                     "child " + std::to_string(i) + " would be page " + std::to_string(child_of(node)));
    }
    if (branch && i == 0) continue;
    const std::string_view key = key_of(node);
    if (key.empty() || (numeric_ && key.size() != 8)) {
      return damaged(number, "key " + std::to_string(i) + " has " + std::to_string(key.size()) + " bytes");
    }
    if (!previous.empty() && compare(previous, key) >= 0) {
      return damaged(number, "key " + std::to_string(i) + " is not above the one before it");
    }
    previous = key;
  }
  return Status();
}

// All keys of the page are in [low, high). An empty low and a null high are no bounds.
// REQUIRES: the page is sound.
Status PageTree::check_bounds(uint64_t number, Kind kind, std::string_view low, std::string_view high) const {
  const char* page = map_ + number * page_bytes_;
  const unsigned count = count_of(page);
  const unsigned first = kind == Kind::kBranch ? 1 : 0;
  if (first >= count) return Status();  // a free list's branch with a single child
  if (!low.empty() && compare(key_of(page + slot_of(page, first)), low) < int(first)) {
    return damaged(number, "its keys begin below the separator that leads to it");
  }
  if (high.data() != nullptr && compare(key_of(page + slot_of(page, count - 1)), high) >= 0) {
    return damaged(number, "its keys reach beyond the next separator");
  }
  return Status();
}

// The overflow run of a node of leaf `number`. REQUIRES: the leaf is sound.
Status PageTree::check_run(uint64_t number, const char* node) const {
  const auto first = load_le<uint64_t>(value_bytes_at(node));
  LAPSE_TRY(check_header(first, Kind::kOverflow));
  const uint64_t pages = run_pages(first);
  const uint64_t needed = (value_bytes_of(node) + kPageHeader + page_bytes_ - 1) / page_bytes_;
  if (pages < needed || pages > readable_pages_ - first) {
    return damaged(first, "a run of " + std::to_string(pages) + " pages, where leaf " +
                              std::to_string(number) + " wants " + std::to_string(needed) +
                              " and the file has room for " + std::to_string(readable_pages_ - first));
  }
  return Status();
}

// A quick check failed at this page: say why.
Status PageTree::describe(uint64_t number, Kind kind) const {
  LAPSE_TRY(check_page(number, kind));
  return damaged(number,
                 "it is damaged");  // not reached: the thorough checks contain the quick ones
}

Status PageTree::describe_value(uint64_t number, const char* node) const {
  LAPSE_TRY(check_page(number, Kind::kLeaf));
  LAPSE_TRY(check_run(number, node));
  return damaged(number, "a value is damaged");
}

}  // namespace lapse::engine
