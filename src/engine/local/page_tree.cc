#include "engine/local/page_tree.h"

#include <algorithm>
#include <cassert>
#include <string>

#include "base/prefetch.h"
#include "base/try.h"
#include "engine/local/page_reading.h"

namespace lapse::engine {

PageTree::Way PageTree::way_to(std::string_view key) const {
  uint64_t number = root_.page;
  unsigned slot = 0;
  for (unsigned level = 0; level + 1 < root_.depth; ++level) {
    const char* page = load(number, Kind::kBranch);
    if (page == nullptr || !branch_slot(page, count_of(page), key, &slot)) return {number, false};
    const char* node = node_at(page, slot);
    if (node == nullptr) return {number, false};
    number = child_of(node);
  }
  if (in_file(number)) prefetch(map_ + number * page_bytes_, 128);  // with the header, its slots
  return {number, true};
}

Result<std::optional<std::string_view>> PageTree::get(std::string_view key, Way way) const {
  if (root_.page == kNoPage) return std::optional<std::string_view>();
  if (!way.is_sound) return describe(way.number, Kind::kBranch);
  const char* page = load(way.number, Kind::kLeaf);
  if (page == nullptr) return describe(way.number, Kind::kLeaf);
  unsigned slot = 0;
  bool found = false;
  expect_nodes<4>(page, 0, count_of(page));  // for a leaf of 31 entries or less, all but the last step
  if (!leaf_slot(page, count_of(page), key, &slot, &found)) {
    return describe(way.number, Kind::kLeaf);
  }
  if (!found) return std::optional<std::string_view>();
  std::string_view value;
  const char* node = page + slot_of(page, slot);
  if (!value_of(node, page, &value)) return describe_value(way.number, node);
  return std::optional<std::string_view>(value);
}

// --- Many searches at once -----------------------------------------------------------------------

// What it looks at in one step it has asked for in the one before.
struct PageTree::Search {
  std::string_view key;
  Found* found = nullptr;
  uint64_t number = kNoPage;
  const char* page = nullptr;  // null: its header has yet to come
  unsigned level = 0;
  unsigned low = 0;
  unsigned high = 0;

  void enter(const PageTree& tree, uint64_t child) {
    number = child;
    page = nullptr;
    prefetch(tree.map_ + child * tree.page_bytes_, 128);  // a leaf's slots as well
  }

  // False if it has come to an end, be it the page where get() will find that something is wrong.
  bool step(const PageTree& tree) {
    const bool leaf = tree.kind_at(level) == Kind::kLeaf;
    if (page == nullptr) {
      page = tree.load(number, tree.kind_at(level));
      if (page == nullptr) return false;
      low = leaf ? 0 : 1;
      high = count_of(page);
    } else {
      const unsigned middle = (low + high) / 2;
      const char* node = tree.node_at(page, middle);
      if (node == nullptr) return false;
      const int order = compare_bytes(key_of(node), key);
      if (leaf && order == 0) {
        take_value(tree, node);
        return false;
      }
      (order <= 0 ? low : high) = order <= 0 ? middle + 1 : middle;
    }
    if (low < high) {
      prefetch(page + slot_of(page, (low + high) / 2), 1);
      return true;
    }
    if (leaf) {
      found->known = true;
      return false;
    }
    const char* node = tree.node_at(page, low - 1);
    if (node == nullptr || !tree.in_file(child_of(node))) return false;
    ++level;
    enter(tree, child_of(node));
    return true;
  }

  void take_value(const PageTree& tree, const char* node) const {
    prefetch(value_bytes_at(node), 128);
    std::string_view value;
    if (node_flags_of(node) != 0 || !tree.value_of(node, page, &value)) return;
    *found = {true, value};
  }
};

void PageTree::find_together(std::span<const std::string_view> keys, Found* found) const {
  assert(keys.size() <= kTogether);
  if (!in_file(root_.page)) return;
  Search searches[kTogether];
  size_t going_on = 0;
  for (const std::string_view key : keys) {
    Search& search = searches[going_on];
    search.key = key;
    search.found = &found[going_on++];
    search.enter(*this, root_.page);
  }
  while (going_on > 0) {
    for (size_t i = 0; i < going_on;) {
      if (searches[i].step(*this)) {
        ++i;
      } else {
        searches[i] = searches[--going_on];
      }
    }
  }
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
  if (leaf.index < leaf.count) return load_entry();
  LAPSE_TRY(cross(Edge::kFirst));
  // The branches said so, but the leaf may be of another time than they are.
  if (!valid_ || tree_->compare(key, key_) <= 0) return Status();
  return fail(damaged(number_of(leaf.page), "its keys are lower than the branches above it say"));
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

}  // namespace lapse::engine
