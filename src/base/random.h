// Random bits from the kernel, for what must never repeat (salts, ids).

#pragma once

#include <cstdint>

namespace lapse {

// Never the same twice, across processes and reboots.
uint64_t random_u64();

}  // namespace lapse
