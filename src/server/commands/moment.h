// Durations and moments, as Lapse's own commands take them.
//
//   duration   a number with its unit: 500ms, 30s, 15m, 12h, 7d. Without one it could be read two ways, and is refused.
//   moment     milliseconds since 1970; or a duration from now: -5m, +10s; or now

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lapse/status.h"
#include "server/call.h"

namespace lapse::server {

// Nothing: it is none. Never negative.
std::optional<std::chrono::milliseconds> to_duration(std::string_view text);
// In the largest unit that makes it a whole number: to_duration() of it is the same again.
std::string duration_text(std::chrono::milliseconds duration);

Result<int64_t> to_moment_ms(const Call& call, std::string_view text);

}  // namespace lapse::server
