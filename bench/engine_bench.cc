#include "bench/engine_bench.h"

#include "bench/engine_turn.h"
#include "bench/engine_workloads.h"
#include "bench/rounds.h"

namespace lapse::bench {
namespace {

constexpr Scale kQuickScale = {100'000, 100'000, 20, 1, 3};
constexpr Scale kDefaultScale = {1'000'000, 1'000'000, 90, 3, 3};
constexpr Scale kLargeScale = {10'000'000, 2'000'000, 300, 3, 1};

}  // namespace

const Scale& engine_scale(Size size) {
  switch (size) {
    case Size::kQuick: return kQuickScale;
    case Size::kLarge: return kLargeScale;
    case Size::kDefault: break;
  }
  return kDefaultScale;
}

std::vector<Aim> engine_aims() {
  constexpr bool kAtLeast = true;
  constexpr bool kAtMost = false;
  constexpr double kLongestPutUs = 0.3e6;
  return {
      {"one put a commit >= 10 x SQLite", "put_single", kAtLeast, 10, "put_single", "sqlite"},
      {"one put a commit >= 3 x RocksDB", "put_single", kAtLeast, 3, "put_single", "rocksdb"},
      {"1000 puts a commit >= 1.5 x RocksDB", "put_batch", kAtLeast, 1.5, "put_batch", "rocksdb"},
      {"random get, buffer empty >= 0.85 x LMDB", "get", kAtLeast, 0.85, "get", "lmdb"},
      {"random get, half full >= 0.85 x LMDB", "get_half_full", kAtLeast, 0.85, "get_half_full", "lmdb"},
      {"random get, draining >= 0.85 x LMDB, whose writer syncs", "get_draining", kAtLeast, 0.85,
       "get_draining", "lmdb"},
      {"random get, draining >= 0.85 x LMDB, whose writer does not", "get_draining", kAtLeast, 0.85,
       "get_draining", "lmdb-nosync"},
      {"scan >= 0.5 x LMDB", "scan", kAtLeast, 0.5, "scan", "lmdb"},
      {"8 threads at full >= 3 x one", "commit_full_8", kAtLeast, 3, "commit_full_1", "lapse"},
      {"16 threads at full >= 5 x one", "commit_full_16", kAtLeast, 5, "commit_full_1", "lapse"},
      {"no put over 0.3 s (at 10 M entries): inserts", "put_single_max_us", kAtMost, kLongestPutUs, "", ""},
      {"no put over 0.3 s (at 10 M entries): overwrites", "overwrite_max_us", kAtMost, kLongestPutUs, "", ""},
  };
}

void run_engine_workloads(const Plan& plan, Report* report) {
  const Dataset data;
  const auto take_turn = [&](const Workload<Turn>& workload, const std::string& store,
                             const Folders& folders) {
    const auto rival = make_rival(store);
    workload.run({engine_scale(plan.size), data, store, *rival, folders.loaded, folders.empty, *report});
  };
  Rounds(plan, kEngineWorkloads, take_turn).run();
}

}  // namespace lapse::bench
