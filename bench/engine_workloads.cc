#include "bench/engine_workloads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>

#include "bench/reading.h"
#include "bench/scratch.h"

namespace lapse::bench {
namespace {

constexpr double kSyncedPutsSeconds = 3;  // a store that syncs each put shows its rate soon
constexpr uint64_t kGetsAView = 100;      // while others write, readers renew their view this often
constexpr int kOpens = 5;
constexpr double kMegabyte = 1 << 20;

// --- Writing

double single_puts_seconds(const Turn& turn) {
  return turn.rival.always_syncs() ? kSyncedPutsSeconds : turn.scale.single_puts_seconds;
}

void record_disk(const Turn& turn, const std::string& name, const std::string& title) {
  turn.record({name, title, Unit::kMegabytes}, static_cast<double>(allocated_bytes(turn.loaded)) / kMegabyte);
}

// --- Reading

Gets random_gets(const Turn& turn) { return {turn.scale.gets, turn.scale.entries}; }

// Has `measure(reader)` read within one snapshot or read transaction.
template <typename Measure>
double in_one_view(const Turn& turn, Measure measure) {
  const auto reader = turn.rival.reader();
  reader->begin();
  const double result = measure(reader.get());
  reader->end();
  return result;
}

double gets_per_second_in_one_view(const Turn& turn, const Gets& gets) {
  return in_one_view(turn, [&](Reader* reader) {
    const auto get_one = [=](std::string_view key, uint64_t* sum) { return reader->get(key, sum); };
    return time_gets(gets, get_one).gets_per_second;
  });
}

double gets_per_second_in_short_views(const Turn& turn) {
  return in_one_view(turn, [&](Reader* reader) {
    uint64_t done = 0;
    const auto get_one = [&, reader](std::string_view key, uint64_t* value_sum) {
      if (++done % kGetsAView == 0) {
        reader->end();
        reader->begin();
      }
      return reader->get(key, value_sum);
    };
    return time_gets(random_gets(turn), get_one).gets_per_second;
  });
}

double gets_per_second_alone(const Turn& turn) {
  const auto reader = turn.rival.reader();
  const auto get_one = [&](std::string_view key, uint64_t* sum) { return reader->get_alone(key, sum); };
  return time_gets(random_gets(turn), get_one).gets_per_second;
}

double entries_scanned_per_second(const Turn& turn, Reader* reader) {
  const ScanTotals expected = totals_of(0, turn.scale.entries);
  check(reader->scan() == expected, "a scan found other entries than were put");  // warms up
  const Stopwatch watch;
  check(reader->scan() == expected, "a second scan found other entries than the first");
  return static_cast<double>(turn.scale.entries) / watch.seconds();
}

// --- Reading beside writes

void fill_half_the_buffer(const Turn& turn) {
  Batch batch(turn.data, kPutsABatch);
  for (uint64_t done = 0; turn.rival.buffer_fill(done * kEntryBytes) < 0.5;) {
    for (size_t place = 0; place < kPutsABatch; ++place, ++done) {
      batch.set(place, entry_to_fill_with(done, turn.scale.entries), 2);
    }
    turn.rival.commit(batch.entries());
  }
}

// Overwrites entries at random, a put a commit, until it is stopped.
class BackgroundWriter {
 public:
  explicit BackgroundWriter(const Turn& turn)
      : result_(std::async(std::launch::async, [this, &turn] { write(turn); })) {}
  ~BackgroundWriter() { stopping_ = true; }  // and result_ waits

  uint64_t commits() const { return commits_; }
  // Commits a second. Throws what the writer threw.
  double stop() {
    const double rate = static_cast<double>(commits_) / watch_.seconds();
    stopping_ = true;
    result_.get();
    return rate;
  }

 private:
  void write(const Turn& turn) {
    Batch batch(turn.data, 1);
    for (; !stopping_; ++commits_) {
      batch.set(0, entry_to_write_meanwhile(commits_, turn.scale.entries), 3 + commits_);
      turn.rival.commit(batch.entries());
    }
  }

