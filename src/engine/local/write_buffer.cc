#include "engine/local/write_buffer.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <new>

#include "base/checksum.h"
#include "base/coding.h"

namespace lapse::engine {

namespace {

// A bucket's word: a pointer to its first node below, a filter of its keys' hashes above.
static_assert(sizeof(void*) == 8, "bucket words need the unused top of a 64-bit pointer");
constexpr int kPointerBits = 48;
constexpr uint64_t kPointerMask = (uint64_t{1} << kPointerBits) - 1;
constexpr size_t kBytesPerBucket = 128;  // about an entry's size in the buffer
constexpr size_t kMinBuckets = 64;
constexpr size_t kMaxBuckets = 1 << 22;

uint64_t filter_bit(uint64_t hash) { return uint64_t{1} << (kPointerBits + (hash >> 60)); }

// The first eight bytes, as a number that orders as they do: most comparisons end here, without a look
// at the key itself.
uint64_t prefix_of(std::string_view key) {
  if (key.size() >= 8) return load_be64(key.data());
  char padded[8] = {};
  std::memcpy(padded, key.data(), key.size());
  return load_be64(padded);
}

}  // namespace

struct WriteBuffer::Entry {
  std::atomic<const Version*> newest;
  Entry* next_in_bucket;
  uint32_t hash;
  uint32_t key_bytes;

  std::string_view key() const { return {reinterpret_cast<const char*>(this + 1), key_bytes}; }
};

struct WriteBuffer::Node {
  uint64_t prefix;
  Entry* entry;

  // As many as the node is high.
  std::atomic<Node*>* links() { return reinterpret_cast<std::atomic<Node*>*>(this + 1); }
  Node* next(int level) { return links()[level].load(std::memory_order_acquire); }
  bool comes_before(std::string_view key, uint64_t key_prefix) const {
    return prefix != key_prefix ? prefix < key_prefix : entry->key() < key;
  }
};

WriteBuffer::WriteBuffer(size_t expected_bytes) : random_(0x9e3779b97f4a7c15ULL) {
  static_assert(alignof(Entry) == 8 && alignof(Node) == 8 && alignof(Version) == 8, "as the arena aligns");
  if (expected_bytes > 0) {
    const size_t buckets =
        std::clamp(std::bit_ceil(expected_bytes / kBytesPerBucket), kMinBuckets, kMaxBuckets);
    bucket_mask_ = buckets - 1;
    buckets_ = std::make_unique<std::atomic<uint64_t>[]>(buckets);
  }
  head_ = new_node(nullptr, 0, kMaxHeight);
}

void WriteBuffer::reset() {
  assert(buckets_ == nullptr && "only a buffer without an index is used again");
  entries_.reset();
  nodes_.reset();
  height_.store(1, std::memory_order_relaxed);
  keys_.store(0, std::memory_order_relaxed);
  head_ = new_node(nullptr, 0, kMaxHeight);
  note_used_bytes();
}

void WriteBuffer::note_used_bytes() {
  used_bytes_.store(entries_.used_bytes() + nodes_.used_bytes(), std::memory_order_relaxed);
}

WriteBuffer::Entry* WriteBuffer::new_entry(std::string_view key, uint32_t hash) {
  char* memory = entries_.allocate(sizeof(Entry) + key.size());
  if (!key.empty()) std::memcpy(memory + sizeof(Entry), key.data(), key.size());
  return new (memory) Entry{nullptr, nullptr, hash, static_cast<uint32_t>(key.size())};
}

WriteBuffer::Node* WriteBuffer::new_node(Entry* entry, uint64_t prefix, int height) {
  char* memory = nodes_.allocate(sizeof(Node) + static_cast<size_t>(height) * sizeof(std::atomic<Node*>));
  Node* node = new (memory) Node{prefix, entry};
  for (int level = 0; level < height; ++level) new (node->links() + level) std::atomic<Node*>(nullptr);
  return node;
}

int WriteBuffer::random_height() {
  // Two fresh bits a level.
  const uint64_t bits = random_.next() >> 32;
  return std::min(kMaxHeight, 1 + std::countr_zero(bits | (uint64_t{1} << 30)) / 2);
}

WriteBuffer::Entry* WriteBuffer::insert(std::string_view key, uint64_t sequence,
                                        std::optional<std::string_view> value) {
  Node* before[kMaxHeight];
  const uint64_t hash = buckets_ ? checksum(key, 0) : 0;
  Entry* entry = buckets_ ? find_in_index(key, hash) : find_in_list(key, before);
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
    if (buckets_) find_at_or_after(key, before);
    link(entry, before);
    if (buckets_) add_to_index(entry, hash);
    keys_.store(keys() + 1, std::memory_order_relaxed);
  }
  note_used_bytes();
  return entry;
}

