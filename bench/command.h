// What the subcommands that compare stores have in common: options, the header, the table, the aims.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/plan.h"
#include "bench/report.h"
#include "bench/usage.h"

namespace lapse::bench {

struct SizeFacts {
  uint64_t entries;
  int rounds;  // unless told otherwise
};

class Benchmark {
 public:
  virtual ~Benchmark() = default;

  // In the order of the table's columns. Ratios are taken of "lapse".
  virtual std::vector<std::string> stores() const = 0;
  // The store and its settings, in a line.
  virtual std::string describe(const std::string& store) const = 0;
  // In the order in which they run.
  virtual std::vector<std::string> workloads() const = 0;
  // Nothing if it does not come in this size.
  virtual std::optional<SizeFacts> facts_of(Size size) const = 0;
  virtual std::vector<Aim> aims() const = 0;
  virtual void run(const Plan& plan, Report* report) const = 0;
};

// Returns the exit code. Throws UsageError.
int run_benchmark(const Benchmark& benchmark, const Arguments& arguments);

// Of each element of a table.
template <typename Table>
std::vector<std::string> names_in(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.name);
  return names;
}

}  // namespace lapse::bench
