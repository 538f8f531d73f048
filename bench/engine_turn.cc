#include "bench/engine_turn.h"

#include "bench/scratch.h"

namespace lapse::bench {

PutTiming time_puts(const Turn& turn, const Puts& puts) {
  Batch batch(turn.data, puts.per_commit);
  PutTiming timing;
  uint64_t done = 0;
  const double cpu_before = cpu_seconds();
  Stopwatch watch;
  while (done < puts.count && !timing.stopped_early) {
    for (size_t place = 0; place < puts.per_commit; ++place, ++done) {
      batch.set(place, puts.index_of(done, turn.scale.entries), puts.generation);
    }
    turn.rival.commit(batch.entries());
    timing.commits.record(watch.lap_ns());
    timing.stopped_early = watch.seconds_at_lap() > puts.seconds_at_most;
  }
  turn.rival.flush();
  timing.puts_per_second = static_cast<double>(done) / watch.seconds();
  timing.cpu_us_a_put = (cpu_seconds() - cpu_before) * 1e6 / static_cast<double>(done);
  return timing;
}

PutTiming load(const Turn& turn) {
  std::filesystem::create_directories(turn.loaded);
  turn.rival.open({.folder = turn.loaded});
  const PutTiming timing = time_puts(turn, {turn.scale.entries, kPutsABatch, new_entry, 0});
  rest_and_close(turn);
  settle_file_system(turn.loaded);
  return timing;
}

void make_sure_it_is_loaded(const Turn& turn) {
  if (!std::filesystem::exists(turn.loaded)) load(turn);
}

void open_loaded(const Turn& turn, bool drain_constantly) {
  make_sure_it_is_loaded(turn);
  turn.rival.open({.folder = turn.loaded, .drain_constantly = drain_constantly});
}

void rest_and_close(const Turn& turn) {
  turn.rival.settle();
  turn.rival.close();
}

}  // namespace lapse::bench
