// An engine that counts what is asked of it, and passes everything on.

#pragma once

#include <cstdint>
#include <memory>
#include <ostream>

#include "engine/engine.h"

namespace lapse {

struct EngineCalls {
  uint64_t gets = 0;
  uint64_t puts = 0;
  uint64_t erases = 0;
  uint64_t cursors = 0;
  uint64_t moves = 0;          // of cursors: seek, first, last, next, prev
  uint64_t walked_erased = 0;  // what these moves went past: keys that are gone, but perhaps not drained yet
  uint64_t estimates = 0;
  uint64_t snapshots = 0;
  uint64_t transactions = 0;
  uint64_t commits = 0;

  uint64_t reads() const { return gets + cursors + moves + estimates; }
  uint64_t writes() const { return puts + erases; }
  uint64_t all() const { return reads() + writes(); }

  EngineCalls operator-(const EngineCalls& before) const;
};
std::ostream& operator<<(std::ostream& out, const EngineCalls& calls);

// `calls` is kept up to date, and must outlive the engine and all that comes from it. For one thread.
std::unique_ptr<engine::Engine> counting_engine(std::unique_ptr<engine::Engine> engine, EngineCalls* calls);

}  // namespace lapse
