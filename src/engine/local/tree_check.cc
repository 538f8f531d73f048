#include "engine/local/tree_check.h"

#include <string>

#include "base/coding.h"
#include "base/try.h"
#include "engine/local/page_reading.h"

namespace lapse::engine {

namespace {

using Visit = std::function<Status(std::string_view key, std::string_view value)>;

}  // namespace

// One pass over one tree.
class TreeWalk {
 public:
  TreeWalk(const PageTree& tree, PageSet* seen, const Visit& visit)
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
    const uint64_t pages = tree_.run_pages(first);
    for (uint64_t page = first; page < first + pages; ++page) LAPSE_TRY(see(page));
    overflow_pages_ += pages;
    return Status();
  }

  Status see(uint64_t page) { return seen_->add(page) ? Status() : damaged(page, "it is used twice"); }

  const PageTree& tree_;
  PageSet* seen_;
  const Visit& visit_;
  uint64_t entries_ = 0;
  uint64_t tree_pages_ = 0;
  uint64_t overflow_pages_ = 0;
};

namespace {

// Checks one record of the free list; returns how many pages it lists.
Result<uint64_t> check_free_record(std::string_view key, std::string_view value, const TreeMeta& meta,
                                   PageSet* seen) {
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

Status walk_free_list(const char* map, const TreeMeta& meta, PageSet* seen, PageUse* use) {
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
  PageSet seen(meta.readable_pages);
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

Result<FreePages> check_free_list(const char* map, const TreeMeta& meta) {
  PageUse use;
  PageSet seen(meta.readable_pages);
  LAPSE_TRY(walk_free_list(map, meta, &seen, &use));
  return FreePages{use.free_pages, std::move(seen)};
}

}  // namespace lapse::engine
