// Whether this process is still the one that opened a thing. A forked child inherits handles, but not
// locks or threads: it must not touch the files behind them.

#pragma once

#include <cstdint>

namespace lapse {

// Changes in a child at fork(). Cheap: no system call.
uint64_t fork_generation();

}  // namespace lapse