  Stopwatch watch_;
  std::atomic<bool> stopping_ = false;
  std::atomic<uint64_t> commits_ = 0;
  std::future<void> result_;
};

// Until Lapse, which then has a small buffer, is draining; a second at most.
void wait_until_it_drains(const BackgroundWriter& writer) {
  const Stopwatch watch;
  while (writer.commits() * kEntryBytes < 16 * kMegabyte && watch.seconds() < 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// --- Committing from several threads, each commit synced

LatencyHistogram commit_until(const Turn& turn, uint64_t thread, double seconds) {
  Batch batch(turn.data, 1);
  LatencyHistogram commits;
  Stopwatch watch;
  for (uint64_t i = 0; watch.seconds_at_lap() < seconds; ++i) {
    batch.set(0, (thread << 40) + i, 0);
    turn.rival.commit(batch.entries());
    commits.record(watch.lap_ns());
  }
  return commits;
}

LatencyHistogram commit_from_threads(const Turn& turn, uint64_t threads) {
  std::vector<std::future<LatencyHistogram>> results;
  for (uint64_t thread = 0; thread < threads; ++thread) {
    results.push_back(std::async(std::launch::async, commit_until, std::cref(turn), thread,
                                 turn.scale.full_commits_seconds));
  }
  LatencyHistogram commits;
  for (auto& result : results) commits.merge(result.get());
  return commits;
}

void commit_full(const Turn& turn, uint64_t threads) {
  if (!turn.rival.can_sync()) return;
  turn.rival.open({.folder = turn.empty, .sync_every_commit = true});
  const Stopwatch watch;
  const LatencyHistogram commits = commit_from_threads(turn, threads);
  const std::string name = "commit_full_" + std::to_string(threads);
  turn.record({name, "synced commits, threads: " + std::to_string(threads)},
              static_cast<double>(commits.total()) / watch.seconds());
  record_latencies(turn, name, commits);
  turn.rival.close();
}

// Some stores do nothing before the first read: it counts.
double open_and_read_ms(const Turn& turn) {
  const Dataset::Key key = Dataset::key(0);
  uint64_t unused = 0;
  const Stopwatch watch;
  turn.rival.open({.folder = turn.loaded});
  check(turn.rival.reader()->get_alone(view(key), &unused), "the first entry is not there");
  const double ms = watch.seconds() * 1e3;
  turn.rival.close();
  return ms;
}

}  // namespace

void put_single(const Turn& turn) {
  turn.rival.open({.folder = turn.empty});
  const Puts puts = {turn.scale.entries, 1, new_entry, 0, single_puts_seconds(turn)};
  record_puts(turn, "put_single", "insert, 1 put a commit", time_puts(turn, puts));
  rest_and_close(turn);
}

void put_batch(const Turn& turn) {
  std::filesystem::remove_all(turn.loaded);
  record_puts(turn, "put_batch", "insert, 1000 puts a commit", load(turn));
}

void overwrite(const Turn& turn) {
  open_loaded(turn);
  const Puts puts = {turn.scale.entries, 1, entry_to_overwrite, 1, single_puts_seconds(turn)};
  record_puts(turn, "overwrite", "random overwrite, 1 put a commit", time_puts(turn, puts));
  rest_and_close(turn);
  record_disk(turn, "disk_overwritten_mb", "  on disk afterwards");
}

void get(const Turn& turn) {
  open_loaded(turn);
  turn.record({"get", "random get, buffer empty"}, gets_per_second_in_one_view(turn, random_gets(turn)));
  turn.rival.close();
}

void get_alone(const Turn& turn) {
  open_loaded(turn);
  turn.record({"get_alone", "  each get in a view of its own"}, gets_per_second_alone(turn));
  turn.rival.close();
}

void get_missing(const Turn& turn) {
  open_loaded(turn);
  turn.record({"get_missing", "get of missing keys"},
              gets_per_second_in_one_view(turn, {turn.scale.gets, turn.scale.entries, absent_entry, false}));
  turn.rival.close();
}

void scan(const Turn& turn) {
  open_loaded(turn);
  turn.record({"scan", "full scan, entries"},
              in_one_view(turn, [&](Reader* reader) { return entries_scanned_per_second(turn, reader); }));
  turn.rival.close();
}

void get_half_full(const Turn& turn) {
  open_loaded(turn);
  fill_half_the_buffer(turn);
  turn.record({"get_half_full", "random get, buffer half full"},
              gets_per_second_in_one_view(turn, random_gets(turn)));
  turn.rival.flush();
  rest_and_close(turn);
}

void get_draining(const Turn& turn) {
  open_loaded(turn, /*drain_constantly=*/true);
  {
    BackgroundWriter writer(turn);
    wait_until_it_drains(writer);
    turn.record({"get_draining", "random get while a thread writes"}, gets_per_second_in_short_views(turn));
    turn.record({"get_draining_writer", "  that thread's puts"}, writer.stop());
  }
  turn.rival.flush();
  rest_and_close(turn);
}

void commit_full_1(const Turn& turn) { commit_full(turn, 1); }
void commit_full_8(const Turn& turn) { commit_full(turn, 8); }
void commit_full_16(const Turn& turn) { commit_full(turn, 16); }

void open_time(const Turn& turn) {
  make_sure_it_is_loaded(turn);
  std::vector<double> ms(kOpens);
  for (double& one : ms) one = open_and_read_ms(turn);
  std::nth_element(ms.begin(), ms.begin() + kOpens / 2, ms.end());
  turn.record({"open_ms", "open, and a first get", Unit::kMilliseconds}, ms[kOpens / 2]);
}

void disk(const Turn& turn) {
  make_sure_it_is_loaded(turn);
  record_disk(turn, "disk_mb", "on disk after loading, closed");
}

void memory(const Turn& turn) {
  const MemoryPeak peak = memory_peak_of([&] {
    turn.rival.open({.folder = turn.empty});
    time_puts(turn, {turn.scale.entries, kPutsABatch, new_entry, 0});
    turn.rival.close();
  });
  turn.record({"memory_anonymous_mb", "peak memory while loading, heap", Unit::kMegabytes},
              peak.anonymous_mb);
  turn.record({"memory_resident_mb", "  with mapped files", Unit::kMegabytes}, peak.resident_mb);
}

}  // namespace lapse::bench
