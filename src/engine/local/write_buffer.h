// WriteBuffer: the commits that are not in the tree yet, in key order, each key with its versions.
//
// One writer inserts; any number of readers find and iterate meanwhile, without locks. A reader names the
// sequence it reads at and sees, for each key, the newest version at or below it. Nothing is ever removed: a
// buffer is dropped whole, when it has been drained and its last reader is gone.
//
//   entries       key, and versions newest first: overwriting a hot key costs no search in the list
//   hash index    bucket → entries, with 16 filter bits in each bucket's word: a get that misses, which is what
//                 most gets do, costs one load and touches no entry
//   skip list     one small node a key, in key order: for iteration and for draining. Nodes hold the first
//                 bytes of their keys and lie close together, so that a search stays in the cache
//
// insert() leaves a new key out of the list: a commit would spend a third of its time searching there, and gets have
// no use for it. Such keys are linked later, sorted, each search going on from where the one before ended: by an iterator
// that is first moved, by sample(), and when enough of them have come by a thread that looks in now and then
// (link_if_many()), or by the writer if there is none, or if it is late. What is enough: the more at once, the cheaper, and the
// longer an iterator may have to wait; so kLinkAtKeys, and only where there is a thread for it and no iterator has been seen,
// kOrderAtKeys.
//
// A transaction keeps its own writes in a private buffer. Its index is small and grows, so that it costs little to
// reset; and its iterators link at every seek, so that they see what has been written since.
//
// Invariants:
//  - A node or version is complete before the store that makes it reachable, which is a release; readers follow
//    with acquire. So whatever a reader can reach, it can read.
//  - Along a chain of versions, sequences strictly fall (in a transaction's own buffer they are positions).
//  - A version that a reader's sequence covers was reachable before that sequence was published.
//  - The keys in the list are the first linked_ of the keys_ that were inserted. So whoever finds linked_ at or
//    above keys_, which counts at least what its sequence covers, finds all of that in the list.
//
// Who waits: find(), never. An iterator's first move may wait for a thread that is linking, be it the writer, but
// only for work that it would have to do itself, and that is bounded: by kLinkAtKeys, 3 ms where a key takes 0.2 us, or four
// times that where a thread that should have linked is late; or, of the first one for long, by kOrderAtKeys, some 50 ms, or
// where the thread is late by what the buffer holds. The writer does not wait even then.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/random.h"
#include "engine/local/arena.h"

namespace lapse::engine {

class WriteBuffer {
 public:
  struct Version {
    const Version* older;
    uint64_t sequence;
    uint32_t value_bytes;
    bool erased;

    std::string_view value() const { return {reinterpret_cast<const char*>(this + 1), value_bytes}; }
  };

  struct Entry;  // a key and its versions

  // Whether there is a thread that calls link_if_many() every now and then.
  enum class Linker { kWriter, kThread };

  // `expected_bytes` sizes the hash index; 0 makes a private buffer. `iterated`: iterators are likely to come.
  explicit WriteBuffer(size_t expected_bytes, Linker linker = Linker::kWriter, bool iterated = true);
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

  void link_if_many() const;
  // Whether its keys have been asked for in order.
  bool was_iterated() const { return was_iterated_.load(std::memory_order_relaxed); }

  size_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  size_t keys() const { return keys_.load(std::memory_order_relaxed); }
  bool empty() const { return keys() == 0; }

  class Iterator;

 private:
  static constexpr int kMaxHeight = 12;  // a quarter go one higher: good for 4^12 keys
  // More would make it hardly any cheaper, and iterators wait for longer.
  static constexpr size_t kLinkAtKeys = 16 << 10;
  static constexpr size_t kOrderAtKeys = 256 << 10;

  struct Prefix;
  struct Place;
  struct Node;

  Entry* new_entry(std::string_view key, uint32_t hash);
  void note_used_bytes();
  static const Version* version_at(const Entry& entry, uint64_t sequence);

  Entry* first_in_bucket(uint64_t hash) const;
  Entry* find_in_index(std::string_view key, uint64_t hash) const;
  void add_to_index(Entry* entry, uint64_t hash);
  bool make_index(size_t buckets);
  void grow_index();

  // The list and what is not in it yet change under a const reader's hands, too.
  void leave_unlinked(Entry* entry);
  size_t unlinked_keys() const { return keys() - linked_.load(std::memory_order_relaxed); }
  bool is_iterated() const { return expects_iterators_ || was_iterated(); }
  size_t writer_links_at() const;
  void try_to_link() const;
  void add_unlinked(Entry* entry) const;
  void link_all() const;
  void link_all_locked() const;
  std::vector<Place> take_unlinked() const;
  void link(const Place& place, Node** before) const;
  Node* new_node(const Place& place, int height) const;
  int random_height() const;
  void advance(const Place& place, Node** before) const;
  Node* find_at_or_after(std::string_view key) const;
  Node* find_last_before(std::string_view key) const;
  Node* find_last() const;

  const bool private_;
  const Linker linker_;
  const bool expects_iterators_;
  Arena entries_;
  size_t bucket_mask_ = 0;
  std::unique_ptr<std::atomic<uint64_t>[]> buckets_;
  std::atomic<size_t> used_bytes_{0};
  std::atomic<size_t> keys_{0};

  mutable std::atomic<Entry*> unlinked_{nullptr};  // the newest; each leads to the one before it
  mutable std::atomic<bool> was_iterated_{false};
  mutable std::mutex link_mutex_;  // guards the changing side of what follows
  mutable std::atomic<size_t> linked_{0};
  mutable Arena nodes_;
  mutable std::atomic<int> height_{1};
  mutable FastRandom random_;
  Node* head_;
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
  void expect(size_t keys) const;

  bool valid() const { return node_ != nullptr; }
  std::string_view key() const;
  const Version& version() const { return *version_; }

 private:
  bool prepare();
  void settle_forward();
  void settle_backward();

  const WriteBuffer* buffer_ = nullptr;
  uint64_t sequence_ = 0;
  bool prepared_ = false;
  Node* node_ = nullptr;
  const Version* version_ = nullptr;
};

}  // namespace lapse::engine
