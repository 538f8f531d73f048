// A store's turn at a workload of `lapse-bench store`. What engine_turn.h says of keeping the stores apart
// holds here too, except that there are several loaded stores, of the kinds below.

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "bench/dataset.h"
#include "bench/report.h"
#include "bench/rounds.h"
#include "bench/store_bench.h"
#include "bench/store_rival.h"
#include "bench/writing.h"

namespace lapse::bench {

struct StoreTurn {
  const StoreScale& scale;
  const Dataset& data;
  const std::string& store;
  StoreRival& rival;  // closed
  const Folders& folders;
  Report& report;

  void record(const Row& row, double value, bool stopped_early = false) const {
    report.record(row, store, value, stopped_early);
  }
};

// That none of the keys with a lifetime comes to the end of it, while the system's clock is used.
inline constexpr Lifetimes kLong = {24 * kHourMs, 48 * kHourMs};

enum class Kind {
  kPermanent,
  kLifetimes,  // all keys have one
  kMixed,      // the second half of the entries has one
};

// Commits, then flushes. REQUIRES: the store is open.
PutTiming time_puts(const StoreTurn& turn, const Puts& puts, const Lifetimes& lifetimes);
// Entries [from, to), 1000 puts a commit. REQUIRES: the store is open.
void put_entries(const StoreTurn& turn, uint64_t from, uint64_t to, const Lifetimes& lifetimes);

void open_empty(const StoreTurn& turn, Kind kind);
// Makes it first, if it is not there.
void open_loaded(const StoreTurn& turn, Kind kind);
// Makes it anew, 1000 puts a commit. kMixed is not timed.
PutTiming load(const StoreTurn& turn, Kind kind);

// Lets background work end first.
void rest_and_close(const StoreTurn& turn);

}  // namespace lapse::bench
