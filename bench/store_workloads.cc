#include "bench/store_workloads.h"

#include <algorithm>
#include <vector>

#include "bench/reading.h"

namespace lapse::bench {
namespace {

constexpr int64_t kStartMs = 1'700'000'000'000;  // of clocks that are turned by hand
constexpr Lifetimes kAnHour = {kHourMs, kHourMs};
constexpr Lifetimes kLonger = {48 * kHourMs, 72 * kHourMs};

std::string in_thousands(uint64_t count) {
  return count % 1'000'000 == 0 ? std::to_string(count / 1'000'000) + " M"
                                : std::to_string(count / 1000) + " k";
}

// --- Writing

Puts single_puts(const StoreTurn& turn, IndexOf index_of, uint64_t generation) {
  return {turn.scale.entries, 1, index_of, generation, turn.scale.single_puts_seconds};
}

void put(const StoreTurn& turn) {
  open_empty(turn, Kind::kPermanent);
  record_puts(turn, "put", "put, each a commit", time_puts(turn, single_puts(turn, new_entry, 0), kForEver));
  rest_and_close(turn);
}

void put_ttl(const StoreTurn& turn) {
  open_empty(turn, Kind::kLifetimes);
  record_puts(turn, "put_ttl", "put with TTL, 24 to 48 h",
              time_puts(turn, single_puts(turn, new_entry, 0), kLong));
  rest_and_close(turn);
}

void put_same_ttl(const StoreTurn& turn) {
  open_empty(turn, Kind::kLifetimes);
  record_put_rate(turn, "put_same_ttl", "put with TTL, all of 1 h",
                  time_puts(turn, single_puts(turn, new_entry, 0), kAnHour));
  rest_and_close(turn);
}

void put_batch(const StoreTurn& turn) {
  record_put_rate(turn, "put_batch", "put, 1000 a commit", load(turn, Kind::kPermanent));
}

void put_ttl_batch(const StoreTurn& turn) {
  record_put_rate(turn, "put_ttl_batch", "put with TTL, 1000 a commit", load(turn, Kind::kLifetimes));
}

void overwrite_ttl(const StoreTurn& turn) {
  open_loaded(turn, Kind::kLifetimes);
  record_puts(turn, "overwrite_ttl", "overwrite of a TTL key, new TTL",
              time_puts(turn, single_puts(turn, entry_to_overwrite, 1), kLonger));
  rest_and_close(turn);
}

// --- Reading

void record_gets(const StoreTurn& turn, const std::string& name, const std::string& title,
                 const GetTiming& timing) {
  turn.record({name, title}, timing.gets_per_second);
  turn.record({name + "_cpu_us", "  CPU time of a get", Unit::kMicroseconds}, timing.cpu_us_a_get);
}

void get_among(const StoreTurn& turn, Kind kind, uint64_t entries, const std::string& name,
               const std::string& title) {
  open_loaded(turn, kind);
  const auto get_one = [&](std::string_view key, uint64_t* sum) { return turn.rival.get(key, sum); };
  record_gets(turn, name, title, time_gets({turn.scale.gets, entries}, get_one));
  turn.rival.close();
}

void get(const StoreTurn& turn) {
  get_among(turn, Kind::kPermanent, turn.scale.entries, "get", "get of a permanent key");
}

void get_ttl(const StoreTurn& turn) {
  get_among(turn, Kind::kLifetimes, turn.scale.entries, "get_ttl", "get of a TTL key");
}

void get_mixed(const StoreTurn& turn) {
  if (!turn.rival.can(Skill::kLifetimePerKey)) return;
  get_among(turn, Kind::kMixed, turn.scale.entries / 2, "get_mixed", "get of a permanent key among TTL keys");
}

// --- Time passes

// Brings the store into the state in which the kernel and the store have nothing left to do.
void reopen_at_rest(const StoreTurn& turn, const StoreOpenOptions& options) {
  turn.rival.flush();
  rest_and_close(turn);
  settle_file_system(turn.folders.empty);
  turn.rival.open(options);
}

// A store of `entries` keys, of which `groups` times `due` come to their end one after the other. So that
// a store with one TTL for all can do the same, what ends later was written later.
struct Dying {
  static constexpr int64_t kTtlMs = 24 * kHourMs;
  static constexpr int64_t kApartMs = 10 * kMinuteMs;
  static constexpr Lifetimes kLifetimes = {kTtlMs - kApartMs + kMinuteMs, kTtlMs};

  uint64_t entries;
  uint64_t due;
  int groups;

