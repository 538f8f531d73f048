// Each named crash point: the process is killed there, the store reopened and compared; and killed once
// more at each point of the recovery that follows.

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/test_hooks.h"
#include "base/try.h"
#include "ended_store.h"
#include "fault_env.h"
#include "jobs.h"
#include "store_driver.h"

namespace lapse::fault {
namespace {

// How often each point was passed; shared with the child that passes them.
class PointCounts {
 public:
  void count(std::string_view name) {
    while (busy_.test_and_set()) sched_yield();
    Entry* entry = find_or_add(name);
    if (entry != nullptr) ++entry->hits;
    busy_.clear();
  }
  std::map<std::string, uint64_t> all() const {
    std::map<std::string, uint64_t> counts;
    for (size_t i = 0; i < used_; ++i) counts[entries_[i].name] = entries_[i].hits;
    return counts;
  }

 private:
  struct Entry {
    char name[48];
    uint64_t hits = 0;
  };
  Entry* find_or_add(std::string_view name) {
    for (size_t i = 0; i < used_; ++i) {
      if (name == entries_[i].name) return &entries_[i];
    }
    if (used_ == std::size(entries_) || name.size() >= sizeof entries_[0].name) return nullptr;
    std::memcpy(entries_[used_].name, name.data(), name.size());
    return &entries_[used_++];
  }

  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  Entry entries_[64] = {};
  size_t used_ = 0;
};

// What the hook, a plain function, works with.
PointCounts* counts = nullptr;
std::string kill_at;
std::atomic<uint64_t> passes_left{0};

void on_crash_point(std::string_view name) {
  if (counts != nullptr) counts->count(name);
  if (name == kill_at && passes_left.fetch_sub(1) == 1) kill(getpid(), SIGKILL);
}

struct Point {
  std::string name;
  uint64_t pass = 1;  // the first, the second, …
};

std::string describe_point(const Point& point) { return point.name + ", pass " + std::to_string(point.pass); }

// Some passes of each point: the first two, one in the middle, the last; the last alone in sanitized builds.
std::vector<Point> points_of(const std::map<std::string, uint64_t>& hits) {
  std::vector<Point> points;
  for (const auto& [name, count] : hits) {
    std::set<uint64_t> passes{count};
    if (!kSanitized) passes.insert({1, std::min<uint64_t>(2, count), (count + 1) / 2});
    for (const uint64_t pass : passes) points.push_back({name, pass});
  }
  return points;
}

struct Progress {
  std::atomic<uint64_t> started{0};
  std::atomic<uint64_t> acknowledged{0};
};

// The same commits for the same seed, wherever it is killed.
Status live(StoreDriver& driver, uint64_t seed, Progress& progress) {
  static constexpr int kStepsAnOpen = 25;
  static constexpr int kSteps = 4 * kStepsAnOpen;
  Random random(seed);
  for (int step = 0; step < kSteps; ++step) {
    if (step % kStepsAnOpen == 0) {
      if (driver.is_open()) LAPSE_TRY(driver.close());
      engine::LocalOptions options = odd_options(random);
      options.background_drain = false;  // whose passes come at any time
      // The last of them does not drain: its close leaves a journal, marked as clean. That one must be of few files.
      if (step + kStepsAnOpen >= kSteps) {
        options.buffer_bytes = 64 << 20;
        options.journal_file_bytes = 1 << 20;
      }
      LAPSE_TRY(driver.open(options));
    }
    progress.started = driver.history().size() + StoreDriver::kMostCommitsAStep;
    // The last step is a commit: behind a checkpoint there would be no journal to mark.
    const bool is_last = step + 1 == kSteps;
    LAPSE_TRY(is_last ? driver.commit(random_commit(random)) : driver.random_step());
    progress.acknowledged = driver.history().size();
  }
  return driver.close();
}

class Scenario {
 public:
  Scenario(uint64_t seed, Report& report) : seed_(seed), report_(report) {}

  // The points that the workload passes.
  std::map<std::string, uint64_t> discover() {
    const Shared<PointCounts> found;
    const Shared<Progress> progress;
    const ScratchDir dir;
    const ChildResult child = run_in_child(60, [&](Report& report) {
      counts = &*found;
      test_hooks::on_crash_point = on_crash_point;
      StoreDriver driver(dir.file(kStoreName), seed_);
      const Status status = live(driver, seed_, *progress);
      if (!status.ok()) report.fail(status.to_string());
    });
    if (!child.ok()) report_.fail("without a kill: " + child.describe());
    return found->all();
  }

