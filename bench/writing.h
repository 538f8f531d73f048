// Timed writes. They end with the store's flush: nobody gets away with leaving work behind.

#pragma once

#include <cstdint>
#include <string>

#include "bench/dataset.h"
#include "bench/latency.h"
#include "bench/report.h"
#include "bench/streams.h"

namespace lapse::bench {

inline constexpr size_t kPutsABatch = 1000;

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

// `commit(entries)` for each commit, of entries among `entries`; then `flush()`.
template <typename Commit, typename Flush>
PutTiming time_puts(const Dataset& data, uint64_t entries, const Puts& puts, Commit commit, Flush flush) {
  Batch batch(data, puts.per_commit);
  PutTiming timing;
  uint64_t done = 0;
  const double cpu_before = cpu_seconds();
  Stopwatch watch;
  while (done < puts.count && !timing.stopped_early) {
    for (size_t place = 0; place < puts.per_commit; ++place, ++done) {
      batch.set(place, puts.index_of(done, entries), puts.generation);
    }
    commit(batch.entries());
    timing.commits.record(watch.lap_ns());
    timing.stopped_early = watch.seconds_at_lap() > puts.seconds_at_most;
  }
  flush();
  timing.puts_per_second = static_cast<double>(done) / watch.seconds();
  timing.cpu_us_a_put = (cpu_seconds() - cpu_before) * 1e6 / static_cast<double>(done);
  return timing;
}

template <typename Turn>
void record_latencies(const Turn& turn, const std::string& name, const LatencyHistogram& commits) {
  turn.record({name + "_p999_us", "  p99.9 of a commit", Unit::kMicroseconds, Over::kMedian},
              commits.percentile_us(0.999));
  turn.record({name + "_max_us", "  longest commit, of all rounds", Unit::kMicroseconds, Over::kMaximum},
              commits.max_us());
}

template <typename Turn>
void record_put_rate(const Turn& turn, const std::string& name, const std::string& title,
                     const PutTiming& timing) {
  turn.record({name, title}, timing.puts_per_second, timing.stopped_early);
  turn.record({name + "_cpu_us", "  CPU time of a put, all threads", Unit::kMicroseconds},
              timing.cpu_us_a_put);
}

template <typename Turn>
void record_puts(const Turn& turn, const std::string& name, const std::string& title,
                 const PutTiming& timing) {
  record_put_rate(turn, name, title, timing);
  record_latencies(turn, name, timing.commits);
}

}  // namespace lapse::bench
