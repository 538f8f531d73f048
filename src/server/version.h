// What the server says that it is.

#pragma once

#include <string_view>

namespace lapse::server {

inline constexpr std::string_view kVersion = LAPSE_VERSION;
// The Redis whose answers these are, for clients that ask what they may use.
inline constexpr std::string_view kRedisVersion = "7.2.0";

}  // namespace lapse::server
