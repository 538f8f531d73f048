// A store's turn at a workload: what the workloads of `lapse-bench engine` are written with.
//
// How the stores are kept apart, in one process:
//  - Each store has a folder of its own. A "loaded" store holds all entries, is at rest (flushed,
//    compacted as far as it wants to be, closed, written out by the kernel), and passes from
//    workload to workload within a round.
//  - A turn begins and ends with the store closed. What it left to the kernel is written out before
//    the next turn begins.
//  - Timed writes end with the store's flush. Reads are warmed up, and every value is checked.

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "bench/dataset.h"
#include "bench/engine_bench.h"
#include "bench/report.h"
#include "bench/rival.h"
#include "bench/writing.h"

namespace lapse::bench {

struct Turn {
  const Scale& scale;
  const Dataset& data;
  const std::string& store;
  Rival& rival;                  // closed
  std::filesystem::path loaded;  // where the loaded store is, or is to be
  std::filesystem::path empty;   // for a store made just for this turn
  Report& report;

  void record(const Row& row, double value, bool stopped_early = false) const {
    report.record(row, store, value, stopped_early);
  }
};

// Commits, then flushes. REQUIRES: the store is open.
PutTiming time_puts(const Turn& turn, const Puts& puts);

// Makes the loaded store, 1000 puts a commit.
PutTiming load(const Turn& turn);
void make_sure_it_is_loaded(const Turn& turn);
void open_loaded(const Turn& turn, bool drain_constantly = false);

// Lets background work end first.
void rest_and_close(const Turn& turn);

}  // namespace lapse::bench
