// The loop of `lapse-bench engine`, which takes every store through every workload.

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "bench/report.h"

namespace lapse::bench {

struct Scale {
  uint64_t entries;
  uint64_t gets;
  double single_puts_seconds;   // the most that one store's single puts may take
  double full_commits_seconds;  // how long threads commit at durability full
  int rounds;
};

inline constexpr Scale kQuickScale = {100'000, 100'000, 20, 1, 3};
inline constexpr Scale kDefaultScale = {1'000'000, 1'000'000, 90, 3, 3};
inline constexpr Scale kLargeScale = {10'000'000, 2'000'000, 300, 3, 1};

struct EnginePlan {
  Scale scale = kDefaultScale;
  std::vector<std::string> stores;     // as in kRivals
  std::vector<std::string> workloads;  // as in engine_workload_names()
  std::filesystem::path folder;        // empty; everything is left in it
};

// In the order in which they run.
std::vector<std::string> engine_workload_names();

// What issue 2 wants the engine to reach.
std::vector<Aim> engine_aims();

// Runs every workload on one store after the other, in an order that rotates from round to round,
// and tells of its progress on stderr.
void run_engine_workloads(const EnginePlan& plan, Report* report);

}  // namespace lapse::bench
