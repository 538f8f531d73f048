// Iterator: the visible keys of one moment, in key order or against it.
//
//   auto users = store.iterate({.prefix = "user:"});
//   if (!users.ok()) return users.status();
//   for (; users->valid(); users->next()) use(users->key(), users->value());
//   return users->status();   // whether the loop came to its end, or to something damaged

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lapse/status.h"

namespace lapse {

namespace internal {
class IteratorImpl;
}

// Which keys, and in which direction. What is not given does not limit.
struct IterateOptions {
  std::string prefix = {};
  std::optional<std::string> from = {};  // the first key, inclusive
  std::optional<std::string> to = {};    // the end, exclusive
  bool reverse = false;                  // from the greatest key down
};

// It sees the store as of its creation, judged by the one clock reading taken then: what is written or expires
// later changes nothing. It may outlive the snapshot that it was made from. Over a transaction it sees the transaction's
// writes up to its latest move, but not that the family was cleared, dropped or exchanged; and it must not be used after the
// transaction's end.
//
// For one thread at a time. A long-lived iterator keeps disk space from being used again.
class Iterator {
 public:
  explicit Iterator(std::unique_ptr<internal::IteratorImpl> impl);
  ~Iterator();  // also removes expired keys that it came across, if the writer is free
  Iterator(Iterator&&) noexcept;
  Iterator& operator=(Iterator&&) noexcept;

  // A new iterator stands on the first key in its direction.
  bool valid() const;
  void next();  // REQUIRES: valid()
  void prev();  // REQUIRES: valid(). Against its direction.
  void first();
  void last();
  // To the first key in its direction that is at or beyond `key`.
  void seek(std::string_view key);

  // REQUIRES: valid(). They stay as they are until the iterator moves.
  std::string_view key() const;
  std::string_view value() const;
  int64_t deadline_ms() const;  // kNever for a permanent key
  uint64_t revision() const;    // 0 in a family without revisions

  // ok, or why the iterator stopped before the end.
  const Status& status() const;

 private:
  std::unique_ptr<internal::IteratorImpl> impl_;
};

}  // namespace lapse
