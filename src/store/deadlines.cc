#include "store/deadlines.h"

#include <algorithm>
#include <string>

#include "base/try.h"

namespace lapse::internal {

namespace {

Status invalid(std::string message) { return {StatusCode::kInvalidArgument, std::move(message)}; }

// Longer or shorter by up to `percent`, but never nothing.
int64_t with_jitter(int64_t ttl_ms, int percent, uint64_t seed) {
  // By the hundred first: no product of a TTL and a percentage can overflow.
  const int64_t reach_ms = ttl_ms / 100 * percent + ttl_ms % 100 * percent / 100;
  if (reach_ms == 0) return ttl_ms;
  const auto width = static_cast<uint64_t>(reach_ms) * 2 + 1;
  const auto shift_ms = static_cast<int64_t>(seed % width - static_cast<uint64_t>(reach_ms));
  if (shift_ms > 0 && ttl_ms > kNever - shift_ms) return ttl_ms;
  return std::max<int64_t>(1, ttl_ms + shift_ms);
}

Result<int64_t> requested_deadline(const DeadlineRequest& request, const FamilyOptions& policies) {
  const auto ttl_deadline = [&](int64_t ttl_ms) {
    if (policies.jitter_percent > 0 && ttl_ms > 0)
      ttl_ms = with_jitter(ttl_ms, policies.jitter_percent, request.jitter_seed);
    return deadline_after(request.now_ms, ttl_ms);
  };
  switch (request.lifetime.kind()) {
    case Lifetime::Kind::kTtl: return ttl_deadline(request.lifetime.ms());
    case Lifetime::Kind::kUntil:
      if (request.lifetime.ms() <= 0)
        return invalid("a deadline of " + std::to_string(request.lifetime.ms()) +
                       " ms: it must be after the beginning of 1970");
      return request.lifetime.ms();
    case Lifetime::Kind::kPermanent: return kNever;
    case Lifetime::Kind::kKeep:
      if (request.present_deadline_ms) return *request.present_deadline_ms;
      break;
    case Lifetime::Kind::kDefault: break;
  }
  if (policies.default_ttl.count() > 0) return ttl_deadline(policies.default_ttl.count());
  return kNever;
}

}  // namespace

Status check_lifetime(const Lifetime& lifetime, int64_t now_ms) {
  return requested_deadline(
             {.lifetime = lifetime, .now_ms = now_ms, .present_deadline_ms = {}, .jitter_seed = 0}, {})
      .status();
}

Result<int64_t> deadline_after(int64_t now_ms, int64_t ttl_ms) {
  if (ttl_ms <= 0) return invalid("a TTL of " + std::to_string(ttl_ms) + " ms: it must be above zero");
  if (ttl_ms >= kNever - now_ms)
    return invalid("a TTL of " + std::to_string(ttl_ms) + " ms ends beyond the end of time");
  return now_ms + ttl_ms;
}

Result<int64_t> deadline_for(const DeadlineRequest& request, const FamilyOptions& policies) {
  LAPSE_TRY_ASSIGN(int64_t deadline_ms, requested_deadline(request, policies));
  if (deadline_ms == kNever && policies.require_ttl)
    return invalid("this family refuses keys without a lifetime (require_ttl)");
  const int64_t max_ttl_ms = policies.max_ttl.count();
  if (max_ttl_ms > 0 && max_ttl_ms < kNever - request.now_ms)
    deadline_ms = std::min(deadline_ms, request.now_ms + max_ttl_ms);
  return deadline_ms;
}

}  // namespace lapse::internal
