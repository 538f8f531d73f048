#include "engine/local/view.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <iterator>

#include "base/try.h"

namespace lapse::engine {

namespace {

constexpr uint64_t kEverything = ~uint64_t{0};  // a transaction sees all of its own writes

std::optional<std::string_view> value_of(const WriteBuffer::Version& version) {
  if (version.erased) return std::nullopt;
  return version.value();
}

WriteBuffer::Iterator iterate(const WriteBuffer* buffer, uint64_t sequence) {
  if (buffer == nullptr) return {};
  return {buffer, sequence};
}

}  // namespace

Status ReadPoint::check_usable() const {
  if (fork_generation() != opened_in)
    return {StatusCode::kUnavailable, "inherited over fork(); open the store anew"};
  if (transaction_open != nullptr && !*transaction_open)
    return {StatusCode::kInvalidArgument, "the transaction has ended"};
  return {};
}

Result<std::optional<std::string_view>> ReadPoint::get(std::string_view key) const {
  LAPSE_TRY(check_usable());
  if (key.size() > kMaxKeyBytes)
    return Status(StatusCode::kTooLarge, "key of " + std::to_string(key.size()) + " bytes: the limit is " +
                                             std::to_string(kMaxKeyBytes));
  if (own != nullptr && !own->empty()) {
    if (const auto* version = own->find(key, kEverything)) return value_of(*version);
  }
  const WriteBuffer* const buffers[] = {view->active.get(), view->frozen.get()};
  const auto is_empty = [](const WriteBuffer* buffer) { return buffer == nullptr || buffer->empty(); };
  for (const WriteBuffer* buffer : buffers) {
    if (!is_empty(buffer)) buffer->expect(key);
  }
  // While what the buffers have of it is on its way from memory, and the other way about.
  Generation::Search search(view->generation.get(), key);
  for (const WriteBuffer* buffer : buffers) {
    if (is_empty(buffer)) continue;
    if (const auto* version = buffer->find(key, sequence)) return value_of(*version);
  }
  return search.get(verify_checksums);
}

// What a buffer has is not looked for in the tree: where much is written, that is many of the keys.
void ReadPoint::expect(std::span<const std::string_view> keys) const {
  if (!check_usable().ok()) return;
  const WriteBuffer* const buffers[] = {view->active.get(), view->frozen.get()};
  for (const WriteBuffer* buffer : buffers) {
    if (buffer != nullptr && !buffer->empty()) buffer->expect(keys);
  }
  view->generation->expect(keys, [&](std::string_view key) {
    return std::any_of(std::begin(buffers), std::end(buffers), [&](const WriteBuffer* buffer) {
      return buffer != nullptr && !buffer->empty() && buffer->find(key, sequence) != nullptr;
    });
  });
}

Result<uint64_t> ReadPoint::estimate_entries(std::string_view from, std::string_view to) const {
  constexpr uint64_t kCountedExactly = 256;
  constexpr size_t kErasedOnTheWay = 4096;
  uint64_t counted = 0;
  MergeCursor cursor(this, {std::string(from), std::string(to)}, kErasedOnTheWay);
  for (Status status = cursor.first(); counted < kCountedExactly; status = cursor.next(), ++counted) {
    LAPSE_TRY(status);
    if (cursor.has_given_up()) break;
    if (!cursor.valid()) return counted;
  }
  LAPSE_TRY_ASSIGN(double estimate, view->generation->estimate_entries(from, to));
  LAPSE_TRY_ASSIGN(const double active, estimate_surplus(*view->active, view->frozen.get(), from, to));
  estimate += active;
  if (view->frozen) {
    LAPSE_TRY_ASSIGN(const double frozen, estimate_surplus(*view->frozen, nullptr, from, to));
    estimate += frozen;
  }
  return std::max(counted, static_cast<uint64_t>(std::max(0.0, estimate)));
}

// By how many entries a buffer changes the number of those below it, judged by a sample of its keys.
Result<double> ReadPoint::estimate_surplus(const WriteBuffer& buffer, const WriteBuffer* below,
                                           std::string_view from, std::string_view to) const {
  const WriteBuffer::Sample sample = buffer.sample(from, to, sequence);
  double surplus = 0;
  for (const auto& [key, erased] : sample.keys) {
    const WriteBuffer::Version* version = below == nullptr ? nullptr : below->find(key, sequence);
    bool was_there = version != nullptr && !version->erased;
    if (version == nullptr) {
      LAPSE_TRY_ASSIGN(const auto value, view->generation->get(key, verify_checksums));
      was_there = value.has_value();
    }
    surplus += (erased ? 0 : 1) - (was_there ? 1 : 0);
  }
  return surplus * sample.keys_per_sample;
}

MergeCursor::MergeCursor(const ReadPoint* point, Range range, size_t patience)
    : point_(point),
      range_(std::move(range)),
      patience_(patience),
      buffers_{iterate(point->own, kEverything), iterate(point->view->active.get(), point->sequence),
               iterate(point->view->frozen.get(), point->sequence)},
      tree_(point->view->generation.get(), point->verify_checksums) {}

Status MergeCursor::restart(Direction direction) {
  valid_ = false;
  direction_ = direction;
  if (point_->own_changes != nullptr) seen_own_changes_ = *point_->own_changes;
  return point_->check_usable();
}

Status MergeCursor::tree_moved(Status status) {
  return point_->view->generation->with_path(std::move(status));
}

template <typename MoveBuffer, typename MoveTree>
Status MergeCursor::move_all(MoveBuffer move_buffer, MoveTree move_tree) {
  for (WriteBuffer::Iterator& buffer : buffers_) move_buffer(&buffer);
  return tree_moved(move_tree(&tree_));
}

Status MergeCursor::seek(std::string_view key) {
  LAPSE_TRY(restart(Direction::kForward));
  const std::string_view at = std::max<std::string_view>(key, range_.from);
  LAPSE_TRY(move_all([&](auto* buffer) { buffer->seek(at); }, [&](auto* tree) { return tree->seek(at); }));
  return settle();
}

Status MergeCursor::first() {
  if (!range_.from.empty()) return seek(range_.from);
  LAPSE_TRY(restart(Direction::kForward));
  LAPSE_TRY(move_all([](auto* buffer) { buffer->first(); }, [](auto* tree) { return tree->first(); }));
  return settle();
}

Status MergeCursor::last() {
  if (range_.to) {
    LAPSE_TRY(move_beyond(*range_.to, Direction::kBackward));
  } else {
    LAPSE_TRY(restart(Direction::kBackward));
    LAPSE_TRY(move_all([](auto* buffer) { buffer->last(); }, [](auto* tree) { return tree->last(); }));
  }
  return settle();
}

Status MergeCursor::next() { return step(Direction::kForward); }
Status MergeCursor::prev() { return step(Direction::kBackward); }

Status MergeCursor::step(Direction direction) {
  assert(valid_);
  valid_ = false;
  LAPSE_TRY(point_->check_usable());  // else the key it stands at may be gone
  if (can_step(direction)) {
    LAPSE_TRY(step_past_current());
  } else {
    LAPSE_TRY(move_beyond(std::string(key_), direction));
  }
  return settle();
}

// Not after a turn, and not when the transaction has written since: then the sources stand elsewhere.
bool MergeCursor::can_step(Direction direction) const {
  return direction == direction_ &&
         (point_->own_changes == nullptr || *point_->own_changes == seen_own_changes_);
}

Status MergeCursor::step_past_current() {
  const bool forward = direction_ == Direction::kForward;
  for (unsigned bits = at_current_ & ~kTreeBit; bits != 0; bits &= bits - 1) {
    WriteBuffer::Iterator& buffer = buffers_[std::countr_zero(bits)];
    forward ? buffer.next() : buffer.prev();
  }
  if ((at_current_ & kTreeBit) == 0) return {};
  return tree_moved(forward ? tree_.next() : tree_.prev());
}

// Puts every source at its first key beyond `key`.
Status MergeCursor::move_beyond(const std::string& key, Direction direction) {
  LAPSE_TRY(restart(direction));
  if (direction == Direction::kForward) {
    const auto beyond = [&](auto* source) { return source->valid() && source->key() == key; };
    return move_all(
        [&](auto* buffer) {
          buffer->seek(key);
          if (beyond(buffer)) buffer->next();
        },
        [&](auto* tree) -> Status {
          LAPSE_TRY(tree->seek(key));
          return beyond(tree) ? tree->next() : Status();
        });
  }
  return move_all(
      [&](auto* buffer) {
        buffer->seek(key);
        buffer->valid() ? buffer->prev() : buffer->last();
      },
      [&](auto* tree) -> Status {
        LAPSE_TRY(tree->seek(key));
        return tree->valid() ? tree->prev() : tree->last();
      });
}

// The key nearest in the direction of travel, and the sources that stand at it.
unsigned MergeCursor::find_front(std::string_view* key) const {
  unsigned front = 0;
  const auto offer = [&](unsigned bit, std::string_view candidate) {
    const int order = front == 0 ? -1 : candidate.compare(*key);
    if (order == 0) {
      front |= bit;
    } else if (front == 0 || (order < 0) == (direction_ == Direction::kForward)) {
      front = bit;
      *key = candidate;
    }
  };
  for (int i = 0; i < kBuffers; ++i) {
    if (buffers_[i].valid()) offer(1U << i, buffers_[i].key());
  }
  if (tree_.valid()) offer(kTreeBit, tree_.key());
  return front;
}

bool MergeCursor::has_left_range() const {
  return direction_ == Direction::kForward ? range_.to && key_ >= *range_.to : key_ < range_.from;
}

// Makes the front the current entry, past what is erased.
Status MergeCursor::settle() {
  while (true) {
    at_current_ = find_front(&key_);
    if (at_current_ == 0 || has_left_range()) return {};
    const int upper = std::countr_zero(at_current_);
    if (upper == kBuffers) {
      value_ = tree_.value();
      valid_ = true;
      return {};
    }
    const WriteBuffer::Version& version = buffers_[upper].version();
    if (!version.erased) {
      value_ = version.value();
      valid_ = true;
      return {};
    }
    if (patience_ == 0) return {};
    --patience_;
    LAPSE_TRY(step_past_current());
  }
}

}  // namespace lapse::engine
