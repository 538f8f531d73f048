// ExpectedRows: what a thread has found in trees ahead of time (Reader::expect()), until its get() comes for it. So who
// announces a key pays for one search, not for two.
//
// A thread has one, and it holds the last few rows only. A row is found again under the number of the tree that it was found
// in, which is never given to another: what is remembered of a tree that has gone is never asked for.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/checksum.h"

namespace lapse::engine {

class ExpectedRows {
 public:
  // Without a row: there is none with this key. Long keys are not remembered.
  void remember(uint64_t tree, std::string_view key, std::optional<std::string_view> row) {
    if (key.size() > kMostKeyBytes) return;
    newest_tree_ = tree;
    Place& place = places_[place_of(key)];
    place.tree = tree;
    place.row = row;
    place.key_bytes = key.size();
    std::memcpy(place.key, key.data(), key.size());
  }

  // Whether this is the tree that something was remembered of last.
  bool know(uint64_t tree) const { return tree == newest_tree_; }

  // Null if it is not known. Only the tree that something was remembered of last is known at all.
  const std::optional<std::string_view>* find(uint64_t tree, std::string_view key) const {
    if (!know(tree)) return nullptr;  // of those who expect nothing, all
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

  static size_t place_of(std::string_view key) { return checksum(key, 0) % kPlaces; }

  uint64_t newest_tree_ = kNoTree;
  Place places_[kPlaces];
};

}  // namespace lapse::engine
