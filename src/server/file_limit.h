// File descriptors for clients: the process may have only so many.

#pragma once

#include <cstdint>

namespace lapse::server {

// Raises the limit, as far as that goes, for `wanted` clients. Returns for how many there are enough.
int64_t provide_files(int64_t wanted);

}  // namespace lapse::server
