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

#include "engine/local/page_tree.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/coding.h"
#include "base/try.h"

namespace lapse::engine {

namespace {

constexpr size_t kPageHeader = 16;
constexpr size_t kNodeHeader = 8;
constexpr size_t kMetaBytes = 152;  // header included
constexpr uint32_t kMagic = 0xBEEFC0DE;
constexpr uint32_t kDataVersion = 1;
constexpr uint16_t kMetaFlag = 8;
constexpr uint16_t kBigValue = 1;
constexpr size_t kBigValueBytes = 8;  // what is left of it in the leaf
constexpr size_t kMinPageBytes = 512;
constexpr size_t kMaxPageBytes = 1 << 15;          // upper must fit 16 bits
constexpr uint64_t kMaxPages = uint64_t{1} << 48;  // what a branch node can name
constexpr uint16_t kIntegerKeys = 0x08;            // the free list's database flag
constexpr uint16_t kNoSubdir = 0x4000;  // kept there too, since the environment was created with it

uint16_t load16(const char* from) { return load_le<uint16_t>(from); }

uint16_t lower_of(const char* page) { return load16(page + 12); }
uint16_t upper_of(const char* page) { return load16(page + 14); }
unsigned count_of(const char* page) { return (lower_of(page) - kPageHeader) / 2; }
size_t slot_of(const char* page, unsigned index) { return load16(page + kPageHeader + 2 * index); }

size_t key_bytes_of(const char* node) { return load16(node + 6); }
std::string_view key_of(const char* node) { return {node + kNodeHeader, key_bytes_of(node)}; }
uint64_t child_of(const char* node) { return load_le<uint64_t>(node) & 0xFFFF'FFFF'FFFF; }
uint16_t node_flags_of(const char* node) { return load16(node + 4); }
size_t value_bytes_of(const char* node) { return load_le<uint32_t>(node); }
const char* value_bytes_at(const char* node) { return node + kNodeHeader + key_bytes_of(node); }

size_t even(size_t size) { return (size + 1) & ~size_t{1}; }

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

[[gnu::cold]] Status corrupt(std::string message) { return Status(StatusCode::kCorrupt, std::move(message)); }

[[gnu::cold]] Status damaged(uint64_t page, const std::string& what) {
  return corrupt("page " + std::to_string(page) + ": " + what);
}

// --- Metas ---------------------------------------------------------------------------------------

TreeRoot parse_root(const char* record) {
  TreeRoot root;
  root.depth = load16(record + 6);
  root.branch_pages = load_le<uint64_t>(record + 8);
  root.leaf_pages = load_le<uint64_t>(record + 16);
  root.overflow_pages = load_le<uint64_t>(record + 24);
  root.entries = load_le<uint64_t>(record + 32);
  root.page = load_le<uint64_t>(record + 40);
  return root;
}

Status check_root(const TreeRoot& root, const TreeMeta& meta, std::string_view name) {
  const std::string what =
      "the meta of transaction " + std::to_string(meta.txnid) + ": the " + std::string(name) + " tree ";
  if (root.page == kNoPage) {
    if (root.depth != 0 || root.entries != 0) return corrupt(what + "has no root, but entries");
    return Status();
  }
  if (root.page < 2 || root.page >= meta.page_count) {
    return corrupt(what + "has its root at page " + std::to_string(root.page) + " of " +
                   std::to_string(meta.page_count));
  }
  if (root.page >= meta.readable_pages) return corrupt(what + "begins behind the end of the file");
  if (root.depth == 0 || root.depth > kMaxDepth) {
    return corrupt(what + "is " + std::to_string(root.depth) + " levels deep");
  }
  if (root.entries == 0) return corrupt(what + "has a root, but no entries");
  return Status();
}

bool is_page_size(uint64_t bytes) {
  return bytes >= kMinPageBytes && bytes <= kMaxPageBytes && (bytes & (bytes - 1)) == 0;
}

// What must hold before anything else in the page means anything.
Status check_meta_header(std::string_view page) {
  if (page.size() < kMetaBytes) return corrupt("the file is too short to be a store");
  if (load16(page.data() + 10) != kMetaFlag || load_le<uint32_t>(page.data() + 16) != kMagic) {
    return corrupt("not an LMDB file, or one whose meta page is damaged");
  }
  const auto version = load_le<uint32_t>(page.data() + 20);
  if (version > kDataVersion) {
    return Status(StatusCode::kUnsupported,
                  "LMDB data format " + std::to_string(version) + " is newer than this program");
  }
  if (version < kDataVersion) return corrupt("a meta page has no data version");
  if (!is_page_size(load_le<uint32_t>(page.data() + 40))) {
    return corrupt("a meta page claims a page size of " +
                   std::to_string(load_le<uint32_t>(page.data() + 40)));
  }
  return Status();
}

// The two pages, once it is known where the second begins.
Result<std::pair<std::string_view, std::string_view>> split_head(std::string_view head) {
  LAPSE_TRY(check_meta_header(head));
  const size_t page_bytes = load_le<uint32_t>(head.data() + 40);
  if (head.size() < 2 * page_bytes) return corrupt("the file ends before its second meta page");
  return std::pair(head.substr(0, page_bytes), head.substr(page_bytes, page_bytes));
}

// All of a meta but where it leads: the older one may name pages that are not in the file any more.
Result<TreeMeta> parse_fields(std::string_view page, uint64_t file_bytes) {
  LAPSE_TRY(check_meta_header(page));
  const char* at = page.data();
  TreeMeta meta;
  meta.page_bytes = load_le<uint32_t>(at + 40);
  meta.txnid = load_le<uint64_t>(at + 144);
  meta.free = parse_root(at + 40);
  meta.main = parse_root(at + 88);
  const std::string who = "the meta of transaction " + std::to_string(meta.txnid) + ": ";
  if (meta.page_bytes != page.size()) return corrupt(who + "the page size differs between metas");

  const uint64_t number = load_le<uint64_t>(at);
  if (number > 1 || (meta.txnid != 0 && number != (meta.txnid & 1))) {
    return corrupt(who + "it is in the wrong page");
  }
  const uint64_t last_page = load_le<uint64_t>(at + 136);
  if (last_page < 1 || last_page >= kMaxPages || last_page >= load_le<uint64_t>(at + 32) / meta.page_bytes) {
    return corrupt(who + "the last page cannot be " + std::to_string(last_page));
  }
  meta.page_count = last_page + 1;
  meta.readable_pages = std::min(meta.page_count, file_bytes / meta.page_bytes);
  const uint16_t free_flags = load16(at + 44);
  if ((free_flags & ~kNoSubdir) != kIntegerKeys || load16(at + 92) != 0) {
    return corrupt(who + "the database flags are not ours");
  }
  return meta;
}

}  // namespace

Result<TreeMeta> parse_meta(std::string_view page, uint64_t file_bytes) {
  LAPSE_TRY_ASSIGN(const TreeMeta meta, parse_fields(page, file_bytes));
  LAPSE_TRY(check_root(meta.free, meta, "free list's"));
  LAPSE_TRY(check_root(meta.main, meta, "main"));
  return meta;
}

Result<TreeMeta> current_meta(std::string_view head, uint64_t file_bytes) {
  LAPSE_TRY_ASSIGN(auto pages, split_head(head));
  LAPSE_TRY_ASSIGN(const TreeMeta even_meta, parse_fields(pages.first, file_bytes));
  LAPSE_TRY_ASSIGN(const TreeMeta odd_meta, parse_fields(pages.second, file_bytes));
  // Transactions take turns, so an older number that is not the predecessor is a damaged number:
  // LMDB would take the wrong one for the newer.
  const bool odd_is_newer = odd_meta.txnid > even_meta.txnid;
  const uint64_t distance =
      odd_is_newer ? odd_meta.txnid - even_meta.txnid : even_meta.txnid - odd_meta.txnid;
  if (distance > 1) {
    return corrupt("the metas are of transactions " + std::to_string(even_meta.txnid) + " and " +
                   std::to_string(odd_meta.txnid) + ", which do not follow each other");
  }
  return parse_meta(odd_is_newer ? pages.second : pages.first, file_bytes);
}

Result<TreeMeta> meta_of_txn(std::string_view head, uint64_t file_bytes, uint64_t txnid) {
  LAPSE_TRY_ASSIGN(auto pages, split_head(head));
  const std::string_view page = (txnid & 1) != 0 ? pages.second : pages.first;
  LAPSE_TRY(check_meta_header(page));
  const auto found = load_le<uint64_t>(page.data() + 144);
  if (found != txnid) {
    return Status(StatusCode::kBusy,
                  "transaction " + std::to_string(txnid) + " was overtaken by " + std::to_string(found));
  }
  return parse_meta(page, file_bytes);
}

// --- Quick reading -------------------------------------------------------------------------------

// Good enough to read the slots; whether they lead anywhere is node_at()'s business.
inline const char* PageTree::load(uint64_t page, Kind kind) const {
  if (!in_file(page)) return nullptr;
  const char* at = map_ + page * page_bytes_;
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

Result<std::optional<std::string_view>> PageTree::get(std::string_view key) const {
  if (root_.page == kNoPage) return std::optional<std::string_view>();
  uint64_t number = root_.page;
  unsigned slot = 0;
  for (unsigned level = 0; level + 1 < root_.depth; ++level) {
    const char* page = load(number, Kind::kBranch);
    if (page == nullptr) return describe(number, Kind::kBranch);
    if (!branch_slot(page, count_of(page), key, &slot)) {
      return describe(number, Kind::kBranch);
    }
    const char* node = node_at(page, slot);
    if (node == nullptr) return describe(number, Kind::kBranch);
    number = child_of(node);
  }
  const char* page = load(number, Kind::kLeaf);
  if (page == nullptr) return describe(number, Kind::kLeaf);
  bool found = false;
  if (!leaf_slot(page, count_of(page), key, &slot, &found)) {
    return describe(number, Kind::kLeaf);
  }
  if (!found) return std::optional<std::string_view>();
  std::string_view value;
  const char* node = page + slot_of(page, slot);
  if (!value_of(node, page, &value)) return describe_value(number, node);
  return std::optional<std::string_view>(value);
}

// --- Thorough checks -----------------------------------------------------------------------------

int PageTree::compare(std::string_view a, std::string_view b) const {
  if (!numeric_ || a.size() != 8 || b.size() != 8) return compare_bytes(a, b);
  const auto left = load_le<uint64_t>(a.data());
  const auto right = load_le<uint64_t>(b.data());
  return left == right ? 0 : (left < right ? -1 : 1);
}

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
  const uint64_t pages = load_le<uint32_t>(map_ + first * page_bytes_ + 12);
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

// --- Cursor --------------------------------------------------------------------------------------

inline uint64_t PageCursor::number_of(const char* page) const {
  return uint64_t(page - tree_->map_) / tree_->page_bytes_;
}

Status PageCursor::fail(Status status) {
  valid_ = false;
  return status;
}

// The entry that the leaf step stands on becomes key() and value().
inline Status PageCursor::load_entry() {
  const Step& leaf = steps_[leaf_level()];
  const char* node = tree_->node_at(leaf.page, leaf.index);
  if (node == nullptr) {
    return fail(tree_->describe(number_of(leaf.page), PageTree::Kind::kLeaf));
  }
  if (!tree_->value_of(node, leaf.page, &value_)) {
    return fail(tree_->describe_value(number_of(leaf.page), node));
  }
  key_ = key_of(node);
  valid_ = true;
  return Status();
}

// Fills the steps from `level` down, along one edge of what is below `page`.
Status PageCursor::descend(unsigned level, uint64_t page, Edge edge) {
  const PageTree::Kind kind = tree_->kind_at(level);
  Step& step = steps_[level];
  step.page = tree_->load(page, kind);
  if (step.page == nullptr) return tree_->describe(page, kind);
  step.count = count_of(step.page);
  step.index = edge == Edge::kFirst ? 0 : step.count - 1;
  return kind == PageTree::Kind::kLeaf ? Status() : enter_child(level, edge);
}

// Recursion is as deep as the tree, kMaxDepth at most.
Status PageCursor::enter_child(unsigned level, Edge edge) {
  const char* node = tree_->node_at(steps_[level].page, steps_[level].index);
  if (node == nullptr) {
    return tree_->describe(number_of(steps_[level].page), PageTree::Kind::kBranch);
  }
  return descend(level + 1, child_of(node), edge);
}

Status PageCursor::first() {
  valid_ = false;
  if (tree_->root_.page == kNoPage) return Status();
  LAPSE_TRY(descend(0, tree_->root_.page, Edge::kFirst));
  return load_entry();
}

Status PageCursor::last() {
  valid_ = false;
  if (tree_->root_.page == kNoPage) return Status();
  LAPSE_TRY(descend(0, tree_->root_.page, Edge::kLast));
  return load_entry();
}

double PageCursor::position() const {
  if (!valid_) return 1;
  double position = 0;
  double width = 1;  // of the whole page, at this level
  for (unsigned level = 0; level <= leaf_level(); ++level) {
    width /= steps_[level].count;
    position += width * steps_[level].index;
  }
  return position;
}

Status PageCursor::seek(std::string_view key) {
  valid_ = false;
  uint64_t number = tree_->root_.page;
  if (number == kNoPage) return Status();
  for (unsigned level = 0;; ++level) {
    const PageTree::Kind kind = tree_->kind_at(level);
    Step& step = steps_[level];
    step.page = tree_->load(number, kind);
    if (step.page == nullptr) return tree_->describe(number, kind);
    step.count = count_of(step.page);
    bool found = false;
    const bool leaf = kind == PageTree::Kind::kLeaf;
    const bool sound = leaf ? tree_->leaf_slot(step.page, step.count, key, &step.index, &found)
                            : tree_->branch_slot(step.page, step.count, key, &step.index);
    if (!sound) return tree_->describe(number, kind);
    if (leaf) break;
    const char* node = tree_->node_at(step.page, step.index);
    if (node == nullptr) return tree_->describe(number, kind);
    number = child_of(node);
  }
  const Step& leaf = steps_[leaf_level()];
  return leaf.index < leaf.count ? load_entry() : cross(Edge::kFirst);
}

// To the next leaf's first entry, or to the previous leaf's last one.
Status PageCursor::cross(Edge edge) {
  valid_ = false;
  const char* from = steps_[leaf_level()].page;
  for (unsigned level = leaf_level(); level > 0;) {
    Step& step = steps_[--level];
    if (edge == Edge::kFirst ? step.index + 1 >= step.count : step.index == 0) continue;
    step.index += edge == Edge::kFirst ? 1 : -1;
    LAPSE_TRY(enter_child(level, edge));
    LAPSE_TRY(load_entry());
    return check_crossing(from, edge);
  }
  return Status();
}

// Without this, branches that name one child many times over would make a scan endless. If the ends
// of the leaves ascend, no leaf can come twice.
Status PageCursor::check_crossing(const char* from, Edge edge) {
  const char* lowest = tree_->node_at(from, 0);
  const char* highest = tree_->node_at(from, count_of(from) - 1);
  if (lowest == nullptr || highest == nullptr) {
    return fail(tree_->describe(number_of(from), PageTree::Kind::kLeaf));
  }
  const int order =
      edge == Edge::kFirst ? tree_->compare(key_of(highest), key_) : tree_->compare(key_, key_of(lowest));
  if (order < 0 && tree_->compare(key_of(lowest), key_of(highest)) <= 0) {
    return Status();
  }
  return fail(damaged(number_of(steps_[leaf_level()].page),
                      "its keys overlap those of page " + std::to_string(number_of(from))));
}

Status PageCursor::next() {
  assert(valid_);
  Step& leaf = steps_[leaf_level()];
  if (leaf.index + 1 >= leaf.count) return cross(Edge::kFirst);
  const std::string_view before = key_;
  ++leaf.index;
  LAPSE_TRY(load_entry());
  return check_order(before, key_);
}

Status PageCursor::prev() {
  assert(valid_);
  Step& leaf = steps_[leaf_level()];
  if (leaf.index == 0) return cross(Edge::kLast);
  const std::string_view after = key_;
  --leaf.index;
  LAPSE_TRY(load_entry());
  return check_order(key_, after);
}

// A damaged slot may lead to another entry of the page, sound in itself: it must not be shown twice.
Status PageCursor::check_order(std::string_view lower, std::string_view upper) {
  if (tree_->compare(lower, upper) < 0) return {};
  return fail(damaged(number_of(steps_[leaf_level()].page), "its keys are out of order"));
}

// --- Before a write ------------------------------------------------------------------------------

Status PathChecker::check_erase(std::string_view key) {
  if (tree_->root_.page == kNoPage) return Status();
  LAPSE_TRY(find_leaf(key));
  LAPSE_TRY(check_old_value(key).status());
  return check_neighbours();
}

// A put splits pages, but never merges them. Yet a leaf that shrinks may be merged by a later erase
// in the one beside it, whose check would have taken it for full.
Status PathChecker::check_put(std::string_view key, size_t value_bytes) {
  if (tree_->root_.page == kNoPage) return Status();
  LAPSE_TRY(find_leaf(key));
  LAPSE_TRY_ASSIGN(const size_t old_bytes, check_old_value(key));
  const bool inlined = kNodeHeader + key.size() + value_bytes <= tree_->max_node_bytes();
  return (inlined ? value_bytes : kBigValueBytes) < old_bytes ? check_neighbours() : Status();
}

Status PathChecker::find_leaf(std::string_view key) {
  const Step& leaf = path_[tree_->root_.depth - 1];
  if (have_leaf_ && compare_bytes(leaf.low, key) <= 0 &&
      (leaf.high.data() == nullptr || compare_bytes(key, leaf.high) < 0)) {
    return Status();
  }
  have_leaf_ = false;
  LAPSE_TRY(walk_to(key));
  have_leaf_ = true;
  return Status();
}

Status PathChecker::walk_to(std::string_view key) {
  path_[0] = Step();
  path_[0].number = tree_->root_.page;
  LAPSE_TRY(visit(&path_[0], 0));
  for (unsigned level = 0; level + 1 < tree_->root_.depth; ++level) {
    Step& step = path_[level];
    if (!tree_->branch_slot(step.page, step.count, key, &step.index)) {
      return tree_->describe(step.number, PageTree::Kind::kBranch);
    }
    LAPSE_TRY(visit_child(&path_, level));
  }
  return Status();
}

// The child that the step at `level` stands on becomes the step below it, standing on its first
// node.
Status PathChecker::visit_child(Path* path, unsigned level) {
  const Step& step = (*path)[level];
  const auto node = [&](unsigned index) { return step.page + slot_of(step.page, index); };
  Step child;
  child.number = child_of(node(step.index));
  child.low = step.index > 0 ? key_of(node(step.index)) : step.low;
  child.high = step.index + 1 < step.count ? key_of(node(step.index + 1)) : step.high;
  LAPSE_TRY(visit(&child, level + 1));
  (*path)[level + 1] = child;
  return Status();
}

// The bounds are checked each time: that is how a page with two parents is found.
Status PathChecker::visit(Step* step, unsigned level) {
  const PageTree::Kind kind = tree_->kind_at(level);
  if (!checked_.contains(step->number)) {
    LAPSE_TRY(tree_->check_page(step->number, kind));
    checked_.insert(step->number);
  } else {
    LAPSE_TRY(tree_->check_header(step->number, kind));  // the same page may be at another level
  }
  step->page = tree_->map_ + step->number * tree_->page_bytes_;
  step->count = count_of(step->page);
  return tree_->check_bounds(step->number, kind, step->low, step->high);
}

// Of all pages on the path but the root, which has none.
Status PathChecker::check_neighbours() {
  for (unsigned level = 1; level < tree_->root_.depth; ++level) {
    if (guarded_[level] == path_[level].number) continue;
    LAPSE_TRY(check_side(level, Side::kLeft));
    LAPSE_TRY(check_side(level, Side::kRight));
    guarded_[level] = path_[level].number;
  }
  return Status();
}

// A branch is rebalanced with the one beside it, and the lowest key below that is looked up. A leaf
// is merged with the one beside it, and the result, if it is still below a quarter full, with the
// next. What a neighbour holds is not deleted without a check of its own, so once the neighbours'
// contents add up to a quarter of a page, they cannot be merged any further.
Status PathChecker::check_side(unsigned level, Side side) {
  const unsigned leaf = tree_->root_.depth - 1U;
  Path path;
  std::copy_n(path_.begin(), level, path.begin());
  size_t used_bytes = 0;
  unsigned from = level;
  while (used_bytes < (tree_->page_bytes_ - kPageHeader) / 4 && step_aside(&path, &from, side)) {
    for (unsigned above = from; above < level; ++above) {
      LAPSE_TRY(visit_child(&path, above));
      Step& step = path[above + 1];
      if (side == Side::kLeft) step.index = step.count - 1;
    }
    if (level < leaf) {
      path[level].index = 0;
      for (unsigned above = level; above < leaf; ++above) LAPSE_TRY(visit_child(&path, above));
      return Status();
    }
    const char* page = path[leaf].page;
    used_bytes += tree_->page_bytes_ - kPageHeader - (upper_of(page) - lower_of(page));
    from = level;
  }
  return Status();
}

// Moves the nearest step above `*level` that can move; false at the tree's edge.
bool PathChecker::step_aside(Path* path, unsigned* level, Side side) {
  while (*level > 0) {
    Step& step = (*path)[--*level];
    if (side == Side::kLeft && step.index > 0) return --step.index, true;
    if (side == Side::kRight && step.index + 1 < step.count) return ++step.index, true;
  }
  return false;
}

// How much room the key's value takes in the leaf, 0 if there is none. If it is long, its run is
// checked: liblmdb frees as many pages as the run claims to have.
Result<size_t> PathChecker::check_old_value(std::string_view key) {
  const Step& leaf = path_[tree_->root_.depth - 1];
  bool found = false;
  unsigned slot = 0;
  if (!tree_->leaf_slot(leaf.page, leaf.count, key, &slot, &found)) {
    return tree_->describe(leaf.number, PageTree::Kind::kLeaf);
  }
  if (!found) return size_t{0};
  const char* node = leaf.page + slot_of(leaf.page, slot);
  if (node_flags_of(node) != kBigValue) return value_bytes_of(node);
  LAPSE_TRY(tree_->check_run(leaf.number, node));
  return kBigValueBytes;
}

// --- Everything ----------------------------------------------------------------------------------

namespace {

// Which pages have been seen. Those behind the end of the file, which only the list of free pages
// may name, are kept apart: their numbers are bounded by the file's size, their range is not.
class SeenPages {
 public:
  explicit SeenPages(uint64_t readable_pages)
      : readable_pages_(readable_pages), bits_(readable_pages / 64 + 1) {}

  // False if the page had been seen before.
  bool add(uint64_t page) {
    if (page >= readable_pages_) return beyond_.insert(page).second;
    const uint64_t bit = uint64_t{1} << (page % 64);
    if ((bits_[page / 64] & bit) != 0) return false;
    bits_[page / 64] |= bit;
    return true;
  }

 private:
  uint64_t readable_pages_;
  std::vector<uint64_t> bits_;
  std::unordered_set<uint64_t> beyond_;
};

using Visit = std::function<Status(std::string_view key, std::string_view value)>;

}  // namespace

// One pass over one tree.
class TreeWalk {
 public:
  TreeWalk(const PageTree& tree, SeenPages* seen, const Visit& visit)
      : tree_(tree), seen_(seen), visit_(visit) {}

  Status run() {
    if (tree_.root_.page == kNoPage) return Status();
    LAPSE_TRY(walk(tree_.root_.page, 0, {}, {}));
    if (entries_ == tree_.root_.entries) return Status();
    return corrupt("the tree at page " + std::to_string(tree_.root_.page) + " has " +
                   std::to_string(entries_) + " entries, but should have " +
                   std::to_string(tree_.root_.entries));
  }

  uint64_t tree_pages() const { return tree_pages_; }
  uint64_t overflow_pages() const { return overflow_pages_; }

 private:
  Status walk(uint64_t number, unsigned level, std::string_view low, std::string_view high) {
    const PageTree::Kind kind = tree_.kind_at(level);
    LAPSE_TRY(tree_.check_page(number, kind));
    LAPSE_TRY(see(number));
    LAPSE_TRY(tree_.check_bounds(number, kind, low, high));
    ++tree_pages_;
    const char* page = tree_.map_ + number * tree_.page_bytes_;
    if (kind == PageTree::Kind::kLeaf) return walk_leaf(number, page);
    const unsigned count = count_of(page);
    for (unsigned i = 0; i < count; ++i) {
      const char* node = page + slot_of(page, i);
      const auto next = i + 1 < count ? key_of(page + slot_of(page, i + 1)) : high;
      LAPSE_TRY(walk(child_of(node), level + 1, i > 0 ? key_of(node) : low, next));
    }
    return Status();
  }

  Status walk_leaf(uint64_t number, const char* page) {
    for (unsigned i = 0; i < count_of(page); ++i) {
      const char* node = page + slot_of(page, i);
      if (node_flags_of(node) == kBigValue) LAPSE_TRY(walk_run(number, node));
      std::string_view value;
      if (!tree_.value_of(node, page, &value)) return tree_.describe_value(number, node);
      ++entries_;
      LAPSE_TRY(visit_(key_of(node), value));
    }
    return Status();
  }

  Status walk_run(uint64_t number, const char* node) {
    LAPSE_TRY(tree_.check_run(number, node));
    const auto first = load_le<uint64_t>(value_bytes_at(node));
    const uint64_t pages = load_le<uint32_t>(tree_.map_ + first * tree_.page_bytes_ + 12);
    for (uint64_t page = first; page < first + pages; ++page) LAPSE_TRY(see(page));
    overflow_pages_ += pages;
    return Status();
  }

  Status see(uint64_t page) { return seen_->add(page) ? Status() : damaged(page, "it is used twice"); }

  const PageTree& tree_;
  SeenPages* seen_;
  const Visit& visit_;
  uint64_t entries_ = 0;
  uint64_t tree_pages_ = 0;
  uint64_t overflow_pages_ = 0;
};

namespace {

// Checks one record of the free list; returns how many pages it lists.
Result<uint64_t> check_free_record(std::string_view key, std::string_view value, const TreeMeta& meta,
                                   SeenPages* seen) {
  const auto txnid = load_le<uint64_t>(key.data());
  const std::string who = "the free list of transaction " + std::to_string(txnid);
  if (txnid == 0 || txnid > meta.txnid) return corrupt(who + ": there was no such transaction");
  const uint64_t room = value.size() / 8;
  if (room == 0 || value.size() % 8 != 0 || load_le<uint64_t>(value.data()) >= room) {
    return corrupt(who + " does not fit its record");
  }
  const auto count = load_le<uint64_t>(value.data());
  uint64_t previous = meta.page_count;
  for (uint64_t i = 1; i <= count; ++i) {
    const auto page = load_le<uint64_t>(value.data() + 8 * i);
    if (page < 2 || page >= previous) return damaged(page, "it is out of place in " + who);
    if (!seen->add(page)) return damaged(page, "it is in use, or free twice, but in " + who);
    previous = page;
  }
  return count;
}

Status walk_free_list(const char* map, const TreeMeta& meta, SeenPages* seen, PageUse* use) {
  const PageTree tree = PageTree::free_list(map, meta);
  const Visit visit = [&](std::string_view key, std::string_view value) -> Status {
    LAPSE_TRY_ASSIGN(const uint64_t pages, check_free_record(key, value, meta, seen));
    use->free_pages += pages;
    return Status();
  };
  TreeWalk walk(tree, seen, visit);
  LAPSE_TRY(walk.run());
  use->free_list_pages = walk.tree_pages() + walk.overflow_pages();
  return Status();
}

}  // namespace

Result<PageUse> check_tree(const char* map, const TreeMeta& meta, const Visit& visit) {
  PageUse use;
  SeenPages seen(meta.readable_pages);
  const PageTree tree(map, meta);
  TreeWalk walk(tree, &seen, visit);
  LAPSE_TRY(walk.run());
  use.tree_pages = walk.tree_pages();
  use.overflow_pages = walk.overflow_pages();
  LAPSE_TRY(walk_free_list(map, meta, &seen, &use));
  use.lost_pages =
      meta.page_count - 2 - use.tree_pages - use.overflow_pages - use.free_list_pages - use.free_pages;
  return use;
}

Result<uint64_t> check_free_list(const char* map, const TreeMeta& meta) {
  PageUse use;
  SeenPages seen(meta.readable_pages);
  LAPSE_TRY(walk_free_list(map, meta, &seen, &use));
  return use.free_pages;
}

}  // namespace lapse::engine
