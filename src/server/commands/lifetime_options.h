// EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds, as SET, GETEX and others take them.

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "lapse/lifetime.h"
#include "lapse/status.h"
#include "server/call.h"

namespace lapse::server {

enum class TimeUnit { kSeconds, kMilliseconds };
enum class TimeFrom { kNow, kEpoch };

// A deadline, and whether it was given as a TTL: those have the family's jitter.
struct Deadline {
  int64_t ms;
  TimeFrom from;

  bool has_passed(const Call& call) const { return ms <= call.now_ms(); }
  Lifetime lifetime(const Call& call) const {
    if (from == TimeFrom::kEpoch || has_passed(call)) return Lifetime::until(ms);
    return std::chrono::milliseconds(ms - call.now_ms());
  }
};

// The deadline that a number in a command means. Refused as Redis does it if it is not an integer or beyond the end of
// time; negative and past deadlines are for the caller to judge.
Result<Deadline> to_deadline(const Call& call, std::string_view number, TimeUnit unit, TimeFrom from);

// The same for commands that refuse what is not positive: SET, SETEX, GETEX, …
Result<Deadline> to_new_deadline(const Call& call, std::string_view number, TimeUnit unit, TimeFrom from);

// Gives a key that is there another deadline. Whether it did. REQUIRES: !deadline.has_passed()
Result<bool> expire_at(const Call& call, Keyspace* keys, std::string_view key, const Deadline& deadline,
                       Only only = Only::kAlways);

// The words about the lifetime among a command's options. They are gathered first and understood later, so that a word out
// of place is a syntax error whatever numbers stand around it, as it is in Redis. A word may come twice, and the last one
// counts; two different ones clash.
class LifetimeOptions {
 public:
  enum class Besides { kNothing, kKeepTtl, kPersist };  // the word that the command knows besides the four

  explicit LifetimeOptions(Besides besides) : besides_(besides) {}

  // If arguments[*i] is one of the words and fits, takes it, and moves *i onto its number.
  bool take(const Call& call, size_t* i);

  // Whether KEEPTTL, or PERSIST, was given.
  bool keeps_ttl() const;
  bool persists() const;
  // Nothing, if none of the four words was there.
  Result<std::optional<Deadline>> deadline(const Call& call) const;

 private:
  struct Word;
  static const Word kWords[];

  Besides besides_;
  const Word* word_ = nullptr;
  std::string_view number_;
};

}  // namespace lapse::server
