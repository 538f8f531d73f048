// The one rule about time: a key with deadline D is visible at time t if and only if t < D.
//
// Everything that asks whether a key is there, asks here.

#pragma once

#include <cstdint>

#include "lapse/lifetime.h"

namespace lapse::internal {

// A permanent key has the deadline kNever, which no clock reaches.
constexpr bool is_visible(int64_t deadline_ms, int64_t at_ms) { return at_ms < deadline_ms; }

}  // namespace lapse::internal
