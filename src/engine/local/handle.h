// The public face of a Core: the Engine, Snapshot and Transaction that callers hold.

#pragma once

#include <memory>
#include <mutex>

#include "engine/engine.h"
#include "engine/local/core.h"

namespace lapse::engine {

// A handle on a core. With `read_only` it refuses writes, whatever the core can do. When the last handle of a
// core is closed, the core is.
//
// For a core that others may find, under handles_mutex(): so nobody gets a handle on one whose last is just going.
std::unique_ptr<Engine> make_handle(std::shared_ptr<Core> core, bool read_only);
std::recursive_mutex& handles_mutex();

}  // namespace lapse::engine
