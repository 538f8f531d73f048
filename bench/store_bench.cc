#include "bench/store_bench.h"

#include "bench/rounds.h"
#include "bench/store_workloads.h"

namespace lapse::bench {
namespace {

constexpr StoreScale kQuickScale = {100'000, 200'000, 10};
constexpr StoreScale kDefaultScale = {1'000'000, 1'000'000, 60};

}  // namespace

const StoreScale& store_scale(Size size) { return size == Size::kQuick ? kQuickScale : kDefaultScale; }

std::vector<Aim> store_aims() {
  constexpr bool kAtLeast = true;
  constexpr bool kAtMost = false;
  return {
      {"get of a TTL key >= 0.9 x of a permanent one", "get_ttl", kAtLeast, 0.9, "get", "lapse"},
      {"put with TTL >= 0.5 x plain put", "put_ttl", kAtLeast, 0.5, "put", "lapse"},
      {"put with TTL >= 5 x SQLite", "put_ttl", kAtLeast, 5, "put_ttl", "sqlite"},
      {"purges one after the other >= 3 x SQLite", "purge_steadily", kAtLeast, 3, "purge_steadily", "sqlite"},
      {"purge of a fifth of the keys >= 3 x SQLite", "purge_many", kAtLeast, 3, "purge_many", "sqlite"},
      {"purge of 1000 keys >= 3 x SQLite", "purge_few", kAtLeast, 3, "purge_few", "sqlite"},
      {"purge of 1000 takes as long among 10 x the keys: <= 1.25 x", "purge_few_ms", kAtMost, 1.25,
       "purge_few_small_ms", "lapse"},
      {"  and no less: >= 0.8 x", "purge_few_ms", kAtLeast, 0.8, "purge_few_small_ms", "lapse"},
      {"  and uses as much CPU time: <= 1.25 x", "purge_few_cpu_ms", kAtMost, 1.25, "purge_few_small_cpu_ms",
       "lapse"},
  };
}

void run_store_workloads(const Plan& plan, Report* report) {
  const Dataset data;
  const auto take_turn = [&](const Workload<StoreTurn>& workload, const std::string& store,
                             const Folders& folders) {
    const auto rival = make_store_rival(store);
    workload.run({store_scale(plan.size), data, store, *rival, folders, *report});
  };
  Rounds(plan, store_workloads(), take_turn).run();
}

}  // namespace lapse::bench
