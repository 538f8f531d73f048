#include "bench/engine_command.h"

#include "bench/command.h"
#include "bench/engine_bench.h"
#include "bench/engine_workloads.h"
#include "bench/rival.h"

namespace lapse::bench {
namespace {

class EngineBenchmark final : public Benchmark {
 public:
  std::vector<std::string> stores() const override { return names_in(kRivals); }
  std::string describe(const std::string& store) const override { return make_rival(store)->describe(); }
  std::vector<std::string> workloads() const override { return names_in(kEngineWorkloads); }
  std::optional<SizeFacts> facts_of(Size size) const override {
    const Scale& scale = engine_scale(size);
    return SizeFacts{scale.entries, scale.rounds};
  }
  std::vector<Aim> aims() const override { return engine_aims(); }
  void run(const Plan& plan, Report* report) const override { run_engine_workloads(plan, report); }
};

}  // namespace

int run_engine_command(const Arguments& arguments) { return run_benchmark(EngineBenchmark(), arguments); }

}  // namespace lapse::bench
