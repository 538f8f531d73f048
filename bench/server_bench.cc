#include "bench/server_bench.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "bench/dataset.h"
#include "bench/latency.h"
#include "bench/scratch.h"

namespace lapse::bench {
namespace {

constexpr ServerScale kQuickScale = {100'000, 100'000};
constexpr ServerScale kDefaultScale = {1'000'000, 1'000'000};

constexpr int kPipelines[] = {1, 16, 100};
constexpr std::string_view kMemory = "memory_per_key";
constexpr std::string_view kDisk = "disk";

// A command that is measured, at each length of pipeline.
struct Measured {
  std::string_view name;
  std::string_view title;
  uint64_t share;  // of the scale's requests, one in so many: some commands do more than others
  std::vector<std::string> (*command)();
};

std::string value() { return std::string(kValueBytes, 'x'); }

std::vector<std::string> mset_of_ten() {
  std::vector<std::string> words = {"MSET"};
  for (int i = 0; i < 10; ++i) words.insert(words.end(), {"key:__rand_int__", value()});
  return words;
}

const Measured kMeasured[] = {
    {"set", "SET", 1,
     [] {
       return std::vector<std::string>{"SET", "key:__rand_int__", value()};
     }},
    {"get", "GET", 1,
     [] {
       return std::vector<std::string>{"GET", "key:__rand_int__"};
     }},
    {"set_ex", "SET with EX", 1,
     [] {
       return std::vector<std::string>{"SET", "key:__rand_int__", value(), "EX", "3600"};
     }},
    {"incr", "INCR", 1,
     [] {
       return std::vector<std::string>{"INCR", "counter:__rand_int__"};
     }},
    {"mset", "MSET of 10", 10, mset_of_ten},
};

std::string prefix(SyncLevel level) { return level == SyncLevel::kAlways ? "always_" : ""; }

std::string workload_name(SyncLevel level, const Measured& measured) {
  return prefix(level) + std::string(measured.name);
}

Row row_of(SyncLevel level, const Measured& measured, int pipeline) {
  const std::string length = std::to_string(pipeline);
  return {
      workload_name(level, measured) + "_p" + length,
      std::string(measured.title) + (level == SyncLevel::kAlways ? ", synced" : "") + ", pipeline " + length,
      Unit::kOpsPerSecond};
}

// As many as take some seconds, whatever the pipeline.
uint64_t requests_of(const ServerScale& scale, SyncLevel level, const Measured& measured, int pipeline) {
  const uint64_t requests = scale.requests / measured.share;
  if (level == SyncLevel::kAlways && pipeline > 1) return requests / 2;
  return pipeline == 1 ? requests / 5 : requests;
}

// One level of syncing in one round: both servers run all the while, and are measured in turns.
class LevelRun {
 public:
  LevelRun(const Plan& plan, int round, SyncLevel level, Report* report)
      : plan_(plan), scale_(server_scale(plan.size)), round_(round), level_(level), report_(report) {}

  void run() {
    if (!anything_to_do()) return;
    std::vector<std::string> stores = plan_.stores;
    std::rotate(stores.begin(), stores.begin() + round_ % static_cast<int>(stores.size()), stores.end());
    if (level_ == SyncLevel::kEverySecond && selected(kMemory)) {
      for (const std::string& store : stores) measure_memory(store);
    }
    for (const std::string& store : stores) load(store);
    for (const Measured& measured : kMeasured) {
      if (!selected(workload_name(level_, measured))) continue;
      for (const int pipeline : kPipelines) {
        for (const std::string& store : stores) measure(store, measured, pipeline);
      }
    }
    servers_.clear();
    std::filesystem::remove_all(plan_.folder / "servers");
    settle_file_system(plan_.folder);
  }

 private:
  bool selected(std::string_view name) const {
    return std::find(plan_.workloads.begin(), plan_.workloads.end(), name) != plan_.workloads.end();
  }

  bool anything_to_do() const {
    return std::any_of(std::begin(kMeasured), std::end(kMeasured),
                       [&](const Measured& measured) { return selected(workload_name(level_, measured)); }) ||
           (level_ == SyncLevel::kEverySecond && (selected(kMemory) || selected(kDisk)));
  }

