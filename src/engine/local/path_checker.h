// PathChecker: says whether liblmdb can be let loose on a key: ask before each mdb_put() and mdb_del().
//
// Everything that liblmdb may touch then is checked as thoroughly as check_tree() does it: the
// pages on the path, and the overflow run of the key's present value; and if the leaf may have become so
// empty that liblmdb merges it, or has lost its last entry, so that the cursor steps to the next leaf,
// also the neighbours at each level, below a neighbouring branch its lowest leaf, whose first key is
// looked up, and beyond a neighbouring leaf, while they are so empty that they may be merged too, the
// next ones. A page is checked once, and keys that arrive in order cost little more than the search in
// their leaf.
//
// How full a leaf is by now is known as long as only erases were let loose on it: what it held, less what
// they took. A put may have split it, and a merge beside it may have moved entries: from then on each
// erase in it checks the neighbours.
//
// The tree is the committed state that the write transaction began with: pages written since are
// liblmdb's own. The list of free pages is not covered: check_free_list() does that. No page that is
// touched may be in it: liblmdb may have given it to another part of the tree already, and aborts when it
// is to copy a page onto itself.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "engine/local/page_set.h"
#include "engine/local/page_tree.h"
#include "lapse/status.h"

namespace lapse::engine {

class PathChecker {
 public:
  // `free_pages` is from check_free_list(). Both must outlive the checker.
  PathChecker(const PageTree* tree, const PageSet* free_pages) : tree_(tree), free_pages_(free_pages) {}
  PathChecker(PathChecker&&) = default;  // a copy's path would point into the other's pages
  Status check_put(std::string_view key, size_t value_bytes);
  Status check_erase(std::string_view key);
  // For reading the first entry at or after a key.
  Status check_seek(std::string_view key);

 private:
  // Of a page that has been checked; of a leaf, what is known about its fill.
  struct Checked {
    size_t erased_bytes = 0;
    bool fill_is_known = true;
  };
  // A page, and the keys that may be in it: [low, high). high.data() == nullptr: no upper bound.
  struct Step {
    uint64_t number = kNoPage;
    const char* page = nullptr;
    Checked* checked = nullptr;
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
  // A key's value, as the tree has it.
  struct OldValue {
    size_t bytes = 0;  // the room that it takes in the leaf
    bool is_last = false;
  };
  Result<std::optional<OldValue>> check_old_value(std::string_view key);
  size_t used_bytes(const Step& leaf) const;
  Status check_not_free(uint64_t page) const;

  const PageTree* tree_;
  const PageSet* free_pages_;
  Path path_;
  std::array<uint64_t, kMaxDepth> guarded_{};  // per level, the page whose neighbours are checked
  bool have_leaf_ = false;                     // path_ leads to a checked leaf
  std::unordered_map<uint64_t, Checked> checked_;
};

}  // namespace lapse::engine
