// Whether this process is still the one that opened a thing. A forked child inherits handles, but not locks or threads: it
// must not touch what is behind them. Lapse's own handles answer kUnavailable there; whoever guards one with a lock asks
// here before taking it.

#pragma once

#include <cstdint>

namespace lapse {

// Changes in a child at fork(). Cheap: no system call.
uint64_t fork_generation();

}  // namespace lapse
