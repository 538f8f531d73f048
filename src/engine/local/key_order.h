// KeyOrder: the entries of a write buffer in key order.
//
// Commits have no use for the order, and searching for a key's place at each insert would be a third of their work. So
// the writer leaves an entry behind those that came before it, and they are brought into order later, many at a time, when
// somebody asks for it:
//
//   arrivals   blocks of places, in the order in which the entries came: one writer fills them, and whoever brings them into
//              order takes them from the other end
//   runs       sorted arrays of places. What has arrived becomes a run, merged with the last ones until each run is several
//              times as long as the next: so there are few, and each place is copied a few times only
//
// A place has the first bytes of its key, so that most comparisons need not look at the key itself.
//
// Invariants:
//  - A run never changes. Whoever goes over the entries keeps the runs that it began with: of what is ordered meanwhile it
//    sees nothing, and what it sees stays.
//  - No entry is in two places.
//  - ordered() counts the entries in the runs, and these are the first that were added. So whoever finds it at or above
//    what was added before some moment finds all of that in runs() from then on.
//
// Threads: add() is for one thread at a time, reset() and for_each() for one that is alone; all else is for any.

#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "engine/local/buffer_entry.h"

namespace lapse::engine {

// The first bytes of a key, as numbers that order as they do. So many, since the first few are often all the same: a family's,
// and "session:". With sixteen, "key:000000123456" was not told from a hundred others, and ordering took twice as long.
struct KeyPrefix {
  uint64_t words[3];

  static KeyPrefix of(std::string_view key);
  bool operator==(const KeyPrefix& other) const {
    return words[0] == other.words[0] && words[1] == other.words[1] && words[2] == other.words[2];
  }
  bool operator<(const KeyPrefix& other) const {
    if (words[0] != other.words[0]) return words[0] < other.words[0];
    return words[1] != other.words[1] ? words[1] < other.words[1] : words[2] < other.words[2];
  }
};

class KeyOrder {
 public:
  struct Place {
    KeyPrefix prefix;
    BufferEntry* entry;

    bool operator<(const Place& other) const { return comes_before(other.entry->key(), other.prefix); }
    bool comes_before(std::string_view key, const KeyPrefix& key_prefix) const {
      return prefix != key_prefix ? prefix < key_prefix : entry->key() < key;
    }
  };
  using Run = std::vector<Place>;  // sorted
  static const Place* at_or_after(const Run& run, std::string_view key);
  using Runs = std::vector<std::shared_ptr<const Run>>;

  // Of arrivals that there is room for at first.
  explicit KeyOrder(size_t first_block);
  ~KeyOrder();
  KeyOrder(const KeyOrder&) = delete;
  KeyOrder& operator=(const KeyOrder&) = delete;

  // What add() needs memory for, so that it cannot fail.
  void reserve();
  // REQUIRES: reserve() since the last one
  void add(BufferEntry* entry);

  // Brings into order what was added before the call. Without memory, what is in no order yet stays so.
  void order();
  // The same, unless somebody else is doing it, or there is no memory for it.
  void try_to_order();
  // The same as order(), into a single run: for who will go over all of it.
  void order_in_one();
  size_t ordered() const { return ordered_.load(std::memory_order_acquire); }

  // Null if there are none.
  std::shared_ptr<const Runs> runs() const;
  // Each entry, in no order.
  void for_each(FunctionRef<void(const BufferEntry& entry)> visit) const;
  // Forgets all entries.
  void reset();

  class Walk;

 private:
  // Runs are at least so many times as long as the next. More would make for fewer runs, and for more copying.
  static constexpr size_t kLonger = 8;
  static constexpr size_t kMaxRuns = 12;  // enough for 8^11 entries, which is more than there may be

  struct Block;
  // A place among the arrivals.
  struct Position {
    Block* block;
    size_t index;
  };

  enum class Into { kRuns, kOneRun };

  void order_locked(Into into);
  Run arrivals(Position* end) const;
  void take_arrivals(const Position& end);

  Position oldest_;  // the first arrival that is in no run; guarded by order_mutex_
  Block* newest_;    // the writer's
  std::atomic<size_t> ordered_{0};
  std::mutex order_mutex_;         // held while entries are brought into order
  mutable std::mutex runs_mutex_;  // held while the pointer is read; with order_mutex_, while it changes
  std::shared_ptr<const Runs> runs_;
};

// Goes over the entries that were in order when it was made.
class KeyOrder::Walk {
 public:
  Walk() = default;  // over nothing
  explicit Walk(std::shared_ptr<const Runs> runs) : runs_(std::move(runs)) {}

  void seek(std::string_view key);  // to the first at or after key
  void first();
  void last();
  void next();  // REQUIRES: valid()
  void prev();  // REQUIRES: valid()
  bool valid() const { return at_ != nullptr; }
  const BufferEntry& entry() const { return *at_->entry; }

  // A hint: next() will come for so many entries.
  void expect(size_t entries) const;

 private:
  const Place* begin_of(size_t run) const { return (*runs_)[run]->data(); }
  const Place* end_of(size_t run) const { return begin_of(run) + (*runs_)[run]->size(); }
  size_t count() const { return runs_ ? runs_->size() : 0; }
  void settle();

  std::shared_ptr<const Runs> runs_;
  // Of each run, the first place at or after the one that the walk is at; that is one of them.
  std::array<const Place*, kMaxRuns> next_{};
  size_t run_ = 0;
  const Place* at_ = nullptr;
};

}  // namespace lapse::engine
