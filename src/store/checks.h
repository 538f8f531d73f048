// Checks of what callers pass in, with messages that say what was wrong with what.

#pragma once

#include <cstdint>
#include <string_view>

#include "lapse/status.h"

namespace lapse::internal {

Status check_key(std::string_view key);  // kTooLarge
Status check_value(size_t bytes);        // kTooLarge
// A time to look back to, when the newest thing is dated `latest_ms`. kInvalidArgument: negative, or in the future.
Status check_past(int64_t at_ms, int64_t latest_ms);
// The complaint about a std::function without one.
Status no_function(std::string_view call);

}  // namespace lapse::internal
