// How much there is to do in `lapse-bench store`, and what is to come out.

#pragma once

#include <cstdint>
#include <vector>

#include "bench/plan.h"
#include "bench/report.h"

namespace lapse::bench {

struct StoreScale {
  uint64_t entries;
  uint64_t gets;
  double single_puts_seconds;  // the most that one store's single puts may take
};

const StoreScale& store_scale(Size size);

// What issue 3 wants the store to reach.
std::vector<Aim> store_aims();

void run_store_workloads(const Plan& plan, Report* report);

}  // namespace lapse::bench
