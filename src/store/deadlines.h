// From a Lifetime to a deadline: TTLs become absolute, and are checked, the moment they arrive.

#pragma once

#include <cstdint>
#include <optional>

#include "lapse/lifetime.h"
#include "lapse/options.h"
#include "lapse/status.h"

namespace lapse::internal {

struct DeadlineRequest {
  Lifetime lifetime;
  int64_t now_ms = 0;
  std::optional<int64_t> present_deadline_ms;  // of the visible key, if there is one: for Lifetime::keep()
  uint64_t jitter_seed = 0;                    // spreads TTLs, if the family wants that
};

// The deadline of a key that is written now, by the family's policies; kNever for a permanent one.
// kInvalidArgument: a TTL or deadline of zero or less, one beyond the end of time, or a key that would be permanent
// where that is refused.
Result<int64_t> deadline_for(const DeadlineRequest& request, const FamilyOptions& policies);

// Whether a lifetime can be at all, whatever the policies. For calls that may turn out not to need it.
Status check_lifetime(const Lifetime& lifetime, int64_t now_ms);

// now + ttl, checked.
Result<int64_t> deadline_after(int64_t now_ms, int64_t ttl_ms);

}  // namespace lapse::internal
