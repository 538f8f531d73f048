#include "bench/engine_bench.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "bench/engine_turn.h"
#include "bench/engine_workloads.h"
#include "bench/scratch.h"

namespace lapse::bench {
namespace {

namespace fs = std::filesystem;

class Runner {
 public:
  Runner(const EnginePlan& plan, Report* report) : plan_(plan), report_(report) {}

  void run() {
    for (int round = 0; round < plan_.scale.rounds; ++round) {
      for (const Workload& workload : kEngineWorkloads) {
        if (selected(workload) && (round == 0 || !workload.once)) run_workload(workload, round);
      }
      fs::remove_all(plan_.folder / "loaded");
    }
  }

 private:
  bool selected(const Workload& workload) const {
    return std::find(plan_.workloads.begin(), plan_.workloads.end(), workload.name) != plan_.workloads.end();
  }

  void run_workload(const Workload& workload, int round) {
    std::fprintf(stderr, "round %d of %d: %-14s", round + 1, plan_.scale.rounds, workload.name.data());
    std::vector<std::string> stores = plan_.stores;
    const auto first = round % static_cast<int>(stores.size());
    std::rotate(stores.begin(), stores.begin() + first, stores.end());
    for (const std::string& store : stores) {
      const Stopwatch watch;
      run_turn(workload, store);
      std::fprintf(stderr, " %s %.1f s", store.c_str(), watch.seconds());
    }
    std::fprintf(stderr, "\n");
  }

  void run_turn(const Workload& workload, const std::string& store) {
    const fs::path empty = plan_.folder / "empty";
    fs::create_directories(empty);
    try {
      const auto rival = make_rival(store);
      workload.run({plan_.scale, data_, store, *rival, plan_.folder / "loaded" / store, empty, *report_});
    } catch (const std::exception& error) {
      throw std::runtime_error(std::string(workload.name) + " on " + store + ": " + error.what());
    }
    fs::remove_all(empty);
    settle_file_system(plan_.folder);
  }

  const EnginePlan& plan_;
  Report* report_;
  Dataset data_;
};

}  // namespace

std::vector<std::string> engine_workload_names() {
  std::vector<std::string> names;
  for (const Workload& workload : kEngineWorkloads) names.emplace_back(workload.name);
  return names;
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

void run_engine_workloads(const EnginePlan& plan, Report* report) { Runner(plan, report).run(); }

}  // namespace lapse::bench
