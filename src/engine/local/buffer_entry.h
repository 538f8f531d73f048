// BufferEntry: a key in a write buffer, with its versions. Laid into an arena: the key's bytes stand behind the entry, a
// value's behind its version.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/prefetch.h"

namespace lapse::engine {

struct BufferVersion {
  const BufferVersion* older;
  uint64_t sequence;
  uint32_t value_bytes;
  bool erased;

  std::string_view value() const { return {reinterpret_cast<const char*>(this + 1), value_bytes}; }
};

struct BufferEntry {
  std::atomic<const BufferVersion*> newest;
  BufferEntry* next_in_bucket;
  uint32_t hash;
  uint32_t key_bytes;

  std::string_view key() const { return {reinterpret_cast<const char*>(this + 1), key_bytes}; }
  // The first version stands behind the key.
  void prefetch() const { lapse::prefetch(this, 256); }
};

}  // namespace lapse::engine
