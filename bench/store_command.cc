#include "bench/store_command.h"

#include "bench/command.h"
#include "bench/store_bench.h"
#include "bench/store_rival.h"
#include "bench/store_workloads.h"

namespace lapse::bench {
namespace {

class StoreBenchmark final : public Benchmark {
 public:
  std::vector<std::string> stores() const override { return names_in(kStoreRivals); }
  std::string describe(const std::string& store) const override {
    return make_store_rival(store)->describe();
  }
  std::vector<std::string> workloads() const override { return names_in(store_workloads()); }
  std::optional<SizeFacts> facts_of(Size size) const override {
    if (size == Size::kLarge) return std::nullopt;
    return SizeFacts{store_scale(size).entries, 3};
  }
  std::vector<Aim> aims() const override { return store_aims(); }
  void run(const Plan& plan, Report* report) const override { run_store_workloads(plan, report); }
};

}  // namespace

int run_store_command(const Arguments& arguments) { return run_benchmark(StoreBenchmark(), arguments); }

}  // namespace lapse::bench
