#include "engine/local/write_buffer.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "base/checksum.h"
#include "base/coding.h"
#include "base/prefetch.h"

namespace lapse::engine {

namespace {

// A bucket's word: a pointer to its first node below, a filter of its keys' hashes above.
static_assert(sizeof(void*) == 8, "bucket words need the unused top of a 64-bit pointer");
constexpr int kPointerBits = 48;
constexpr uint64_t kPointerMask = (uint64_t{1} << kPointerBits) - 1;
constexpr size_t kBytesPerBucket = 128;  // about an entry's size in the buffer
constexpr size_t kMinBuckets = 64;
constexpr size_t kMaxBuckets = 1 << 22;
constexpr size_t kNodeBytes = 43;  // with four thirds of a link, which is the average

uint64_t filter_bit(uint64_t hash) { return uint64_t{1} << (kPointerBits + (hash >> 60)); }

}  // namespace

struct WriteBuffer::Entry {
  std::atomic<const Version*> newest;
  Entry* next_in_bucket;
  Entry* next_unlinked;
  uint32_t hash;
  uint32_t key_bytes;

  std::string_view key() const { return {reinterpret_cast<const char*>(this + 1), key_bytes}; }
  // The first version stands behind the key.
  void prefetch() const { lapse::prefetch(this, 256); }
};

// The first bytes of a key, as numbers that order as they do: most comparisons end here, without a look at the key itself.
// So many, since the first few are often all the same: a family's, and "session:". With sixteen, "key:000000123456" was not
// told from a hundred others, and ordering took twice as long.
struct WriteBuffer::Prefix {
  uint64_t words[3];

  static Prefix of(std::string_view key) {
    if (key.size() >= sizeof(Prefix)) return of_bytes(key.data());
    char padded[sizeof(Prefix)] = {};
    if (!key.empty()) std::memcpy(padded, key.data(), key.size());
    return of_bytes(padded);
  }
  static Prefix of_bytes(const char* bytes) {
    return {{load_be64(bytes), load_be64(bytes + 8), load_be64(bytes + 16)}};
  }
  bool operator==(const Prefix& other) const {
    return words[0] == other.words[0] && words[1] == other.words[1] && words[2] == other.words[2];
  }
  bool operator<(const Prefix& other) const {
    if (words[0] != other.words[0]) return words[0] < other.words[0];
    return words[1] != other.words[1] ? words[1] < other.words[1] : words[2] < other.words[2];
  }
};

// An entry as the list orders them.
struct WriteBuffer::Place {
  Prefix prefix;
  Entry* entry;

