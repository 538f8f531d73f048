// Lifetime: how long a key is to live. Calls that write a key take one, as their last argument.
//
//   store.put("session:42", data, 30min);                          // from now on
//   store.put("invoice", data, lapse::Lifetime::until(at_ms));     // to a moment, ms since 1970
//   store.put("session:42", data, lapse::Lifetime::keep());        // as long as the value before it
//   store.put("motto", data);                                      // for ever, unless the family has a default
//
// A key with deadline D is visible at time t if and only if t < D. That is all there is to it, for every call.

#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace lapse {

// The deadline of a permanent key.
inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
// The time that a permanent key has left; as a timeout: no limit.
inline constexpr std::chrono::milliseconds kForever = std::chrono::milliseconds::max();

// So many milliseconds from now; a fraction counts as a whole one. A TTL of zero or less, or one that ends beyond the end of
// time, is refused by the call that gets it.
class Ttl {
 public:
  template <typename Rep, typename Period>
  Ttl(std::chrono::duration<Rep, Period> ttl)  // NOLINT(google-explicit-constructor): expire(k, 30s)
      : ms_(to_ms(ttl)) {}

  int64_t ms() const { return ms_; }

  // Rounded up, and held at the limits of int64_t, where a plain conversion would overflow.
  template <typename Rep, typename Period>
  static int64_t to_ms(std::chrono::duration<Rep, Period> duration) {
    using std::chrono::milliseconds;
    const std::chrono::duration<long double, std::milli> exact = duration;
    if (!(exact.count() < static_cast<long double>(kNever))) return kNever;
    if (exact.count() <= static_cast<long double>(std::numeric_limits<int64_t>::min()))
      return std::numeric_limits<int64_t>::min();
    return std::chrono::ceil<milliseconds>(exact).count();
  }

 private:
  int64_t ms_;
};

class Lifetime {
 public:
  enum class Kind {
    kDefault,  // what the family says: its default TTL, or for ever
    kPermanent,
    kTtl,
    kUntil,
    kKeep,  // the deadline that the key has; kDefault if the key is not there
  };

  Lifetime() = default;  // kDefault

  Lifetime(Ttl ttl) : Lifetime(Kind::kTtl, ttl.ms()) {}  // NOLINT(google-explicit-constructor)
  template <typename Rep, typename Period>
  Lifetime(std::chrono::duration<Rep, Period> ttl)  // NOLINT(google-explicit-constructor): put(k, v, 30s)
      : Lifetime(Ttl(ttl)) {}

  // To a moment in milliseconds since 1970. One that has passed makes the key expired at once; zero or less is
  // refused. kNever means for ever.
  static Lifetime until(int64_t deadline_ms) { return {Kind::kUntil, deadline_ms}; }
  static Lifetime until(std::chrono::system_clock::time_point deadline) {
    return until(Ttl::to_ms(deadline.time_since_epoch()));
  }
  static Lifetime forever() { return {Kind::kPermanent, 0}; }
  static Lifetime keep() { return {Kind::kKeep, 0}; }

  Kind kind() const { return kind_; }
  // The TTL, or the deadline, as the kind says.
  int64_t ms() const { return ms_; }

 private:
  Lifetime(Kind kind, int64_t ms) : kind_(kind), ms_(ms) {}

  Kind kind_ = Kind::kDefault;
  int64_t ms_ = 0;
};

}  // namespace lapse