  void load(const std::string& store) {
    const Stopwatch watch;
    auto server = std::make_unique<ServerProcess>(store, level_, plan_.folder / "servers" / store);
    server->load(scale_.keys, kValueBytes);
    if (level_ == SyncLevel::kEverySecond && selected(kDisk)) {
      report_->record({std::string(kDisk), "size on disk, loaded", Unit::kMegabytes}, store,
                      static_cast<double>(allocated_bytes(server->folder())) / 1e6);
    }
    tell(store, "load", watch);
    servers_[store] = std::move(server);
  }

  // In a server for those who are short of it: Lapse with a buffer of 16 MB instead of 128.
  void measure_memory(const std::string& store) {
    const Stopwatch watch;
    const std::vector<std::string> options =
        store == "lapse" ? std::vector<std::string>{"--buffer-bytes", "16mb"} : std::vector<std::string>();
    const ServerProcess server(store, level_, plan_.folder / "servers" / (store + "-small"), options);
    server.load(scale_.keys, kValueBytes);
    report_->record({std::string(kMemory), "anonymous memory per key", Unit::kBytes}, store,
                    server.anonymous_bytes() / static_cast<double>(scale_.keys));
    tell(store, std::string(kMemory), watch);
  }

  void measure(const std::string& store, const Measured& measured, int pipeline) {
    const Stopwatch watch;
    const Row row = row_of(level_, measured, pipeline);
    const ServerProcess::Load load = {requests_of(scale_, level_, measured, pipeline), pipeline, scale_.keys};
    report_->record(row, store, servers_.at(store)->measure(load, measured.command()));
    tell(store, row.name, watch);
  }

  void tell(const std::string& store, const std::string& what, const Stopwatch& watch) const {
    std::fprintf(stderr, "round %d of %d: %-18s %s %.1f s\n", round_ + 1, plan_.rounds, what.c_str(),
                 store.c_str(), watch.seconds());
  }

  const Plan& plan_;
  const ServerScale& scale_;
  const int round_;
  const SyncLevel level_;
  Report* const report_;
  std::map<std::string, std::unique_ptr<ServerProcess>> servers_;
};

}  // namespace

const ServerScale& server_scale(Size size) { return size == Size::kQuick ? kQuickScale : kDefaultScale; }

std::vector<std::string> server_workloads() {
  std::vector<std::string> names = {std::string(kDisk), std::string(kMemory)};
  for (const SyncLevel level : {SyncLevel::kEverySecond, SyncLevel::kAlways}) {
    for (const Measured& measured : kMeasured) names.push_back(workload_name(level, measured));
  }
  return names;
}

std::vector<Aim> server_aims() {
  constexpr bool kAtLeast = true;
  constexpr bool kAtMost = false;
  return {
      {"SET at pipeline 16 >= 1.2 x Redis", "set_p16", kAtLeast, 1.2, "set_p16", "redis"},
      {"GET at pipeline 16 >= 1.0 x Redis", "get_p16", kAtLeast, 1.0, "get_p16", "redis"},
      {"SET at pipeline 1 >= 0.95 x Redis", "set_p1", kAtLeast, 0.95, "set_p1", "redis"},
      {"GET at pipeline 1 >= 0.95 x Redis", "get_p1", kAtLeast, 0.95, "get_p1", "redis"},
      {"synced SET at pipeline 1 >= 1.5 x Redis", "always_set_p1", kAtLeast, 1.5, "always_set_p1", "redis"},
      {"synced SET at pipeline 16 >= 1.5 x Redis", "always_set_p16", kAtLeast, 1.5, "always_set_p16",
       "redis"},
      {"anonymous memory per key <= 0.5 x Redis", kMemory, kAtMost, 0.5, kMemory, "redis"},
  };
}

void run_server_workloads(const Plan& plan, Report* report) {
  for (int round = 0; round < plan.rounds; ++round) {
    for (const SyncLevel level : {SyncLevel::kEverySecond, SyncLevel::kAlways})
      LevelRun(plan, round, level, report).run();
  }
}

}  // namespace lapse::bench
