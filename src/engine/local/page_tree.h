// PageTree: reads LMDB's B-trees straight from the mapped file, and believes nothing it finds.
//
//   LAPSE_TRY_ASSIGN(TreeMeta meta, current_meta(head, file_bytes));
//   PageTree tree(map, meta);
//   LAPSE_TRY_ASSIGN(auto value, tree.get("key"));  // std::optional<std::string_view>
//   PageCursor cursor(&tree);
//   LAPSE_TRY(cursor.first());
//   while (cursor.valid()) { …; LAPSE_TRY(cursor.next()); }
//
// liblmdb stays the only writer. Reading is ours for three reasons: liblmdb follows whatever a
// damaged page says, out of the page and into a crash or an abort(); it does not document that one
// read transaction may serve several threads; and a reader that only reads is faster.
//
// What holds:
//  - Nothing outside [map, map + readable_pages * page_bytes) is read, whatever the pages hold. A
//    page that is not what it should be is kCorrupt, and the message begins with its number.
//  - Every move ends: paths are exactly as long as the meta says (at most kMaxDepth), and a cursor
//    that goes from leaf to leaf sees keys that strictly ascend (or descend).
//  - A PageTree is immutable, and any number of threads may use one. A PageCursor and a PathChecker
//    belong to one thread at a time.
//  - Views point into the map. They, the tree and its cursors are good while the map stands, and
//    while a read transaction of liblmdb, of `meta.txnid` or older, keeps the pages from reuse.
//
// Files are those of LMDB 0.9 on 64-bit little-endian machines (data version 1). The tree is the
// unnamed database, opened without flags: keys of 1 to 511 bytes in memcmp order, no duplicates.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/local/page_format.h"
#include "engine/local/tree_meta.h"
#include "lapse/status.h"

namespace lapse::engine {

class PageTree {
 public:
  // REQUIRES: `meta` is from parse_meta() or the like, and all its readable pages are mapped at
  // `map`.
  PageTree(const char* map, const TreeMeta& meta) : PageTree(map, meta, meta.main, false) {}
  // The tree of free pages, whose keys are numbers. Only for cursors: get() and seek() would miss.
  static PageTree free_list(const char* map, const TreeMeta& meta) {
    return PageTree(map, meta, meta.free, true);
  }

  // The value, or nothing if the key is absent. kCorrupt: a page on the way is damaged.
  Result<std::optional<std::string_view>> get(std::string_view key) const { return get(key, way_to(key)); }

  // The same in two steps, for who can do something else while the leaf comes from memory.
  struct Way {
    uint64_t number = 0;    // of the page it ends at: the leaf, or one that is damaged
    bool is_sound = false;  // whether no damage was met on it
  };
  Way way_to(std::string_view key) const;
  Result<std::optional<std::string_view>> get(std::string_view key, Way way) const;

  // get() for many keys. A search waits for memory at each step; here the searches for all keys take their steps in turns,
  // so that they wait together.
  struct Found {
    bool known = false;  // not if something is wrong, or the value is a long one: then get() has to see to it
    std::optional<std::string_view> value;
  };
  // REQUIRES: at most kTogether keys, and room for what is found of each.
  void find_together(std::span<const std::string_view> keys, Found* found) const;
  static constexpr size_t kTogether = 16;  // about what a processor can be waiting for

  const TreeRoot& root() const { return root_; }
  uint64_t entries() const { return root_.entries; }

 private:
  friend class PageCursor;
  friend class PathChecker;
  friend class TreeWalk;

  struct Search;  // one that takes a step at a time

  enum class Kind : uint16_t { kBranch = 1, kLeaf = 2, kOverflow = 4 };  // as the page's flags have it

  PageTree(const char* map, const TreeMeta& meta, const TreeRoot& root, bool numeric)
      : map_(map),
        page_bytes_(meta.page_bytes),
        numeric_(numeric),
        readable_pages_(meta.readable_pages),
        root_(root) {}

  Kind kind_at(unsigned level) const { return level + 1 < root_.depth ? Kind::kBranch : Kind::kLeaf; }
  bool in_file(uint64_t page) const { return page >= 2 && page < readable_pages_; }

  // The quick ones, for reading: null or false if anything is wrong. describe() then says what.
  const char* load(uint64_t page, Kind kind) const;
  const char* node_at(const char* page, unsigned index) const;
  bool value_of(const char* node, const char* page, std::string_view* value) const;
  bool branch_slot(const char* page, unsigned count, std::string_view key, unsigned* slot) const;
  bool leaf_slot(const char* page, unsigned count, std::string_view key, unsigned* slot, bool* found) const;

  // The thorough ones, for writing and for check_tree(): everything that liblmdb's code relies on.
  Status check_page(uint64_t number, Kind kind) const;
  Status check_header(uint64_t number, Kind kind) const;
  Status check_slots(uint64_t number, const char* page, Kind kind) const;
  Status check_bounds(uint64_t number, Kind kind, std::string_view low, std::string_view high) const;
  Status check_run(uint64_t number, const char* node) const;
  uint64_t run_pages(uint64_t first) const;  // as the run says; REQUIRES: its header was checked
  size_t max_node_bytes() const;
  size_t node_bytes(const char* page, size_t offset, Kind kind) const;
  [[gnu::cold]] Status describe(uint64_t number, Kind kind) const;
  [[gnu::cold]] Status describe_value(uint64_t number, const char* node) const;
  int compare(std::string_view a, std::string_view b) const;

  const char* map_;
  uint32_t page_bytes_;
  bool numeric_;  // keys are 8-byte numbers: the tree of free pages
  uint64_t readable_pages_;
  TreeRoot root_;
};

// Born without a position. A failed move leaves it without one.
class PageCursor {
 public:
  // The tree must outlive the cursor.
  explicit PageCursor(const PageTree* tree) : tree_(tree) {}

  Status seek(std::string_view key);  // to the first entry at or after key
  Status first();
  Status last();
  Status next();  // REQUIRES: valid()
  Status prev();  // REQUIRES: valid()

  bool valid() const { return valid_; }
  // How far into the tree it stands, from 0 to 1, if all pages of a level were equally full; 1 without a position.
  double position() const;
  // REQUIRES: valid(). Both point into the map.
  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }

 private:
  struct Step {
    const char* page;
    uint32_t index;
    uint32_t count;
  };
  enum class Edge { kFirst, kLast };

  Status descend(unsigned level, uint64_t page, Edge edge);
  Status enter_child(unsigned level, Edge edge);
  Status cross(Edge edge);
  Status check_crossing(const char* from, Edge edge);
  Status load_entry();
  Status check_order(std::string_view lower, std::string_view upper);
  Status fail(Status status);
  unsigned leaf_level() const { return tree_->root_.depth - 1U; }
  uint64_t number_of(const char* page) const;

  const PageTree* tree_;
  bool valid_ = false;
  std::string_view key_;
  std::string_view value_;
  std::array<Step, kMaxDepth> steps_;  // from the root to the leaf; what lies below is never read
};

}  // namespace lapse::engine