// Puts a complete entry into the list, behind the nodes that come before it on each level.
void WriteBuffer::link(Entry* entry, Node** before) {
  const int height = random_height();
  const int old_height = height_.load(std::memory_order_relaxed);
  for (int level = old_height; level < height; ++level) before[level] = head_;
  if (height > old_height) height_.store(height, std::memory_order_relaxed);
  Node* node = new_node(entry, prefix_of(entry->key()), height);
  for (int level = 0; level < height; ++level) {
    node->links()[level].store(before[level]->next(level), std::memory_order_relaxed);
    before[level]->links()[level].store(node, std::memory_order_release);
  }
}

void WriteBuffer::undo(Entry* entry) {
  const Version* newest = entry->newest.load(std::memory_order_relaxed);
  entry->newest.store(newest->older, std::memory_order_relaxed);
}

const WriteBuffer::Version* WriteBuffer::find(std::string_view key, uint64_t sequence) const {
  const Entry* entry = buckets_ ? find_in_index(key, checksum(key, 0)) : find_in_list(key, nullptr);
  return entry == nullptr ? nullptr : version_at(*entry, sequence);
}

const WriteBuffer::Version* WriteBuffer::version_at(const Entry& entry, uint64_t sequence) {
  const Version* version = entry.newest.load(std::memory_order_acquire);
  while (version != nullptr && version->sequence > sequence) version = version->older;
  return version;
}

WriteBuffer::Entry* WriteBuffer::find_in_list(std::string_view key, Node** before) const {
  const Node* node = find_at_or_after(key, before);
  return node != nullptr && node->entry->key() == key ? node->entry : nullptr;
}

WriteBuffer::Node* WriteBuffer::find_at_or_after(std::string_view key, Node** before) const {
  const uint64_t prefix = prefix_of(key);
  Node* at = head_;
  Node* known_after = nullptr;  // no need to compare with it again one level down
  for (int level = height_.load(std::memory_order_relaxed) - 1;; --level) {
    Node* next = at->next(level);
    while (next != nullptr && next != known_after && next->comes_before(key, prefix)) {
      at = next;
      next = at->next(level);
    }
    if (before != nullptr) before[level] = at;
    if (level == 0) return next;
    known_after = next;
  }
}

WriteBuffer::Node* WriteBuffer::find_last_before(std::string_view key) const {
  const uint64_t prefix = prefix_of(key);
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

WriteBuffer::Entry* WriteBuffer::find_in_index(std::string_view key, uint64_t hash) const {
  const uint64_t word = buckets_[hash & bucket_mask_].load(std::memory_order_acquire);
  if ((word & filter_bit(hash)) == 0) return nullptr;
  auto* entry = reinterpret_cast<Entry*>(word & kPointerMask);
  for (; entry != nullptr; entry = entry->next_in_bucket) {
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

// A level of the skip list is an even sample of the one below it.
WriteBuffer::Sample WriteBuffer::sample(std::string_view from, std::string_view to, uint64_t sequence) const {
  constexpr size_t kEnough = 64;
  constexpr double kKeysPerLevel = 4;
  Sample sample;
  for (int level = kMaxHeight - 1; level >= 0; --level) {
    sample.keys_per_sample = std::pow(kKeysPerLevel, level);
    sample.keys.clear();
    Node* at = head_;
    for (int upper = height_.load(std::memory_order_relaxed) - 1; upper >= level; --upper) {
      for (Node* next = at->next(upper); next != nullptr && next->comes_before(from, prefix_of(from));
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

std::string_view WriteBuffer::Iterator::key() const { return node_->entry->key(); }

void WriteBuffer::Iterator::seek(std::string_view key) {
  if (buffer_ == nullptr) return;
  node_ = buffer_->find_at_or_after(key, nullptr);
  settle_forward();
}

void WriteBuffer::Iterator::first() {
  if (buffer_ == nullptr) return;
  node_ = buffer_->head_->next(0);
  settle_forward();
}

void WriteBuffer::Iterator::last() {
  if (buffer_ == nullptr) return;
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
