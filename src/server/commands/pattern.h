// The glob patterns that clients give.

#pragma once

#include <string>
#include <string_view>

#include "lapse/status.h"
#include "server/refusal.h"

namespace lapse::server {

// What a long pattern costs grows with its length, for every key or channel that it is tried on.
inline constexpr size_t kLongestPattern = 4'096;

inline Status check_pattern(std::string_view pattern) {
  if (pattern.size() <= kLongestPattern) return {};
  return refuse("ERR the pattern is longer than " + std::to_string(kLongestPattern) + " bytes");
}

}  // namespace lapse::server
