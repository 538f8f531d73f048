// The entries every store is given: 16 random bytes of key, 100 incompressible bytes of value.
//
// An entry follows from its index alone, so nothing is kept in memory and any two stores get the
// same ones. The value's first word is chosen so that the sum of all its words depends on the index
// only, whatever the generation (how often it was overwritten). So each get can be checked, and
// every store pays the same for having its value bytes looked at.

#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/coding.h"

namespace lapse::bench {

inline constexpr size_t kKeyBytes = 16;
inline constexpr size_t kValueBytes = 100;
inline constexpr size_t kEntryBytes = kKeyBytes + kValueBytes;

struct Entry {
  std::string_view key;
  std::string_view value;
};

// The splitmix64 finalizer: a bijection, so distinct indexes give distinct keys.
inline uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// A sum over words: it reads every byte, and is the same in any order of words.
inline uint64_t word_sum(std::string_view bytes) {
  uint64_t sum = 0;
  for (; bytes.size() >= sizeof sum; bytes.remove_prefix(sizeof sum)) {
    sum += load_le<uint64_t>(bytes.data());
  }
  uint64_t tail = 0;
  std::memcpy(&tail, bytes.data(), bytes.size());
  return sum + tail;
}

struct ScanTotals {
  uint64_t entries = 0;
  uint64_t key_sum = 0;
  uint64_t value_sum = 0;

  bool operator==(const ScanTotals&) const = default;
  void add(std::string_view key, std::string_view value) {
    ++entries;
    key_sum += word_sum(key);
    value_sum += word_sum(value);
  }
};

class Dataset {
 public:
  using Key = std::array<char, kKeyBytes>;
  using Value = std::array<char, kValueBytes>;

  Dataset() : pool_(kPoolBytes, '\0') {
    for (size_t i = 0; i < kPoolBytes; i += sizeof(uint64_t)) store_le(&pool_[i], mix(~i));
  }

  static Key key(uint64_t index) {
    Key key;
    store_le(key.data(), mix(index));
    store_le(key.data() + 8, mix(~index));
    return key;
  }

  static uint64_t key_sum(uint64_t index) { return mix(index) + mix(~index); }
  static uint64_t value_sum(uint64_t index) { return mix(index ^ 0x5ca1ab1eU); }

  Value value(uint64_t index, uint64_t generation) const {
    Value value;
    const size_t offset = mix(index * 31 + generation) % (kPoolBytes - kValueBytes);
    std::memcpy(value.data(), &pool_[offset], kValueBytes);
    const uint64_t rest = word_sum({value.data() + 8, kValueBytes - 8});
    store_le(value.data(), value_sum(index) - rest);
    return value;
  }

 private:
  static constexpr size_t kPoolBytes = 1 << 20;  // stays in the cache, so making values costs little
  std::string pool_;
};

inline std::string_view view(const Dataset::Key& key) { return {key.data(), key.size()}; }

// The puts of one commit.
class Batch {
 public:
  Batch(const Dataset& data, size_t puts) : data_(data), storage_(puts), entries_(puts) {
    for (size_t i = 0; i < puts; ++i) {
      const Storage& at = storage_[i];
      entries_[i] = {view(at.key), {at.value.data(), at.value.size()}};
    }
  }
  Batch(const Batch&) = delete;  // entries_ points into storage_
  Batch& operator=(const Batch&) = delete;

  void set(size_t place, uint64_t index, uint64_t generation) {
    storage_[place] = {data_.key(index), data_.value(index, generation)};
  }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  struct Storage {
    Dataset::Key key;
    Dataset::Value value;
  };
  const Dataset& data_;
  std::vector<Storage> storage_;
  std::vector<Entry> entries_;
};

}  // namespace lapse::bench
