// How entries lie in the tree as rows. LMDB takes keys of 511 bytes; the engine's go up to 160 KiB.
//
//   row key                          row value
//   00 "meta"                        StoreMeta
//   01 key                           checksum, value        a key of up to 509 bytes
//   01 first 509 bytes, 00           checksum, id           all keys that begin so and are longer: see id
//   02 id (BE64) rest                checksum, value        the rest of a long key, up to 501 bytes
//   02 id (BE64) next 501 bytes, 00  checksum, id           and so on
//
// A row whose key has exactly 511 bytes is a *fork*: it stands for every longer key that begins as it does,
// and sorts right behind the key that ends there. So rows are in the exact order of the keys, and no row
// grows with its neighbours. A fork without a row behind it is removed with the last one.
//
// The checksum (8 bytes, LE) is over row key and the bytes behind it: a row that a damaged page shows under
// another key does not pass.

#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "base/checksum.h"
#include "base/coding.h"
#include "lapse/status.h"

namespace lapse::engine {

inline constexpr std::string_view kMetaRowKey{"\0meta", 5};
inline constexpr size_t kMaxRowKeyBytes = 511;
inline constexpr size_t kRowChecksumBytes = 8;
inline constexpr char kEntrySpace = 1;
inline constexpr char kLongKeySpace = 2;

inline bool is_fork(std::string_view row_key) { return row_key.size() == kMaxRowKeyBytes; }

inline uint64_t row_checksum(std::string_view row_key, std::string_view value) {
  return checksum(row_key, value, 0);
}

// The value of a row whose checksum holds.
inline Result<std::string_view> row_value(std::string_view row_key, std::string_view row, bool verify) {
  if (row.size() >= kRowChecksumBytes) {
    const std::string_view value = row.substr(kRowChecksumBytes);
    if (!verify || load_le<uint64_t>(row.data()) == row_checksum(row_key, value)) return value;
  }
  return Status(StatusCode::kCorrupt, "an entry does not match its checksum");
}

inline Result<uint64_t> fork_id(std::string_view row_key, std::string_view row) {
  const Result<std::string_view> value = row_value(row_key, row, true);
  if (!value.ok()) return value.status();
  if (value->size() != sizeof(uint64_t))
    return Status(StatusCode::kCorrupt, "a fork for long keys holds no id");
  return load_le<uint64_t>(value->data());
}

// The rows that one key leads to: forks, then its own row. Copies nothing but the part that is in use.
//
//   RowPath path(key);
//   while (path.at_fork()) path.follow(id found in the row at path.row_key());
//   … the entry's row is at path.row_key()
class RowPath {
 public:
  explicit RowPath(std::string_view key) : rest_(key) {
    buffer_[0] = kEntrySpace;
    fill();
  }

  bool at_fork() const { return row_key_bytes_ == kMaxRowKeyBytes; }
  std::string_view row_key() const { return {buffer_, row_key_bytes_}; }
  // What all rows of this level begin with.
  std::string_view prefix() const { return {buffer_, prefix_bytes_}; }
  // REQUIRES: at_fork()
  void follow(uint64_t id) {
    rest_.remove_prefix(kMaxRowKeyBytes - 1 - prefix_bytes_);
    buffer_[0] = kLongKeySpace;
    store_be64(buffer_ + 1, id);
    prefix_bytes_ = 1 + sizeof id;
    fill();
  }

 private:
  void fill() {
    const size_t room = kMaxRowKeyBytes - 1 - prefix_bytes_;
    if (rest_.size() <= room) {
      if (!rest_.empty()) std::memcpy(buffer_ + prefix_bytes_, rest_.data(), rest_.size());
      row_key_bytes_ = prefix_bytes_ + rest_.size();
    } else {
      std::memcpy(buffer_ + prefix_bytes_, rest_.data(), room);
      buffer_[kMaxRowKeyBytes - 1] = '\0';
      row_key_bytes_ = kMaxRowKeyBytes;
    }
  }

  std::string_view rest_;
  size_t prefix_bytes_ = 1;
  size_t row_key_bytes_ = 0;
  char buffer_[kMaxRowKeyBytes];
};

}  // namespace lapse::engine
