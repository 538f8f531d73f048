// The public face of a Core: the Engine, Snapshot and Transaction that callers hold.

#pragma once

#include <memory>

#include "engine/engine.h"
#include "engine/local/core.h"

namespace lapse::engine {

// A handle on a core. With `read_only` it refuses writes, whatever the core can do. When the last handle of a
// core is closed, the core is.
std::unique_ptr<Engine> make_handle(std::shared_ptr<Core> core, bool read_only);

}  // namespace lapse::engine
