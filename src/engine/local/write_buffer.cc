#include "engine/local/write_buffer.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "base/checksum.h"

namespace lapse::engine {

namespace {

// A bucket's word: a pointer to its first node below, a filter of its keys' hashes above.
static_assert(sizeof(void*) == 8, "bucket words need the unused top of a 64-bit pointer");
constexpr int kPointerBits = 48;
constexpr uint64_t kPointerMask = (uint64_t{1} << kPointerBits) - 1;
constexpr size_t kBytesPerBucket = 128;  // about an entry's size in the buffer
constexpr size_t kMinBuckets = 64;
constexpr size_t kMaxBuckets = 1 << 22;
constexpr size_t kPrivatePlaces = 32;  // of arrivals, at first
constexpr size_t kPlaces = 1024;

uint64_t filter_bit(uint64_t hash) { return uint64_t{1} << (kPointerBits + (hash >> 60)); }

}  // namespace

WriteBuffer::WriteBuffer(size_t expected_bytes, OrderedBy ordered_by, bool iterated)
    : private_(expected_bytes == 0),
      ordered_by_(ordered_by),
      expects_iterators_(iterated),
      order_(private_ ? kPrivatePlaces : kPlaces) {
  static_assert(alignof(Entry) == 8 && alignof(Version) == 8, "as the arena aligns");
  if (!make_index(std::clamp(std::bit_ceil(expected_bytes / kBytesPerBucket), kMinBuckets, kMaxBuckets)))
    throw std::bad_alloc();
}

void WriteBuffer::reset() {
  assert(private_);
  // Transactions tend to be alike: an index that was of use is kept.
  const size_t buckets = bucket_mask_ + 1;
  const bool too_large = buckets > kMinBuckets && keys() < buckets / 4;
  if (!too_large || !make_index(kMinBuckets)) {
    for (size_t i = 0; i < buckets; ++i) buckets_[i].store(0, std::memory_order_relaxed);
  }
  order_.reset();
  entries_.reset();
  keys_.store(0, std::memory_order_relaxed);
  note_used_bytes();
}

void WriteBuffer::note_used_bytes() {
  used_bytes_.store(entries_.used_bytes() + keys() * sizeof(KeyOrder::Place), std::memory_order_relaxed);
}

WriteBuffer::Entry* WriteBuffer::new_entry(std::string_view key, uint32_t hash) {
  char* memory = entries_.allocate(sizeof(Entry) + key.size());
  if (!key.empty()) std::memcpy(memory + sizeof(Entry), key.data(), key.size());
  return new (memory) Entry{nullptr, nullptr, hash, static_cast<uint32_t>(key.size())};
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
  if (is_new) {
    order_.reserve();
    entry = new_entry(key, static_cast<uint32_t>(hash));
  }

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
    order_.add(entry);
    if (unordered_keys() >= writer_orders_at()) order_.try_to_order();
    if (private_ && keys() > bucket_mask_ + 1) grow_index();
  }
  note_used_bytes();
  return entry;
}

// ------------------------------------------------------------------------------------------- ordering

// The writer is made to wait for what it orders, so it orders a little at a time. Where there is a thread for it, only if
// that is late, and iterators would be.
size_t WriteBuffer::writer_orders_at() const {
  if (ordered_by_ == OrderedBy::kWriter) return kOrderAtKeys;
  return is_iterated() ? 4 * kOrderAtKeys : std::numeric_limits<size_t>::max();
}

void WriteBuffer::order_if_many() const {
  if (unordered_keys() >= (is_iterated() ? kOrderAtKeys : kOrderLateAtKeys)) order_.try_to_order();
}

// Sees to it that every key inserted before the call is in order.
void WriteBuffer::order_all() const {
  if (order_.ordered() < keys()) order_.order();
  // Last: a writer that knew would do what is done here.
  if (!was_iterated()) was_iterated_.store(true, std::memory_order_relaxed);
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

WriteBuffer::Sample WriteBuffer::sample(std::string_view from, std::string_view to, uint64_t sequence) const {
  constexpr size_t kEnough = 128;
  order_all();
  const std::shared_ptr<const KeyOrder::Runs> runs = order_.runs();
  std::vector<std::span<const KeyOrder::Place>> ranges;
  size_t keys = 0;
  for (size_t i = 0; runs && i < runs->size(); ++i) {
    const KeyOrder::Run& run = *(*runs)[i];
    const KeyOrder::Place* first = KeyOrder::at_or_after(run, from);
    const KeyOrder::Place* end = std::max(first, KeyOrder::at_or_after(run, to));
    ranges.emplace_back(first, end);
    keys += ranges.back().size();
  }
  Sample sample;
  const size_t step = std::max<size_t>(keys / kEnough, 1);
  sample.keys_per_sample = static_cast<double>(step);
  size_t at = 0;  // where in its range the next sample is
  for (const auto& range : ranges) {
    for (; at < range.size(); at += step) {
      const Entry& entry = *range[at].entry;
      if (const Version* version = version_at(entry, sequence))
        sample.keys.push_back({entry.key(), version->erased});
    }
    at -= range.size();
  }
  return sample;
}

void WriteBuffer::for_each(FunctionRef<void(std::string_view, const Version&)> visit) const {
  assert(private_);
  order_.for_each([&](const Entry& entry) {
    if (const Version* newest = entry.newest.load(std::memory_order_relaxed)) visit(entry.key(), *newest);
  });
}

// ------------------------------------------------------------------------------------------ iterating

// Not when it is made: in a forked child that must not touch a lock. False if there is nothing to iterate over.
bool WriteBuffer::Iterator::prepare() {
  if (buffer_ == nullptr) return false;
  if (!prepared_ || buffer_->private_) {
    buffer_->order_all();
    walk_ = KeyOrder::Walk(buffer_->order_.runs());
  }
  prepared_ = true;
  return true;
}

void WriteBuffer::Iterator::seek(std::string_view key) {
  if (!prepare()) return;
  walk_.seek(key);
  settle_forward();
}

void WriteBuffer::Iterator::first() {
  if (!prepare()) return;
  walk_.first();
  settle_forward();
}

void WriteBuffer::Iterator::last() {
  if (!prepare()) return;
  walk_.last();
  settle_backward();
}

void WriteBuffer::Iterator::next() {
  walk_.next();
  settle_forward();
}

void WriteBuffer::Iterator::prev() {
  walk_.prev();
  settle_backward();
}

void WriteBuffer::Iterator::settle_forward() {
  for (; walk_.valid(); walk_.next()) {
    version_ = version_at(walk_.entry(), sequence_);
    if (version_ != nullptr) return;
  }
}

void WriteBuffer::Iterator::settle_backward() {
  for (; walk_.valid(); walk_.prev()) {
    version_ = version_at(walk_.entry(), sequence_);
    if (version_ != nullptr) return;
  }
}

}  // namespace lapse::engine
