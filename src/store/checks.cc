#include "store/checks.h"

#include <string>

#include "lapse/options.h"

namespace lapse::internal {

namespace {

Status too_large(std::string_view what, size_t bytes, size_t limit) {
  return {StatusCode::kTooLarge, std::string(what) + " of " + std::to_string(bytes) +
                                     " bytes: the limit is " + std::to_string(limit)};
}

}  // namespace

Status check_key(std::string_view key) {
  return key.size() > kMaxKeyBytes ? too_large("key", key.size(), kMaxKeyBytes) : Status();
}

Status check_value(size_t bytes) {
  return bytes > kMaxValueBytes ? too_large("value", bytes, kMaxValueBytes) : Status();
}

Status check_past(int64_t at_ms, int64_t latest_ms) {
  if (at_ms < 0)
    return {StatusCode::kInvalidArgument, "the time " + std::to_string(at_ms) + " ms lies before 1970"};
  if (at_ms > latest_ms)
    return {StatusCode::kInvalidArgument, "the time " + std::to_string(at_ms) +
                                              " ms lies in the future; it is " + std::to_string(latest_ms) +
                                              " ms"};
  return {};
}

Status no_function(std::string_view call) {
  return {StatusCode::kInvalidArgument, std::string(call) + ": no function was given"};
}

}  // namespace lapse::internal
