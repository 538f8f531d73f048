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
#include "bench/latency.h"
#include "bench/report.h"
#include "bench/rival.h"

namespace lapse::bench {

inline constexpr size_t kPutsABatch = 1000;

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

// Which entries, in which order: the i-th of one stream. Streams differ, lest one workload read just
// what another wrote, in the order it did.
using IndexOf = uint64_t (*)(uint64_t i, uint64_t entries);

inline uint64_t new_entry(uint64_t i, uint64_t /*entries*/) { return i; }
inline uint64_t absent_entry(uint64_t i, uint64_t entries) { return entries + i; }
template <uint64_t kStream>
uint64_t random_entry(uint64_t i, uint64_t entries) {
  return mix(i + (kStream << 48)) % entries;
}
inline constexpr IndexOf entry_to_get = random_entry<1>;
inline constexpr IndexOf entry_to_overwrite = random_entry<2>;
inline constexpr IndexOf entry_to_fill_with = random_entry<3>;
inline constexpr IndexOf entry_to_write_meanwhile = random_entry<4>;

struct Puts {
  uint64_t count;
  size_t per_commit;
  IndexOf index_of;
  uint64_t generation;
  double seconds_at_most = 1e9;
};

struct PutTiming {
  double puts_per_second = 0;
  double cpu_us_a_put = 0;  // of all threads: what compaction in the background costs is in it
  LatencyHistogram commits;
  bool stopped_early = false;
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
