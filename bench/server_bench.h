// The workloads of `lapse-bench server`: what redis-benchmark measures on Lapse and on Redis, in turns.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/plan.h"
#include "bench/report.h"
#include "bench/server_process.h"

namespace lapse::bench {

struct ServerScale {
  uint64_t keys;
  uint64_t requests;  // of a figure at pipeline 16
};
const ServerScale& server_scale(Size size);

std::vector<std::string> server_workloads();
std::vector<Aim> server_aims();
void run_server_workloads(const Plan& plan, Report* report);

}  // namespace lapse::bench
