#include "store/deadlines.h"

#include <algorithm>
#include <string>

#include "base/try.h"

namespace lapse::internal {

namespace {

using std::chrono::milliseconds;

Status invalid(std::string message) { return {StatusCode::kInvalidArgument, std::move(message)}; }

// Longer or shorter by up to `percent`, but never nothing; and where longer would be beyond `longest_ms`, shorter.
int64_t with_jitter(int64_t ttl_ms, int percent, uint64_t seed, int64_t longest_ms) {
  // By the hundred first: no product of a TTL and a percentage can overflow.
  const int64_t reach_ms = ttl_ms / 100 * percent + ttl_ms % 100 * percent / 100;
  const auto width = static_cast<uint64_t>(reach_ms) * 2 + 1;
  auto shift_ms = static_cast<int64_t>(seed % width - static_cast<uint64_t>(reach_ms));
  if (shift_ms > longest_ms - ttl_ms) shift_ms = -shift_ms;
  return std::max<int64_t>(1, ttl_ms + shift_ms);
}

struct Requested {
  int64_t deadline_ms;
  bool is_ttl;  // counted from now: such deadlines have jitter
};

Result<Requested> requested_deadline(const DeadlineRequest& request, milliseconds default_ttl) {
  const auto after = [&](int64_t ttl_ms) -> Result<Requested> {
    LAPSE_TRY_ASSIGN(const int64_t deadline_ms, deadline_after(request.now_ms, ttl_ms));
    return Requested{deadline_ms, true};
  };
  const auto at = [](int64_t deadline_ms) { return Requested{deadline_ms, false}; };
  switch (request.lifetime.kind()) {
    case Lifetime::Kind::kTtl: return after(request.lifetime.ms());
    case Lifetime::Kind::kUntil:
      if (request.lifetime.ms() <= 0)
        return invalid("a deadline of " + std::to_string(request.lifetime.ms()) +
                       " ms: it must be after the beginning of 1970");
      return at(request.lifetime.ms());
    case Lifetime::Kind::kPermanent: return at(kNever);
    case Lifetime::Kind::kKeep:
      if (request.present_deadline_ms) return at(*request.present_deadline_ms);
      break;
    case Lifetime::Kind::kDefault: break;
  }
  return default_ttl.count() > 0 ? after(default_ttl.count()) : at(kNever);
}

}  // namespace

Status check_lifetime(const Lifetime& lifetime, int64_t now_ms) {
  return requested_deadline(
             {.lifetime = lifetime, .now_ms = now_ms, .present_deadline_ms = {}, .jitter_seed = 0},
             milliseconds(0))
      .status();
}

Result<int64_t> deadline_after(int64_t now_ms, int64_t ttl_ms) {
  if (ttl_ms <= 0) return invalid("a TTL of " + std::to_string(ttl_ms) + " ms: it must be above zero");
  if (ttl_ms >= kNever - now_ms)
    return invalid("a TTL of " + std::to_string(ttl_ms) + " ms ends beyond the end of time");
  return now_ms + ttl_ms;
}

// What max_ttl cuts is a TTL from then on, whatever it was: cut to one deadline, keys would die together.
Result<int64_t> deadline_for(const DeadlineRequest& request, const FamilyOptions& policies) {
  LAPSE_TRY_ASSIGN(Requested wanted, requested_deadline(request, policies.default_ttl));
  if (wanted.deadline_ms == kNever && policies.require_ttl)
    return invalid("this family takes no key without a TTL");
  const int64_t max_ttl_ms = policies.max_ttl.count();
  const bool is_limited = max_ttl_ms > 0 && max_ttl_ms < kNever - request.now_ms;
  const int64_t longest_ms = is_limited ? max_ttl_ms : kNever - 1 - request.now_ms;
  if (is_limited && wanted.deadline_ms - request.now_ms > longest_ms)
    wanted = {request.now_ms + longest_ms, true};
  if (!wanted.is_ttl || policies.jitter_percent == 0) return wanted.deadline_ms;
  return request.now_ms + with_jitter(wanted.deadline_ms - request.now_ms, policies.jitter_percent,
                                      request.jitter_seed, longest_ms);
}

}  // namespace lapse::internal
