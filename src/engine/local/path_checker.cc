#include "engine/local/path_checker.h"

#include <algorithm>

#include "base/coding.h"
#include "base/try.h"
#include "engine/local/page_reading.h"

namespace lapse::engine {

Status PathChecker::check_erase(std::string_view key) {
  if (tree_->root_.page == kNoPage) return Status();
  LAPSE_TRY(find_leaf(key));
  LAPSE_TRY_ASSIGN(const std::optional<OldValue> old, check_old_value(key));
  const Step& leaf = path_[tree_->root_.depth - 1];
  if (old) leaf.checked->erased_bytes += even(kNodeHeader + key.size() + old->bytes) + kSlotBytes;
  // liblmdb merges a leaf that is below a quarter full; this is a little above that.
  const size_t full_enough = (tree_->page_bytes_ - kPageHeader) * 3 / 10;
  const bool is_full_enough =
      leaf.checked->fill_is_known && used_bytes(leaf) >= leaf.checked->erased_bytes + full_enough;
  return is_full_enough && !(old && old->is_last) ? Status() : check_neighbours();
}

Status PathChecker::check_seek(std::string_view key) {
  if (tree_->root_.page == kNoPage) return Status();
  LAPSE_TRY(find_leaf(key));
  return check_neighbours();
}

// A put splits pages, but never merges them. Yet a leaf that shrinks may be merged by a later erase
// in the one beside it, whose check would have taken it for full.
Status PathChecker::check_put(std::string_view key, size_t value_bytes) {
  if (tree_->root_.page == kNoPage) return Status();
  LAPSE_TRY(find_leaf(key));
  LAPSE_TRY_ASSIGN(const std::optional<OldValue> old, check_old_value(key));
  const bool inlined = kNodeHeader + key.size() + value_bytes <= tree_->max_node_bytes();
  const size_t new_bytes = inlined ? value_bytes : kBigValueBytes;
  if (old && old->bytes == new_bytes) return Status();
  path_[tree_->root_.depth - 1].checked->fill_is_known = false;
  return old && new_bytes < old->bytes ? check_neighbours() : Status();
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
  if (const auto known = checked_.find(step->number); known != checked_.end()) {
    LAPSE_TRY(tree_->check_header(step->number, kind));  // the same page may be at another level
    step->checked = &known->second;
  } else {
    LAPSE_TRY(tree_->check_page(step->number, kind));
    LAPSE_TRY(check_not_free(step->number));
    step->checked = &checked_[step->number];
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
  size_t used = 0;
  unsigned from = level;
  while (used < (tree_->page_bytes_ - kPageHeader) / 4 && step_aside(&path, &from, side)) {
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
    path[leaf].checked->fill_is_known = false;
    used += used_bytes(path[leaf]);
    from = level;
  }
  return Status();
}

// When the transaction began.
size_t PathChecker::used_bytes(const Step& leaf) const {
  return tree_->page_bytes_ - kPageHeader - (upper_of(leaf.page) - lower_of(leaf.page));
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

// Nothing if it is not there. If it is long, its run is checked: liblmdb frees as many pages as the run
// claims to have.
Result<std::optional<PathChecker::OldValue>> PathChecker::check_old_value(std::string_view key) {
  const Step& leaf = path_[tree_->root_.depth - 1];
  bool found = false;
  unsigned slot = 0;
  if (!tree_->leaf_slot(leaf.page, leaf.count, key, &slot, &found)) {
    return tree_->describe(leaf.number, PageTree::Kind::kLeaf);
  }
  if (!found) return std::optional<OldValue>();
  const char* node = leaf.page + slot_of(leaf.page, slot);
  OldValue old{.bytes = kBigValueBytes, .is_last = slot + 1 == leaf.count};
  if (node_flags_of(node) != kBigValue) {
    old.bytes = value_bytes_of(node);
    return std::optional(old);
  }
  LAPSE_TRY(tree_->check_run(leaf.number, node));
  const auto first = load_le<uint64_t>(value_bytes_at(node));
  const uint64_t pages = tree_->run_pages(first);
  for (uint64_t page = first; page < first + pages; ++page) LAPSE_TRY(check_not_free(page));
  return std::optional(old);
}

Status PathChecker::check_not_free(uint64_t page) const {
  return free_pages_->contains(page) ? damaged(page, "it is in use, but listed as free") : Status();
}

}  // namespace lapse::engine
