// WriteBuffer: the commits that are not in the tree yet, in key order, each key with its versions.
//
// One writer inserts; any number of readers find and iterate meanwhile, without locks. A reader names the
// sequence it reads at and sees, for each key, the newest version at or below it. Nothing is ever removed: a
// buffer is dropped whole, when it has been drained and its last reader is gone.
//
//   entries       key, and versions newest first: overwriting a hot key costs no search for its place
//   hash index    bucket → entries, with 16 filter bits in each bucket's word: a get that misses, which is what
//                 most gets do, costs one load and touches no entry
//   order         the entries in key order, for iteration and for draining (key_order.h)
//
// insert() leaves a new key out of the order. Such keys are brought into it later, together: by an iterator that is first
// moved, by sample(), and when enough of them have come by a thread that looks in now and then (order_if_many()), or by the
// writer if there is none, or if it is late. What is enough: the more at once, the cheaper, and the longer an iterator may
// have to wait; so kOrderAtKeys, and only where there is a thread for it and no iterator has been seen, kOrderLateAtKeys.
//
// A transaction keeps its own writes in a private buffer. Its index is small and grows, so that it costs little to
// reset; and its iterators have it ordered at every seek, so that they see what has been written since.
//
// Invariants:
//  - An entry or version is complete before the store that makes it reachable, which is a release; readers follow
//    with acquire. So whatever a reader can reach, it can read.
//  - Along a chain of versions, sequences strictly fall (in a transaction's own buffer they are positions).
//  - A version that a reader's sequence covers was reachable before that sequence was published.
//  - keys_ counts at least the keys that a reader's sequence covers; so where the order has as many, it has all of those.
//
// Who waits: find(), never. An iterator's first move may wait for a thread that brings keys into order, be it the writer, but
// only for work that it would have to do itself, and that is bounded: by kOrderAtKeys and the runs that they are merged
// with, some milliseconds, or four times that where a thread that should have done it is late; or, of the first one for long,
// by kOrderLateAtKeys, some 50 ms, or where the thread is late by what the buffer holds. The writer does not wait even then.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "engine/local/arena.h"
#include "engine/local/buffer_entry.h"
#include "engine/local/key_order.h"

namespace lapse::engine {

class WriteBuffer {
 public:
  using Version = BufferVersion;
  using Entry = BufferEntry;

  // Whether there is a thread that calls order_if_many() every now and then.
  enum class OrderedBy { kWriter, kThread };

  // `expected_bytes` sizes the hash index; 0 makes a private buffer. `iterated`: iterators are likely to come.
  explicit WriteBuffer(size_t expected_bytes, OrderedBy ordered_by = OrderedBy::kWriter,
                       bool iterated = true);
  WriteBuffer(const WriteBuffer&) = delete;
  WriteBuffer& operator=(const WriteBuffer&) = delete;

  // A hint: insert() will come for this key soon. What it looks at first is fetched from memory meanwhile.
  void expect(std::string_view key) const;
  // The same of find(), and of all that it looks at.
  void expect(std::span<const std::string_view> keys) const;
  // No value means erased. Of one key, sequences must not fall.
  Entry* insert(std::string_view key, uint64_t sequence, std::optional<std::string_view> value);
  // Takes back an entry's newest version. Only where there are no other readers: in a transaction.
  void undo(Entry* entry);
  // Forgets everything. Only in a private buffer.
  void reset();
  // Calls `visit` for each key with its newest version, in no order. Only in a private buffer.
  void for_each(FunctionRef<void(std::string_view key, const Version& version)> visit) const;

  // The version of `key` that is newest at or below `sequence`; null if there is none.
  const Version* find(std::string_view key, uint64_t sequence) const;

  // Some keys of [from, to) that have a version at or below `sequence`, evenly spread, and how many each of them stands
  // for.
  struct Sample {
    struct Key {
      std::string_view key;
      bool erased;
    };
    std::vector<Key> keys;
    double keys_per_sample = 1;
  };
  Sample sample(std::string_view from, std::string_view to, uint64_t sequence) const;

  void order_if_many() const;
  // For who will iterate over all of it.
  void order_in_one() const { order_.order_in_one(); }
  // Whether its keys have been asked for in order.
  bool was_iterated() const { return was_iterated_.load(std::memory_order_relaxed); }

  size_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  size_t keys() const { return keys_.load(std::memory_order_relaxed); }
  bool empty() const { return keys() == 0; }

  class Iterator;

 private:
  // More would make it hardly any cheaper, and iterators wait for longer.
  static constexpr size_t kOrderAtKeys = 16 << 10;
  static constexpr size_t kOrderLateAtKeys = 256 << 10;

  Entry* new_entry(std::string_view key, uint32_t hash);
  void note_used_bytes();
  static const Version* version_at(const Entry& entry, uint64_t sequence);

  Entry* first_in_bucket(uint64_t hash) const;
  Entry* find_in_index(std::string_view key, uint64_t hash) const;
  void add_to_index(Entry* entry, uint64_t hash);
  bool make_index(size_t buckets);
  void grow_index();

  size_t unordered_keys() const { return keys() - order_.ordered(); }
  bool is_iterated() const { return expects_iterators_ || was_iterated(); }
  size_t writer_orders_at() const;
  void order_all() const;

  const bool private_;
  const OrderedBy ordered_by_;
  const bool expects_iterators_;
  Arena entries_;
  size_t bucket_mask_ = 0;
  std::unique_ptr<std::atomic<uint64_t>[]> buckets_;
  std::atomic<size_t> used_bytes_{0};
  std::atomic<size_t> keys_{0};

  mutable KeyOrder order_;  // changes under a const reader's hands, too
  mutable std::atomic<bool> was_iterated_{false};
};

// Goes over the keys that have a version at or below `sequence`, erased ones included: all that were inserted
// before its first move. Of keys inserted since, it may miss some.
class WriteBuffer::Iterator {
 public:
  Iterator() = default;  // over nothing
  Iterator(const WriteBuffer* buffer, uint64_t sequence) : buffer_(buffer), sequence_(sequence) {}

  void seek(std::string_view key);  // to the first at or after key
  void first();
  void last();
  void next();
  void prev();
  // A hint: next() will come for so many keys.
  void expect(size_t keys) const { walk_.expect(keys); }

  bool valid() const { return walk_.valid(); }
  std::string_view key() const { return walk_.entry().key(); }
  const Version& version() const { return *version_; }

 private:
  bool prepare();
  void settle_forward();
  void settle_backward();

  const WriteBuffer* buffer_ = nullptr;
  uint64_t sequence_ = 0;
  bool prepared_ = false;
  KeyOrder::Walk walk_;
  const Version* version_ = nullptr;
};

}  // namespace lapse::engine
