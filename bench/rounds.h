// The loop of a benchmark: every round takes every store through every workload.

#pragma once

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/latency.h"
#include "bench/plan.h"
#include "bench/scratch.h"

namespace lapse::bench {

// Takes one store's turn, and records its figures.
template <typename Turn>
struct Workload {
  std::string_view name;
  void (*run)(const Turn& turn);
  bool once = false;  // in the first round only
};

// What a turn may use: `loaded` stays until the round is over, `empty` is emptied after the turn.
struct Folders {
  std::filesystem::path loaded;
  std::filesystem::path empty;
};

// Calls `take_turn(workload, store, folders)`, one store after the other in an order that rotates from
// round to round, and tells of its progress on stderr.
template <typename Workloads, typename TakeTurn>
class Rounds {
 public:
  Rounds(const Plan& plan, const Workloads& workloads, TakeTurn take_turn)
      : plan_(plan), workloads_(workloads), take_turn_(take_turn) {}

  void run() const {
    for (int round = 0; round < plan_.rounds; ++round) {
      for (const auto& workload : workloads_) {
        if (selected(workload.name) && (round == 0 || !workload.once)) run_workload(workload, round);
      }
      std::filesystem::remove_all(plan_.folder / "loaded");
    }
  }

 private:
  bool selected(std::string_view name) const {
    return std::find(plan_.workloads.begin(), plan_.workloads.end(), name) != plan_.workloads.end();
  }

  template <typename Workload>
  void run_workload(const Workload& workload, int round) const {
    std::fprintf(stderr, "round %d of %d: %-14s", round + 1, plan_.rounds, workload.name.data());
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

  template <typename Workload>
  void run_turn(const Workload& workload, const std::string& store) const {
    const Folders folders = {plan_.folder / "loaded" / store, plan_.folder / "empty"};
    std::filesystem::create_directories(folders.empty);
    try {
      take_turn_(workload, store, folders);
    } catch (const std::exception& error) {
      throw std::runtime_error(std::string(workload.name) + " on " + store + ": " + error.what());
    }
    std::filesystem::remove_all(folders.empty);
    settle_file_system(plan_.folder);
  }

  const Plan& plan_;
  const Workloads& workloads_;
  TakeTurn take_turn_;
};

}  // namespace lapse::bench