  bool operator<(const Place& other) const {
    return prefix != other.prefix ? prefix < other.prefix : entry->key() < other.entry->key();
  }
  bool comes_before(std::string_view key, const Prefix& key_prefix) const {
    return prefix != key_prefix ? prefix < key_prefix : entry->key() < key;
  }
};

struct WriteBuffer::Node : Place {
  // As many as the node is high.
  std::atomic<Node*>* links() { return reinterpret_cast<std::atomic<Node*>*>(this + 1); }
  Node* next(int level) { return links()[level].load(std::memory_order_acquire); }
};

WriteBuffer::WriteBuffer(size_t expected_bytes, Linker linker, bool iterated)
    : private_(expected_bytes == 0),
      linker_(linker),
      expects_iterators_(iterated),
      random_(0x9e3779b97f4a7c15ULL) {
  static_assert(alignof(Entry) == 8 && alignof(Node) == 8 && alignof(Version) == 8, "as the arena aligns");
  if (!make_index(std::clamp(std::bit_ceil(expected_bytes / kBytesPerBucket), kMinBuckets, kMaxBuckets)))
    throw std::bad_alloc();
  head_ = new_node({{}, nullptr}, kMaxHeight);
}

void WriteBuffer::reset() {
  assert(private_);
  // Transactions tend to be alike: an index that was of use is kept.
  const size_t buckets = bucket_mask_ + 1;
  const bool too_large = buckets > kMinBuckets && keys() < buckets / 4;
  if (!too_large || !make_index(kMinBuckets)) {
    for (size_t i = 0; i < buckets; ++i) buckets_[i].store(0, std::memory_order_relaxed);
  }
  unlinked_.store(nullptr, std::memory_order_relaxed);
  entries_.reset();
  nodes_.reset();
  height_.store(1, std::memory_order_relaxed);
  keys_.store(0, std::memory_order_relaxed);
  linked_.store(0, std::memory_order_relaxed);
  head_ = new_node({{}, nullptr}, kMaxHeight);
  note_used_bytes();
}

void WriteBuffer::note_used_bytes() {
  used_bytes_.store(entries_.used_bytes() + keys() * kNodeBytes, std::memory_order_relaxed);
}

WriteBuffer::Entry* WriteBuffer::new_entry(std::string_view key, uint32_t hash) {
  char* memory = entries_.allocate(sizeof(Entry) + key.size());
  if (!key.empty()) std::memcpy(memory + sizeof(Entry), key.data(), key.size());
  return new (memory) Entry{nullptr, nullptr, nullptr, hash, static_cast<uint32_t>(key.size())};
}

void WriteBuffer::expect(std::string_view key) const {
  __builtin_prefetch(&buckets_[checksum(key, 0) & bucket_mask_], /*rw=*/1);
}

void WriteBuffer::expect(std::span<const std::string_view> keys) const {
  for (const std::string_view key : keys) expect(key);
  for (const std::string_view key : keys) {
    if (const Entry* entry = first_in_bucket(checksum(key, 0))) entry->prefetch();
  }
}

WriteBuffer::Entry* WriteBuffer::insert(std::string_view key, uint64_t sequence,
                                        std::optional<std::string_view> value) {
  const uint64_t hash = checksum(key, 0);
  Entry* entry = find_in_index(key, hash);
  const bool is_new = entry == nullptr;
  if (is_new) entry = new_entry(key, static_cast<uint32_t>(hash));

  const size_t value_bytes = value ? value->size() : 0;
  char* memory = entries_.allocate(sizeof(Version) + value_bytes);
  if (value_bytes > 0) std::memcpy(memory + sizeof(Version), value->data(), value_bytes);
  const Version* older = entry->newest.load(std::memory_order_relaxed);
  assert(older == nullptr || older->sequence <= sequence);
  const auto* version =
      new (memory) Version{older, sequence, static_cast<uint32_t>(value_bytes), !value.has_value()};
  entry->newest.store(version, std::memory_order_release);

  if (is_new) {
    keys_.store(keys() + 1, std::memory_order_relaxed);
    add_to_index(entry, hash);
    leave_unlinked(entry);
    if (private_ && keys() > bucket_mask_ + 1) grow_index();
  }
  note_used_bytes();
  return entry;
}

// -------------------------------------------------------------------------------------------- linking

void WriteBuffer::leave_unlinked(Entry* entry) {
  add_unlinked(entry);
  if (unlinked_keys() >= writer_links_at()) try_to_link();
}

// The writer is made to wait for what it links, so it links a little at a time. Where there is a thread for it, only if that
// is late, and iterators would be.
size_t WriteBuffer::writer_links_at() const {
  if (linker_ == Linker::kWriter) return kLinkAtKeys;
  return is_iterated() ? 4 * kLinkAtKeys : std::numeric_limits<size_t>::max();
}

void WriteBuffer::link_if_many() const {
  if (unlinked_keys() >= (is_iterated() ? kLinkAtKeys : kOrderAtKeys)) try_to_link();
}

void WriteBuffer::try_to_link() const {
  const std::unique_lock lock(link_mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  try {
    link_all_locked();
  } catch (const std::bad_alloc&) {  // whoever needs the list will try again
  }
}

// Sees to it that every key inserted before the call is in the list.
void WriteBuffer::link_all() const {
  if (linked_.load(std::memory_order_acquire) < keys()) {
    std::lock_guard lock(link_mutex_);
    link_all_locked();
  }
  // Last: a writer that knew would do what is done here.
  if (!was_iterated()) was_iterated_.store(true, std::memory_order_relaxed);
}

// Out of memory, what could not be linked is left for the next time. REQUIRES: link_mutex_
void WriteBuffer::link_all_locked() const {
  const std::vector<Place> places = take_unlinked();
  Node* before[kMaxHeight];
  std::fill_n(before, kMaxHeight, head_);
  size_t linked = 0;
  const auto count_linked = [&] {
    linked_.store(linked_.load(std::memory_order_relaxed) + linked, std::memory_order_release);
  };
  try {
    for (; linked < places.size(); ++linked) {
      advance(places[linked], before);
      link(places[linked], before);
    }
  } catch (const std::bad_alloc&) {
    for (size_t i = linked; i < places.size(); ++i) add_unlinked(places[i].entry);
    count_linked();
    throw;
  }
  count_linked();
}

void WriteBuffer::add_unlinked(Entry* entry) const {
  // Others only ever take them all, so that the head which is still there is still right.
  entry->next_unlinked = unlinked_.load(std::memory_order_relaxed);
  while (!unlinked_.compare_exchange_weak(entry->next_unlinked, entry, std::memory_order_release,
                                          std::memory_order_relaxed)) {
  }
}

// In key order. Without memory, all are left where they are.
std::vector<WriteBuffer::Place> WriteBuffer::take_unlinked() const {
  std::vector<Place> places;
  Entry* first = unlinked_.exchange(nullptr, std::memory_order_acquire);
  try {
    places.reserve(unlinked_keys());
    for (Entry* entry = first; entry != nullptr; entry = entry->next_unlinked) {
      // Mostly they lie one behind the other, and are of about the same size.
      const auto next = reinterpret_cast<uintptr_t>(entry->next_unlinked);
      lapse::prefetch(reinterpret_cast<const void*>(next + 8 * (next - reinterpret_cast<uintptr_t>(entry))),
                      64);
      places.push_back({Prefix::of(entry->key()), entry});
    }
  } catch (const std::bad_alloc&) {
    while (first != nullptr) add_unlinked(std::exchange(first, first->next_unlinked));
    throw;
  }
  std::sort(places.begin(), places.end());
  return places;
}

// Puts a complete entry into the list, behind the nodes that come before it on each level, and makes it
// the last of those.
void WriteBuffer::link(const Place& place, Node** before) const {
  const int height = random_height();
  const int old_height = height_.load(std::memory_order_relaxed);
  for (int level = old_height; level < height; ++level) before[level] = head_;
  if (height > old_height) height_.store(height, std::memory_order_relaxed);
  Node* node = new_node(place, height);
  for (int level = 0; level < height; ++level) {
    node->links()[level].store(before[level]->next(level), std::memory_order_relaxed);
    before[level]->links()[level].store(node, std::memory_order_release);
    before[level] = node;
  }
}

WriteBuffer::Node* WriteBuffer::new_node(const Place& place, int height) const {
  char* memory = nodes_.allocate(sizeof(Node) + static_cast<size_t>(height) * sizeof(std::atomic<Node*>));
  Node* node = new (memory) Node{place};
  for (int level = 0; level < height; ++level) new (node->links() + level) std::atomic<Node*>(nullptr);
  return node;
}

int WriteBuffer::random_height() const {
  // Two fresh bits a level.
  const uint64_t bits = random_.next() >> 32;
  return std::min(kMaxHeight, 1 + std::countr_zero(bits | (uint64_t{1} << 30)) / 2);
}

// Moves `before`, the nodes before some place on each level, on to a later place: up as far as there is
// something to pass, and down again.
void WriteBuffer::advance(const Place& place, Node** before) const {
  const auto next_to_pass = [&](Node* at, int level) {
    Node* next = at->next(level);
    return next != nullptr && *next < place ? next : nullptr;
  };
  const int height = height_.load(std::memory_order_relaxed);
  int level = 0;
  while (level < height && next_to_pass(before[level], level) != nullptr) ++level;
  if (level == 0) return;
  Node* at = before[level - 1];
  while (level-- > 0) {
    while (Node* next = next_to_pass(at, level)) at = next;
    before[level] = at;
  }
}

// ------------------------------------------------------------------------------------------ searching

void WriteBuffer::undo(Entry* entry) {
  const Version* newest = entry->newest.load(std::memory_order_relaxed);
  entry->newest.store(newest->older, std::memory_order_relaxed);
}

const WriteBuffer::Version* WriteBuffer::find(std::string_view key, uint64_t sequence) const {
  const Entry* entry = find_in_index(key, checksum(key, 0));
  return entry == nullptr ? nullptr : version_at(*entry, sequence);
}

const WriteBuffer::Version* WriteBuffer::version_at(const Entry& entry, uint64_t sequence) {
  const Version* version = entry.newest.load(std::memory_order_acquire);
  while (version != nullptr && version->sequence > sequence) version = version->older;
  return version;
}

WriteBuffer::Node* WriteBuffer::find_at_or_after(std::string_view key) const {
  const Prefix prefix = Prefix::of(key);
  Node* at = head_;
  Node* known_after = nullptr;  // no need to compare with it again one level down
  for (int level = height_.load(std::memory_order_relaxed) - 1;; --level) {
    Node* next = at->next(level);
    while (next != nullptr && next != known_after && next->comes_before(key, prefix)) {
      at = next;
      next = at->next(level);
    }
    if (level == 0) return next;
    known_after = next;
  }
}

WriteBuffer::Node* WriteBuffer::find_last_before(std::string_view key) const {
  const Prefix prefix = Prefix::of(key);
  Node* at = head_;
  for (int level = height_.load(std::memory_order_relaxed) - 1; level >= 0; --level) {
    for (Node* next = at->next(level); next != nullptr && next->comes_before(key, prefix);
         next = at->next(level))
      at = next;
  }
  return at == head_ ? nullptr : at;
}

WriteBuffer::Node* WriteBuffer::find_last() const {
  Node* at = head_;
  for (int level = height_.load(std::memory_order_relaxed) - 1; level >= 0; --level) {
    while (Node* next = at->next(level)) at = next;
  }
  return at == head_ ? nullptr : at;
}

// Null if none of its keys can have this hash.
WriteBuffer::Entry* WriteBuffer::first_in_bucket(uint64_t hash) const {
  const uint64_t word = buckets_[hash & bucket_mask_].load(std::memory_order_acquire);
  return (word & filter_bit(hash)) == 0 ? nullptr : reinterpret_cast<Entry*>(word & kPointerMask);
}

WriteBuffer::Entry* WriteBuffer::find_in_index(std::string_view key, uint64_t hash) const {
  for (Entry* entry = first_in_bucket(hash); entry != nullptr; entry = entry->next_in_bucket) {
    if (entry->hash == static_cast<uint32_t>(hash) && entry->key() == key) return entry;
  }
  return nullptr;
}

void WriteBuffer::add_to_index(Entry* entry, uint64_t hash) {
  std::atomic<uint64_t>& bucket = buckets_[hash & bucket_mask_];
  const uint64_t word = bucket.load(std::memory_order_relaxed);
  const auto pointer = reinterpret_cast<uint64_t>(entry);
  assert((pointer & ~kPointerMask) == 0);
  entry->next_in_bucket = reinterpret_cast<Entry*>(word & kPointerMask);
  bucket.store((word & ~kPointerMask) | filter_bit(hash) | pointer, std::memory_order_release);
}

// An empty one instead of what there is. False, and nothing done, if there is no memory for it.
bool WriteBuffer::make_index(size_t buckets) {
  std::unique_ptr<std::atomic<uint64_t>[]> made(new (std::nothrow) std::atomic<uint64_t>[buckets]());
  if (!made) return false;
  buckets_.swap(made);
  bucket_mask_ = buckets - 1;
  return true;
}

void WriteBuffer::grow_index() {
  const size_t old_buckets = bucket_mask_ + 1;
  std::unique_ptr<std::atomic<uint64_t>[]> old(new (std::nothrow) std::atomic<uint64_t>[old_buckets * 4]());
  if (!old) return;  // it only finds more slowly
  buckets_.swap(old);
  bucket_mask_ = old_buckets * 4 - 1;
  for (size_t i = 0; i < old_buckets; ++i) {
    auto* entry = reinterpret_cast<Entry*>(old[i].load(std::memory_order_relaxed) & kPointerMask);
    while (entry != nullptr) {
      Entry* next = entry->next_in_bucket;
      add_to_index(entry, checksum(entry->key(), 0));
      entry = next;
    }
  }
}

// A level of the skip list is an even sample of the one below it.
WriteBuffer::Sample WriteBuffer::sample(std::string_view from, std::string_view to, uint64_t sequence) const {
  constexpr size_t kEnough = 64;
  constexpr double kKeysPerLevel = 4;
  link_all();
  Sample sample;
  for (int level = kMaxHeight - 1; level >= 0; --level) {
    sample.keys_per_sample = std::pow(kKeysPerLevel, level);
    sample.keys.clear();
    Node* at = head_;
    for (int upper = height_.load(std::memory_order_relaxed) - 1; upper >= level; --upper) {
      for (Node* next = at->next(upper); next != nullptr && next->comes_before(from, Prefix::of(from));
           next = at->next(upper))
        at = next;
    }
    for (Node* next = at->next(level); next != nullptr && next->entry->key() < to; next = next->next(level)) {
      if (const Version* version = version_at(*next->entry, sequence))
        sample.keys.push_back({next->entry->key(), version->erased});
    }
    if (sample.keys.size() >= kEnough) break;
  }
  return sample;
}

void WriteBuffer::for_each(FunctionRef<void(std::string_view, const Version&)> visit) const {
  assert(private_);
  const auto visit_entry = [&](const Entry& entry) {
    if (const Version* newest = entry.newest.load(std::memory_order_relaxed)) visit(entry.key(), *newest);
  };
  for (Node* node = head_->next(0); node != nullptr; node = node->next(0)) visit_entry(*node->entry);
  const Entry* entry = unlinked_.load(std::memory_order_relaxed);
  for (; entry != nullptr; entry = entry->next_unlinked) visit_entry(*entry);
}

// ------------------------------------------------------------------------------------------ iterating

// Not when it is made: in a forked child that must not touch a lock. False if there is nothing to iterate over.
bool WriteBuffer::Iterator::prepare() {
  if (buffer_ == nullptr) return false;
  if (!prepared_ || buffer_->private_) buffer_->link_all();
  prepared_ = true;
  return true;
}

std::string_view WriteBuffer::Iterator::key() const { return node_->entry->key(); }

void WriteBuffer::Iterator::seek(std::string_view key) {
  if (!prepare()) return;
  node_ = buffer_->find_at_or_after(key);
  settle_forward();
}

void WriteBuffer::Iterator::first() {
  if (!prepare()) return;
  node_ = buffer_->head_->next(0);
  settle_forward();
}

void WriteBuffer::Iterator::last() {
  if (!prepare()) return;
  node_ = buffer_->find_last();
  settle_backward();
}

void WriteBuffer::Iterator::next() {
  assert(valid());
  node_ = node_->next(0);
  settle_forward();
}

void WriteBuffer::Iterator::prev() {
  assert(valid());
  node_ = buffer_->find_last_before(key());
  settle_backward();
}

// Entries lie in the order in which they came, so each is far from the next. Asked for together, they arrive
// together.
void WriteBuffer::Iterator::expect(size_t keys) const {
  Node* node = node_;
  for (; node != nullptr && keys > 0; node = node->next(0), --keys) node->entry->prefetch();
}

void WriteBuffer::Iterator::settle_forward() {
  for (; node_ != nullptr; node_ = node_->next(0)) {
    version_ = version_at(*node_->entry, sequence_);
    if (version_ != nullptr) return;
  }
}

void WriteBuffer::Iterator::settle_backward() {
  for (; node_ != nullptr; node_ = buffer_->find_last_before(key())) {
    version_ = version_at(*node_->entry, sequence_);
    if (version_ != nullptr) return;
  }
}

}  // namespace lapse::engine
