// The workloads of `lapse-bench store`, in the order in which they run.

#pragma once

#include <span>

#include "bench/rounds.h"
#include "bench/store_turn.h"

namespace lapse::bench {

std::span<const Workload<StoreTurn>> store_workloads();

}  // namespace lapse::bench
