// ExpiredKeys: which keys expired lately, so that INFO can tell how many misses are due to that.
//
// A table of fixed size with one fingerprint in each slot: a key whose slot a later one takes is forgotten, and two keys
// are taken for one another once in 2^46 or so. So the table knows nine of ten when 50,000 have expired, and of a million
// the quarter that was last. That is good enough for counting, and costs 2 MiB once a key expires.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace lapse::server {

class ExpiredKeys {
 public:
  void add(int db, std::string_view key) {
    if (fingerprints_.empty()) fingerprints_.resize(kSlots);
    const size_t fingerprint = fingerprint_of(db, key);
    fingerprints_[fingerprint % kSlots] = fingerprint;
  }
  // It has been written since.
  void remove(int db, std::string_view key) {
    if (fingerprints_.empty()) return;
    const size_t fingerprint = fingerprint_of(db, key);
    size_t& slot = fingerprints_[fingerprint % kSlots];
    if (slot == fingerprint) slot = 0;
  }
  bool has(int db, std::string_view key) const {
    if (fingerprints_.empty()) return false;
    const size_t fingerprint = fingerprint_of(db, key);
    return fingerprints_[fingerprint % kSlots] == fingerprint;
  }

 private:
  static constexpr size_t kSlots = 1 << 18;

  static size_t fingerprint_of(int db, std::string_view key) {
    return std::hash<std::string_view>()(key) + static_cast<size_t>(db) * 0x9e3779b97f4a7c15U;
  }

  std::vector<size_t> fingerprints_;
};

}  // namespace lapse::server
