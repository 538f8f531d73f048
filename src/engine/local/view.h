// How reads go: a transaction's own writes, then the active buffer, then the frozen one, then the tree.

#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "engine/local/tree.h"
#include "engine/local/write_buffer.h"
#include "lapse/process.h"

namespace lapse::engine {

// Everything there is to read from, as of one moment in the life of the buffers. Views are published whole,
// and kept alive by those who read from them.
struct View {
  std::shared_ptr<WriteBuffer> active;
  std::shared_ptr<WriteBuffer> frozen;  // being drained: lies over a tree that has some of it; may be null
  std::shared_ptr<const Generation> generation;
};

// A view at a sequence. With `own`, a transaction's writes over it.
struct ReadPoint {
  std::shared_ptr<const View> view;
  uint64_t sequence = 0;
  const WriteBuffer* own = nullptr;
  const uint64_t* own_changes = nullptr;  // counts what happened to `own`
  const bool* transaction_open = nullptr;
  bool verify_checksums = true;
  uint64_t opened_in = fork_generation();

  // kInvalidArgument once the transaction has ended; kUnavailable in a forked child, which does not keep the
  // tree's pages from being used again.
  Status check_usable() const;
  Result<std::optional<std::string_view>> get(std::string_view key) const;
  // Reader::expect()
  void expect(std::span<const std::string_view> keys) const;
  // About how many entries have keys in [from, to).
  Result<uint64_t> estimate_entries(std::string_view from, std::string_view to) const;

 private:
  Result<double> estimate_surplus(const WriteBuffer& buffer, const WriteBuffer* below, std::string_view from,
                                  std::string_view to) const;
};

// Merges the sources of a read point in key order; of equal keys the upper source counts. What is erased in the buffers is
// stepped over one by one, but never beyond the range.
class MergeCursor final : public Cursor {
 public:
  // `patience`: how many erased keys it may step over before it gives up.
  MergeCursor(const ReadPoint* point, Range range, size_t patience = std::numeric_limits<size_t>::max());

  bool has_given_up() const { return !valid_ && patience_ == 0; }

  Status seek(std::string_view key) override;
  Status first() override;
  Status last() override;
  Status next() override;
  Status prev() override;

  bool valid() const override { return valid_; }
  std::string_view key() const override { return key_; }
  std::string_view value() const override { return value_; }

 private:
  static constexpr int kBuffers = 3;
  static constexpr unsigned kTreeBit = 1U << kBuffers;
  enum class Direction { kForward, kBackward };

  Status restart(Direction direction);
  Status tree_moved(Status status);
  template <typename MoveBuffer, typename MoveTree>
  Status move_all(MoveBuffer move_buffer, MoveTree move_tree);
  bool can_step(Direction direction) const;
  Status step(Direction direction);
  Status step_past_current();
  Status move_beyond(const std::string& key, Direction direction);
  Status settle();
  bool has_left_range() const;
  unsigned find_front(std::string_view* key) const;

  const ReadPoint* point_;
  const Range range_;
  size_t patience_;
  WriteBuffer::Iterator buffers_[kBuffers];  // upper ones first
  TreeCursor tree_;
  Direction direction_ = Direction::kForward;
  uint64_t seen_own_changes_ = 0;
  unsigned at_current_ = 0;  // which sources stand at the current key, a bit each
  bool valid_ = false;
  std::string_view key_;
  std::string_view value_;
};

}  // namespace lapse::engine
