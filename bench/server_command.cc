#include "bench/server_command.h"

#include "bench/command.h"
#include "bench/server_bench.h"

namespace lapse::bench {
namespace {

class ServerBenchmark final : public Benchmark {
 public:
  std::vector<std::string> stores() const override { return {"lapse", "redis"}; }
  std::string describe(const std::string& store) const override {
    if (store == "redis") return redis_version() + ", appendonly yes, appendfsync everysec, then always";
    return "lapse serve, durability normal, then full, 128 MB buffer (16 MB where memory is measured)";
  }
  std::vector<std::string> workloads() const override { return server_workloads(); }
  std::optional<SizeFacts> facts_of(Size size) const override {
    if (size == Size::kLarge) return std::nullopt;
    return SizeFacts{server_scale(size).keys, size == Size::kQuick ? 3 : 5};
  }
  std::vector<Aim> aims() const override { return server_aims(); }
  void run(const Plan& plan, Report* report) const override { run_server_workloads(plan, report); }
};

}  // namespace

int run_server_command(const Arguments& arguments) { return run_benchmark(ServerBenchmark(), arguments); }

}  // namespace lapse::bench
