// ExpectedRows: what a thread has found in trees ahead of time (Reader::expect()), until its get() comes for it. So who
// announces a key pays for one search, not for two.
//
// There is one for each thread, and it holds the last few rows only. A row is found again under the number of the tree that
// it was found in, which is never given to another: what is remembered of a tree that has gone is never asked for.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/coding.h"

namespace lapse::engine {

class ExpectedRows {
 public:
  static ExpectedRows& of_thread() {
    static constinit thread_local ExpectedRows rows;
    return rows;
  }

  // Without a row: there is none with this key. Long keys are not remembered.
  void remember(uint64_t tree, std::string_view key, std::optional<std::string_view> row) {
    if (key.size() > kMostKeyBytes) return;
    Place& place = places_[place_of(key)];
    place.tree = tree;
    place.row = row;
    place.key_bytes = key.size();
    std::memcpy(place.key, key.data(), key.size());
  }

  // Null if it is not known.
  const std::optional<std::string_view>* find(uint64_t tree, std::string_view key) const {
    const Place& place = places_[place_of(key)];
    const bool is_it = place.tree == tree && std::string_view(place.key, place.key_bytes) == key;
    return is_it ? &place.row : nullptr;
  }

 private:
  static constexpr size_t kPlaces = 128;
  static constexpr size_t kMostKeyBytes = 80;
  static constexpr uint64_t kNoTree = 0;

  struct Place {
    uint64_t tree = kNoTree;
    std::optional<std::string_view> row;
    size_t key_bytes = 0;
    char key[kMostKeyBytes] = {};
  };

  // By the key's last bytes, in which keys differ most.
  static size_t place_of(std::string_view key) {
    uint64_t last = key.size();
    if (key.size() >= sizeof last) {
      last = load_le<uint64_t>(key.data() + key.size() - sizeof last);
    } else {
      std::memcpy(&last, key.data(), key.size());
    }
    return last * 0x9e3779b97f4a7c15ULL >> 57;
  }
  static_assert(kPlaces == 1 << (64 - 57));

  Place places_[kPlaces];
};

}  // namespace lapse::engine
