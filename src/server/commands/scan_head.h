// What SCAN and SCANAT reply before the keys that a call has found: the cursor to go on with, and how many there are.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "server/call.h"

namespace lapse::server {

// `cursor` is the one that the call came with. `last` is the key that the next call goes on behind; none: that was all.
std::string head_of_scan(Call& call, uint64_t cursor, const std::optional<std::string>& last, size_t keys);

}  // namespace lapse::server