  // Kills the workload at `point` and looks at what is left; then again for the points of the recovery.
  void kill_workload_at(const Point& point, PointCounts* all) {
    const ScratchDir dir;
    const Shared<Progress> progress;
    const ChildResult child = killed_child(point, [&] {
      StoreDriver driver(dir.file(kStoreName), seed_);
      (void)live(driver, seed_, *progress);
    });
    if (child.signal != SIGKILL) return report_.fail(describe_point(point) + " was not reached");
    all->count(point.name);
    const FileImage left = read_directory(dir.path());
    const History history = full_history();
    check(dir.path(), history, *progress, describe_point(point));
    if (report_.failed()) return;
    for (const Point& second : points_of(discover_recovery(left))) {
      write_directory(dir.path(), left);
      const ChildResult again = killed_child(second, [&] { recover(dir.path()); });
      const std::string where = describe_point(point) + ", then in recovery " + describe_point(second);
      if (again.signal != SIGKILL) return report_.fail(where + " was not reached");
      all->count(second.name);
      check(dir.path(), history, *progress, where);
      if (report_.failed()) return;
    }
  }

 private:
  template <typename Body>
  static ChildResult killed_child(const Point& point, const Body& body) {
    return run_in_child(60, [&](Report&) {
      kill_at = point.name;
      passes_left = point.pass;
      test_hooks::on_crash_point = on_crash_point;
      body();
    });
  }

  void recover(const std::string& directory) const {
    Random random(seed_);
    const auto engine = engine::open_local(directory + "/" + kStoreName, odd_options(random));
  }

  std::map<std::string, uint64_t> discover_recovery(const FileImage& left) {
    const Shared<PointCounts> found;
    const ScratchDir dir;
    write_directory(dir.path(), left);
    const ChildResult child = run_in_child(60, [&](Report&) {
      counts = &*found;
      test_hooks::on_crash_point = on_crash_point;
      recover(dir.path());
    });
    if (!child.ok()) report_.fail("recovery: " + child.describe());
    return found->all();
  }

  // All commits that the workload would have made.
  History full_history() {
    const ScratchDir dir;
    const Shared<Progress> progress;
    StoreDriver driver(dir.file(kStoreName), seed_);
    const Status status = live(driver, seed_, *progress);
    if (!status.ok()) report_.fail(status.to_string());
    return driver.history();
  }

  void check(const std::string& directory, const History& history, const Progress& progress,
             const std::string& where) {
    const Reopened result = reopen_and_check(directory, history, {});
    if (!result.open.ok()) return report_.fail(where + ": open: " + result.open.to_string());
    if (!result.wrong.ok()) return report_.fail(where + ": " + result.wrong.to_string());
    if (result.last_sequence >= progress.acknowledged && result.last_sequence <= progress.started) {
      return;
    }
    report_.fail(where + ": at commit " + std::to_string(result.last_sequence) + ", between " +
                 std::to_string(progress.acknowledged) + " and " + std::to_string(progress.started) +
                 " are possible");
  }

  const uint64_t seed_;
  Report& report_;
};

TEST(CrashPoint, EachIsKilledAndReopenedAlsoWithinTheRecovery) {
  const uint64_t seed = test_seed();
  const uint64_t workloads = count_from_env("LAPSE_FAULT_ROUNDS", 1, 1) * (kSanitized ? 1 : 3);
  const Shared<PointCounts> killed;
  struct Case {
    uint64_t seed;
    Point point;
  };
  std::vector<Case> cases;
  for (uint64_t i = 0; i < workloads; ++i) {
    const Shared<Report> report;
    for (const Point& point : points_of(Scenario(mix(seed, i), *report).discover())) {
      cases.push_back({mix(seed, i), point});
    }
    ASSERT_FALSE(report->failed()) << report->text();
  }
  const JobOptions jobs{.jobs = cases.size(), .timeout_s = 120};
  const auto failures = run_jobs(jobs, [&](size_t job, Report& report) {
    Scenario(cases[job].seed, report).kill_workload_at(cases[job].point, &*killed);
  });
  EXPECT_TRUE(failures.empty()) << join(failures);

  const std::map<std::string, uint64_t> kills = killed->all();
  for (const char* expected :
       {"create-filled", "create-renamed", "journal-rotate-begin", "journal-rotate-synced", "journal-rotated",
        "journal-half-marked-clean", "journal-marked-clean", "frozen", "drain-begin", "drain-marked",
        "drain-slice", "drain-last-slice", "tree-commit", "tree-committed", "journal-released",
        "recovery-begin", "recovery-synced", "recovery-drained"}) {
    EXPECT_TRUE(kills.contains(expected)) << "no process was killed at " << expected;
  }
  for (const auto& [name, count] : kills) std::printf("%6lu kills at %s\n", count, name.c_str());
}

}  // namespace
}  // namespace lapse::fault
