// lapse serve: a store on the Redis protocol.

#pragma once

#include <span>
#include <string_view>

namespace lapse::cli {

// The process's exit code: 0 after a clean end, 1 if it could not serve, 2 for arguments that make no sense.
int serve(std::span<const std::string_view> arguments);

}  // namespace lapse::cli