  void load(const StoreTurn& turn, ManualClock* clock) const {
    for (uint64_t group = 0; group < static_cast<uint64_t>(groups); ++group) {
      put_entries(turn, group * due, (group + 1) * due, kLifetimes);
      clock->advance(kApartMs);
    }
    clock->set(kStartMs + 12 * kHourMs);
    put_entries(turn, groups * due, entries, kLonger);
  }
  // When this group is due, and the next is not.
  static int64_t end_of(int group) { return kStartMs + group * kApartMs + kTtlMs + kSecondMs; }
};

// Reads a little of everything that stays, as a store in use has done.
void warm_up(const StoreTurn& turn, const Dying& dying) {
  constexpr uint64_t kStride = 8;  // less than there are entries in a page
  uint64_t unused = 0;
  for (uint64_t index = dying.due * dying.groups; index < dying.entries; index += kStride) {
    check(turn.rival.get(view(Dataset::key(index)), &unused), "an entry is not there");
  }
}

struct PurgeTiming {
  double call_ms;  // until purge() returns
  double ms;       // with the flush
  double cpu_ms;
};

PurgeTiming time_purge(const StoreTurn& turn, uint64_t due) {
  const double cpu_before = cpu_seconds();
  const Stopwatch watch;
  const std::optional<uint64_t> removed = turn.rival.purge();
  const double call_ms = watch.seconds() * 1e3;
  turn.rival.flush();
  const PurgeTiming timing = {call_ms, watch.seconds() * 1e3, (cpu_seconds() - cpu_before) * 1e3};
  check(removed.value_or(due) == due, "a purge removed another number of keys than were due");
  uint64_t unused = 0;
  check(!turn.rival.get(view(Dataset::key(0)), &unused), "a key was not purged");
  return timing;
}

double median_of(const std::vector<PurgeTiming>& purges, double PurgeTiming::*figure) {
  std::vector<double> values;
  for (const PurgeTiming& purge : purges) values.push_back(purge.*figure);
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void record_purges(const StoreTurn& turn, const std::string& name, const Dying& dying,
                   const std::vector<PurgeTiming>& purges) {
  const double ms = median_of(purges, &PurgeTiming::ms);
  turn.record(
      {name, "purge of " + in_thousands(dying.due) + " among " + in_thousands(dying.entries) + ", keys"},
      static_cast<double>(dying.due) / ms * 1e3);
  turn.record({name + "_ms", "  time of a purge", Unit::kMilliseconds}, ms);
  turn.record({name + "_call_ms", "  of that, before the flush", Unit::kMilliseconds},
              median_of(purges, &PurgeTiming::call_ms));
  turn.record({name + "_cpu_ms", "  CPU time of a purge", Unit::kMilliseconds},
              median_of(purges, &PurgeTiming::cpu_ms));
}

void open_dying(const StoreTurn& turn, const Dying& dying, ManualClock* clock) {
  const StoreOpenOptions options = {
      .folder = turn.folders.empty, .clock = clock, .store_ttl_ms = Dying::kTtlMs};
  turn.rival.open(options);
  dying.load(turn, clock);
  reopen_at_rest(turn, options);
  warm_up(turn, dying);
}

void purge(const StoreTurn& turn, const std::string& name, const Dying& dying) {
  ManualClock clock(kStartMs);
  open_dying(turn, dying, &clock);
  std::vector<PurgeTiming> purges;
  for (int group = 0; group < dying.groups; ++group) {
    clock.set(Dying::end_of(group));
    purges.push_back(time_purge(turn, dying.due));
  }
  record_purges(turn, name, dying, purges);
  rest_and_close(turn);
}

void purge_many(const StoreTurn& turn) {
  purge(turn, "purge_many", {turn.scale.entries, turn.scale.entries / 5, 1});
}
void purge_few(const StoreTurn& turn) { purge(turn, "purge_few", {turn.scale.entries, 1000, 5}); }
void purge_few_small(const StoreTurn& turn) {
  purge(turn, "purge_few_small", {turn.scale.entries / 10, 1000, 5});
}

// As in use: keys end all the time, a timer purges them, and the store brings them into its tree when it sees
// fit. The flush is only at the end.
void purge_steadily(const StoreTurn& turn) {
  const Dying dying = {turn.scale.entries, turn.scale.entries / 1000, 50};
  ManualClock clock(kStartMs);
  open_dying(turn, dying, &clock);
  uint64_t removed = 0;
  const Stopwatch watch;
  for (int group = 0; group < dying.groups; ++group) {
    clock.set(Dying::end_of(group));
    removed += turn.rival.purge().value_or(dying.due);
  }
  turn.rival.flush();
  const double seconds = watch.seconds();
  const uint64_t due = dying.due * static_cast<uint64_t>(dying.groups);
  check(removed == due, "purges removed another number of keys than were due");
  turn.record({"purge_steadily", std::to_string(dying.groups) + " purges of " + in_thousands(dying.due) +
                                     " among " + in_thousands(dying.entries) + ", keys"},
              static_cast<double>(due) / seconds);
  rest_and_close(turn);
}

void scan_expired(const StoreTurn& turn) {
  if (!turn.rival.can(Skill::kHidesExpired)) return;
  ManualClock clock(kStartMs);
  const StoreOpenOptions options = {.folder = turn.folders.empty, .clock = &clock};
  const Dying dying = {turn.scale.entries, turn.scale.entries / 2, 1};
  turn.rival.open(options);
  dying.load(turn, &clock);
  reopen_at_rest(turn, options);
  clock.set(Dying::end_of(0));
  const ScanTotals expected = totals_of(dying.due, dying.entries);
  check(turn.rival.scan() == expected, "a scan found other entries than live");  // warms up
  const Stopwatch watch;
  check(turn.rival.scan() == expected, "a second scan found other entries than the first");
  turn.record({"scan_expired", "scan, half expired: live entries"},
              static_cast<double>(expected.entries) / watch.seconds());
  turn.rival.close();
}

// --- The past

constexpr uint64_t kRevisions = 100;

// Revision r of key k has the value of entry k * kRevisions + r, and was written at r * kStepMs.
constexpr int64_t kStepMs = kMinuteMs;

int64_t written_at(uint64_t revision) { return kStartMs + static_cast<int64_t>(revision) * kStepMs; }

class RevisionBatch {
 public:
  RevisionBatch(const Dataset& data, uint64_t first_key, uint64_t keys, uint64_t revision) {
    storage_.reserve(keys);
    for (uint64_t key = first_key; key < first_key + keys; ++key) {
      storage_.push_back({data.key(key), data.value(key * kRevisions + revision, 0)});
      const Storage& at = storage_.back();
      entries_.push_back({view(at.key), {at.value.data(), at.value.size()}});
    }
  }
  std::span<const Entry> entries() const { return entries_; }

 private:
  struct Storage {
    Dataset::Key key;
    Dataset::Value value;
  };
  std::vector<Storage> storage_;
  std::vector<Entry> entries_;
};

void put_revisions(const StoreTurn& turn, uint64_t keys, ManualClock* clock) {
  for (uint64_t revision = 0; revision < kRevisions; ++revision) {
    clock->set(written_at(revision));
    for (uint64_t key = 0; key < keys; key += kPutsABatch) {
      const RevisionBatch batch(turn.data, key, std::min<uint64_t>(kPutsABatch, keys - key), revision);
      turn.rival.commit(batch.entries(), kForEver);
    }
  }
}

void get_at(const StoreTurn& turn) {
  if (!turn.rival.can(Skill::kHistory)) return;
  ManualClock clock(kStartMs);
  const StoreOpenOptions options = {.folder = turn.folders.empty, .clock = &clock, .keeps_history = true};
  const uint64_t keys = turn.scale.entries / kRevisions;
  turn.rival.open(options);
  const Stopwatch watch;
  put_revisions(turn, keys, &clock);
  turn.rival.flush();
  turn.record({"put_history", "put with history, 1000 a commit"},
              static_cast<double>(keys * kRevisions) / watch.seconds());
  reopen_at_rest(turn, options);
  clock.advance(kHourMs);
  record_gets(turn, "get_at", "get_at, 100 revisions a key",
              time_reads(turn.scale.gets, [&](uint64_t from, uint64_t to) {
                for (uint64_t i = from; i < to; ++i) {
                  const uint64_t index = entry_to_look_back_at(i, keys * kRevisions);
                  const int64_t at_ms = written_at(index % kRevisions) + kStepMs / 2;
                  uint64_t sum = 0;
                  const bool found = turn.rival.get_at(view(Dataset::key(index / kRevisions)), at_ms, &sum);
                  check(found && sum == Dataset::value_sum(index), "the past is not as it was");
                }
              }));
  turn.rival.close();
}

constexpr Workload<StoreTurn> kWorkloads[] = {
    {"put", put},
    {"put_ttl", put_ttl},
    {"put_same_ttl", put_same_ttl},
    // These two make the loaded stores that the gets and the overwrite work on.
    {"put_batch", put_batch},
    {"put_ttl_batch", put_ttl_batch},
    {"get", get},
    {"get_ttl", get_ttl},
    {"get_mixed", get_mixed},
    {"overwrite_ttl", overwrite_ttl},
    {"purge_many", purge_many},
    {"purge_few", purge_few},
    {"purge_few_small", purge_few_small},
    {"purge_steadily", purge_steadily},
    {"scan_expired", scan_expired},
    {"get_at", get_at},
};

}  // namespace

std::span<const Workload<StoreTurn>> store_workloads() { return kWorkloads; }

}  // namespace lapse::bench
