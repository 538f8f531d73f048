// EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds, as SET, GETEX and others take them.

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "lapse/status.h"
#include "server/call.h"

namespace lapse::server {

enum class TimeUnit { kSeconds, kMilliseconds };
enum class TimeFrom { kNow, kEpoch };

// The deadline that a number in a command means. Refused as Redis does it if it is not an integer or beyond the end of
// time; negative and past deadlines are for the caller to judge.
Result<int64_t> to_deadline_ms(const Call& call, std::string_view number, TimeUnit unit, TimeFrom from);

// The same for commands that refuse what is not positive: SET, SETEX, GETEX, …
Result<int64_t> to_new_deadline_ms(const Call& call, std::string_view number, TimeUnit unit, TimeFrom from);

// If arguments[*i] is one of the four words, reads it and its number, moves *i onto the number, and answers the deadline.
Result<std::optional<int64_t>> take_deadline(const Call& call, size_t* i);

}  // namespace lapse::server
