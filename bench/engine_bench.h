// How much there is to do in `lapse-bench engine`, and what is to come out.

#pragma once

#include <cstdint>
#include <vector>

#include "bench/plan.h"
#include "bench/report.h"

namespace lapse::bench {

struct Scale {
  uint64_t entries;
  uint64_t gets;
  double single_puts_seconds;   // the most that one store's single puts may take
  double full_commits_seconds;  // how long threads commit at durability full
  int rounds;
};

const Scale& engine_scale(Size size);

// What issue 2 wants the engine to reach.
std::vector<Aim> engine_aims();

void run_engine_workloads(const Plan& plan, Report* report);

}  // namespace lapse::bench
