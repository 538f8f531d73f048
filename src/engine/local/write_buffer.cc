#include "engine/local/write_buffer.h"

#include <algorithm>
#include <bit>
#include <cassert>
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

struct WriteBuffer::Node {
  std::atomic<const Version*> newest;
  uint64_t prefix;
  Node* next_in_bucket;
  uint32_t hash;
  uint32_t key_bytes;
  uint32_t height;

  // `height` links, then the key.
  std::atomic<Node*>* links() { return reinterpret_cast<std::atomic<Node*>*>(this + 1); }
  Node* next(int level) { return links()[level].load(std::memory_order_acquire); }
  std::string_view key() { return {reinterpret_cast<const char*>(links() + height), key_bytes}; }
  bool comes_before(std::string_view other, uint64_t other_prefix) {
    return prefix != other_prefix ? prefix < other_prefix : key() < other;
  }
};

WriteBuffer::WriteBuffer(size_t expected_bytes) : random_(0x9e3779b97f4a7c15ULL) {
  static_assert(alignof(Node) == 8 && alignof(Version) == 8, "as the arena aligns");
  if (expected_bytes > 0) {
    const size_t buckets =
        std::clamp(std::bit_ceil(expected_bytes / kBytesPerBucket), kMinBuckets, kMaxBuckets);
    bucket_mask_ = buckets - 1;
    buckets_ = std::make_unique<std::atomic<uint64_t>[]>(buckets);
  }
  head_ = new_node("", 0, 0, kMaxHeight);
}

void WriteBuffer::reset() {
  assert(buckets_ == nullptr && "only a buffer without an index is used again");
  arena_.reset();
  height_.store(1, std::memory_order_relaxed);
  keys_.store(0, std::memory_order_relaxed);
  head_ = new_node("", 0, 0, kMaxHeight);
  used_bytes_.store(arena_.used_bytes(), std::memory_order_relaxed);
}

WriteBuffer::Node* WriteBuffer::new_node(std::string_view key, uint64_t prefix, uint32_t hash, int height) {
  const size_t links_bytes = static_cast<size_t>(height) * sizeof(std::atomic<Node*>);
  char* memory = arena_.allocate(sizeof(Node) + links_bytes + key.size());
  Node* node = new (memory)
      Node{nullptr, prefix, nullptr, hash, static_cast<uint32_t>(key.size()), static_cast<uint32_t>(height)};
  for (int level = 0; level < height; ++level) new (node->links() + level) std::atomic<Node*>(nullptr);
  std::memcpy(memory + sizeof(Node) + links_bytes, key.data(), key.size());
  return node;
}

int WriteBuffer::random_height() {
  // Two fresh bits a level.
  const uint64_t bits = random_.next() >> 32;
  return std::min(kMaxHeight, 1 + std::countr_zero(bits | (uint64_t{1} << 30)) / 2);
}

WriteBuffer::Node* WriteBuffer::insert(std::string_view key, uint64_t sequence,
                                       std::optional<std::string_view> value) {
  const uint64_t hash = buckets_ ? checksum(key, 0) : 0;
  Node* before[kMaxHeight];
  Node* node = buckets_ ? find_in_index(key, hash) : nullptr;
  if (node == nullptr) {
    Node* at = find_at_or_after(key, before);
    if (at != nullptr && at->key() == key) node = at;
  }
  const size_t value_bytes = value ? value->size() : 0;
  char* memory = arena_.allocate(sizeof(Version) + value_bytes);
  const Version* older = node ? node->newest.load(std::memory_order_relaxed) : nullptr;
  auto* version =
      new (memory) Version{older, sequence, static_cast<uint32_t>(value_bytes), !value.has_value()};
  if (value_bytes > 0) std::memcpy(memory + sizeof(Version), value->data(), value_bytes);
  assert(older == nullptr || older->sequence <= sequence);

  if (node != nullptr) {
    node->newest.store(version, std::memory_order_release);
  } else {
    const int height = random_height();
    node = new_node(key, prefix_of(key), static_cast<uint32_t>(hash), height);
    node->newest.store(version, std::memory_order_relaxed);
    const int old_height = height_.load(std::memory_order_relaxed);
    for (int level = old_height; level < height; ++level) before[level] = head_;
    if (height > old_height) height_.store(height, std::memory_order_relaxed);
    for (int level = 0; level < height; ++level) {
      node->links()[level].store(before[level]->next(level), std::memory_order_relaxed);
      before[level]->links()[level].store(node, std::memory_order_release);
    }
    if (buckets_) add_to_index(node, hash);
    keys_.store(keys() + 1, std::memory_order_relaxed);
  }
  used_bytes_.store(arena_.used_bytes(), std::memory_order_relaxed);
  return node;
}

void WriteBuffer::undo(Node* node) {
  const Version* newest = node->newest.load(std::memory_order_relaxed);
  node->newest.store(newest->older, std::memory_order_relaxed);
}

const WriteBuffer::Version* WriteBuffer::find(std::string_view key, uint64_t sequence) const {
  Node* node;
  if (buckets_) {
    node = find_in_index(key, checksum(key, 0));
  } else {
    node = find_at_or_after(key, nullptr);
    if (node != nullptr && node->key() != key) node = nullptr;
  }
  if (node == nullptr) return nullptr;
  const Version* version = node->newest.load(std::memory_order_acquire);
  while (version != nullptr && version->sequence > sequence) version = version->older;
  return version;
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

WriteBuffer::Node* WriteBuffer::find_in_index(std::string_view key, uint64_t hash) const {
  const uint64_t word = buckets_[hash & bucket_mask_].load(std::memory_order_acquire);
  if ((word & filter_bit(hash)) == 0) return nullptr;
  auto* node = reinterpret_cast<Node*>(word & kPointerMask);
  for (; node != nullptr; node = node->next_in_bucket) {
    if (node->hash == static_cast<uint32_t>(hash) && node->key() == key) return node;
  }
  return nullptr;
}

void WriteBuffer::add_to_index(Node* node, uint64_t hash) {
  std::atomic<uint64_t>& bucket = buckets_[hash & bucket_mask_];
  const uint64_t word = bucket.load(std::memory_order_relaxed);
  const auto pointer = reinterpret_cast<uint64_t>(node);
  assert((pointer & ~kPointerMask) == 0);
  node->next_in_bucket = reinterpret_cast<Node*>(word & kPointerMask);
  bucket.store((word & ~kPointerMask) | filter_bit(hash) | pointer, std::memory_order_release);
}

std::string_view WriteBuffer::Iterator::key() const { return node_->key(); }

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
  node_ = buffer_->find_last_before(node_->key());
  settle_backward();
}

void WriteBuffer::Iterator::settle_forward() {
  for (; node_ != nullptr; node_ = node_->next(0)) {
    version_ = node_->newest.load(std::memory_order_acquire);
    while (version_ != nullptr && version_->sequence > sequence_) version_ = version_->older;
    if (version_ != nullptr) return;
  }
}

void WriteBuffer::Iterator::settle_backward() {
  for (; node_ != nullptr; node_ = buffer_->find_last_before(node_->key())) {
    version_ = node_->newest.load(std::memory_order_acquire);
    while (version_ != nullptr && version_->sequence > sequence_) version_ = version_->older;
    if (version_ != nullptr) return;
  }
}

}  // namespace lapse::engine
