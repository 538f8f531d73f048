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
#include <functional>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "lapse/status.h"

namespace lapse::engine {

inline constexpr uint64_t kNoPage = ~uint64_t{0};
inline constexpr unsigned kMaxDepth = 32;                // liblmdb's own limit
inline constexpr size_t kMaxTreeKeyBytes = 511;          // as liblmdb is built by default
inline constexpr size_t kMetaHeadBytes = 2 * (1 << 15);  // two pages of the largest size there is

struct TreeRoot {
  uint64_t page = kNoPage;  // kNoPage: the tree is empty
  uint16_t depth = 0;       // levels: 1 if the root is a leaf
  uint64_t entries = 0;
  uint64_t branch_pages = 0;
  uint64_t leaf_pages = 0;
  uint64_t overflow_pages = 0;
};

// One committed state of the file.
struct TreeMeta {
  uint64_t txnid = 0;
  uint32_t page_bytes = 0;
  uint64_t page_count = 0;      // ever allocated, the two meta pages included
  uint64_t readable_pages = 0;  // of those, the ones inside the file. LMDB does not write pages that it
                                // allocated and freed in one transaction, so a sound file may be short.
  TreeRoot main;
  TreeRoot free;  // LMDB's list of free pages
};

// Parses one meta page, whole, and checks all that can be checked without reading other pages.
//   kCorrupt: not a meta page, or not one that LMDB would write for us; kUnsupported: newer format.
Result<TreeMeta> parse_meta(std::string_view page, uint64_t file_bytes);

// The newer of the two metas: the one LMDB goes by. `head` is the beginning of the file:
// kMetaHeadBytes, or all of it if it is shorter. Run it before LMDB opens a file: LMDB divides by
// the page size it finds. Both must be sound in themselves, since LMDB looks into both; only the newer one
// must lead somewhere. An empty file is kCorrupt here.
Result<TreeMeta> current_meta(std::string_view head, uint64_t file_bytes);

// The meta of one transaction, which its second successor overwrites: kBusy if that has happened.
// REQUIRES: no commit runs meanwhile.
Result<TreeMeta> meta_of_txn(std::string_view head, uint64_t file_bytes, uint64_t txnid);

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
  Result<std::optional<std::string_view>> get(std::string_view key) const;

  const TreeRoot& root() const { return root_; }
  uint64_t entries() const { return root_.entries; }

 private:
  friend class PageCursor;
  friend class PathChecker;
  friend class TreeWalk;

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

// Says whether liblmdb can be let loose on a key: ask before each mdb_put() and mdb_del().
//
// Everything that liblmdb may touch then is checked as thoroughly as check_tree() does it: the
// pages on the path, and the overflow run of the key's present value; for an erase, and for a put
// that makes its leaf smaller, also the neighbours at each level, with which liblmdb merges, below
// a neighbouring branch its lowest leaf, whose first key is looked up, and beyond a neighbouring
// leaf, while they are so empty that they may be merged too, the next ones. A page is checked once,
// and keys that arrive in order cost little more than the search in their leaf.
//
// The tree is the committed state that the write transaction began with: pages written since are
// liblmdb's own. The list of free pages is not covered: check_free_list() does that.
class PathChecker {
 public:
  explicit PathChecker(const PageTree* tree) : tree_(tree) {}
  Status check_put(std::string_view key, size_t value_bytes);
  Status check_erase(std::string_view key);

 private:
  // A page, and the keys that may be in it: [low, high). high.data() == nullptr: no upper bound.
  struct Step {
    uint64_t number = kNoPage;
    const char* page = nullptr;
    unsigned index = 0;
    unsigned count = 0;
    std::string_view low;
    std::string_view high;
  };
  using Path = std::array<Step, kMaxDepth>;
  enum class Side { kLeft, kRight };

  Status find_leaf(std::string_view key);
  Status walk_to(std::string_view key);
  Status check_neighbours();
  Status check_side(unsigned level, Side side);
  static bool step_aside(Path* path, unsigned* level, Side side);
  Status visit_child(Path* path, unsigned level);
  Status visit(Step* step, unsigned level);
  Result<size_t> check_old_value(std::string_view key);

  const PageTree* tree_;
  Path path_;
  std::array<uint64_t, kMaxDepth> guarded_{};  // per level, the page whose neighbours are checked
  bool have_leaf_ = false;                     // path_ leads to a checked leaf
  std::unordered_set<uint64_t> checked_;
};

// How the pages of a sound file are used.
struct PageUse {
  uint64_t tree_pages = 0;       // branches and leaves of the main tree
  uint64_t overflow_pages = 0;   // of its long values
  uint64_t free_list_pages = 0;  // all pages of the tree of free pages
  uint64_t free_pages = 0;       // listed in it
  uint64_t lost_pages = 0;       // in no list: harmless, but the space is gone until compact_to()
};

// Reads everything: both trees page by page, that no page is used twice, that keys ascend and stay
// between their separators, that all leaves are equally deep, that the numbers of entries are those
// of the meta. Calls visit for each entry of the main tree, in order; a Status of it that is not ok
// ends the check and is returned.
Result<PageUse> check_tree(const char* map, const TreeMeta& meta,
                           const std::function<Status(std::string_view key, std::string_view value)>& visit);

// The part of check_tree() that concerns the list of free pages, without which no write transaction
// is safe: liblmdb copies as many numbers as a record claims to hold, and writes where they say.
// Returns how many pages are free. Reads 8 bytes per free page.
Result<uint64_t> check_free_list(const char* map, const TreeMeta& meta);

}  // namespace lapse::engine
