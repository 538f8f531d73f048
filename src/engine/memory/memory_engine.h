// The memory engine: nothing outlives it. For tests, caches and `:memory:`.
//
// It is the local engine on a temporary file, unlinked as soon as it is open, without a journal and
// without syncs: snapshots, cursors and reclamation come with it, and what does not fit into memory
// the kernel may write out. sync() and its like succeed at once.

#pragma once

#include <memory>

#include "base/clock.h"
#include "engine/engine.h"

namespace lapse::engine {

struct MemoryOptions {
  size_t buffer_bytes = 16 << 20;
  size_t max_transaction_bytes = 2UL << 30;
  size_t drain_slice_rows = 8192;
  size_t drain_slice_bytes = 8 << 20;
  bool background_drain = false;
  Clock* clock = SteadyClock::instance();
};

// In $TMPDIR, else /tmp. kInvalidArgument: options that make no sense. kNoSpace or kIoError: no file can be made there.
Result<std::unique_ptr<Engine>> open_memory(const MemoryOptions& options);

}  // namespace lapse::engine
