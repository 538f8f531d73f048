// Power cuts: at `full` nothing acknowledged is lost, at `normal` and `none` the store is a prefix
// of its commits and holds what sync(), checkpoint() or close() promised, and no healthy store is
// refused.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iterator>
#include <string>

#include "base/try.h"
#include "crash_image.h"
#include "cut_explorer.h"
#include "fault_env.h"
#include "io_hooks.h"
#include "jobs.h"
#include "order_checker.h"
#include "store_driver.h"

namespace lapse::fault {
namespace {

constexpr uint64_t kImagesPerRun = 120;
constexpr const char* kStore = "my.db";

struct Counters : CutCounters {
  std::atomic<uint64_t> runs{0};
  std::atomic<uint64_t> commits{0};
  std::atomic<uint64_t> acknowledgements{0};  // at full, each checked for order
  std::atomic<uint64_t> reuses{0};            // of journal files, each checked for order
};

Status drive(StoreDriver& driver, engine::LocalOptions options, uint64_t steps, bool threads) {
  Random& random = driver.random();
  LAPSE_TRY(driver.open(options));
  while (steps > 0) {
    if (threads) {
      LAPSE_TRY(driver.commit_from_threads(4, 5));
      steps -= std::min<uint64_t>(steps, 20);
    }
    LAPSE_TRY(driver.random_step());
    steps -= std::min<uint64_t>(steps, 1);
    if (!random.one_in(40)) continue;
    LAPSE_TRY(driver.close());
    const uint64_t before = driver.history().size();
    options = odd_options(random);
    if (threads) options.durability = Durability::kFull;
    LAPSE_TRY(driver.open(options));
    if (driver.history().size() != before) return {StatusCode::kCorrupt, "lost at a clean reopen"};
  }
  LAPSE_TRY(driver.check_state());
  return driver.close();
}

// That the record explains the files, and that the store synced what it had to before it went on.
std::string check_record(const RecordedRun& run, Counters& counters) {
  if (std::string wrong = check_replay(run.record); !wrong.empty()) return wrong;
  const OrderReport order = check_order(run.record, run.history, kStore);
  if (!order.violations.empty()) return order.violations.front();
  ++counters.runs;
  counters.commits += run.history.size();
  counters.acknowledgements += order.acknowledgements;
  counters.reuses += order.reuses;
  return "";
}

// A run under watch, checked for order.
std::string record_one_run(uint64_t seed, uint64_t steps, Counters& counters, RecordedRun* run) {
  const ScratchDir dir;
  Random random(seed);
  engine::LocalOptions options = odd_options(random);
  const bool threads = random.one_in(4);
  if (threads) options.durability = Durability::kFull;

  IoWatch watch(dir.path());
  StoreDriver driver(dir.file(kStore), random.next());
  const auto explain = [&](const std::string& what) { return what + "\n" + describe(options); };
  if (const Status status = drive(driver, options, steps, threads); !status.ok()) {
    return explain("workload: " + status.to_string());
  }
  *run = {.record = watch.take(), .history = driver.history(), .lock_file_bytes = driver.lock_file_bytes()};
  const std::string wrong = check_record(*run, counters);
  return wrong.empty() ? "" : explain(wrong);
}

std::string cut_one_run(uint64_t seed, uint64_t images, Counters& counters) {
  static constexpr uint64_t kSteps[] = {2, 20, 60, 150};
  RecordedRun run;
  std::string wrong = record_one_run(seed, kSteps[mix(seed, 1) % 4], counters, &run);
  if (!wrong.empty()) return wrong;
  const ScratchDir dir;
  return CutExplorer(dir.path(), kStore, mix(seed, 2), &counters).explore(run, images, 3);
}

std::string kill_one_run(uint64_t seed, uint64_t images, Counters& counters) {
  static constexpr uint64_t kImagesPerKill = 12;
  RecordedRun run;
  std::string wrong = record_one_run(seed, 12, counters, &run);
  if (!wrong.empty()) return wrong;
  const ScratchDir dir;
  CutExplorer explorer(dir.path(), kStore, mix(seed, 2), &counters);
  return explorer.explore_kills(run, images / kImagesPerKill, kImagesPerKill);
}

void print(const Counters& counters) {
  std::printf(
      "%lu images (%lu of later generations, %lu shortened) of %lu runs, %lu commits; checked for "
      "order: %lu acknowledgements, %lu reuses of journal files\n",
      counters.images.load(), counters.later_generations.load(), counters.shortened.load(),
      counters.runs.load(), counters.commits.load(), counters.acknowledgements.load(),
      counters.reuses.load());
}

TEST(PowerCut, EveryImageHoldsWhatWasPromised) {
  const uint64_t seed = test_seed();
  const uint64_t images = count_from_env("LAPSE_CRASH_IMAGES", 6000, 600);
  const Shared<Counters> counters;
  const size_t jobs = (images + kImagesPerRun - 1) / kImagesPerRun;
  const auto failures = run_jobs({.jobs = jobs, .timeout_s = 120}, [&](size_t job, Report& report) {
    const std::string wrong = cut_one_run(mix(seed, job), kImagesPerRun, *counters);
    if (!wrong.empty()) report.fail(wrong);
  });
  EXPECT_TRUE(failures.empty()) << join(failures);
  EXPECT_GE(counters->images, images);
  EXPECT_GT(counters->later_generations, images / 20);
  EXPECT_GT(counters->shortened, 0U) << "no image lost anything: is anything cut at all?";
  EXPECT_GT(counters->acknowledgements, 0U);
  EXPECT_GT(counters->reuses, 0U);
  print(*counters);
}

// Few commits, but every point of their way: creation, a first journal file, a drain, a close that leaves a
// journal and one that does not, a reopen after each.
std::string cut_small_run_everywhere(uint64_t seed, engine::JournalIo io, size_t buffer_bytes,
                                     Counters& counters) {
  const ScratchDir dir;
  IoWatch watch(dir.path());
  StoreDriver driver(dir.file(kStore), seed);
  engine::LocalOptions options;
  options.durability = Durability::kFull;
  options.journal_io = io;
  options.journal_file_bytes = 4 << 10;
  options.buffer_bytes = buffer_bytes;
  const auto live = [&]() -> Status {
    for (int session = 0; session < 3; ++session) {
      LAPSE_TRY(driver.open(options));
      for (int i = 0; i < 3; ++i) {
        Commit commit = random_commit(driver.random());
        commit.resize(1);  // the token
        commit[0].value = driver.random().bytes(700);
        LAPSE_TRY(driver.commit(commit));
      }
      LAPSE_TRY(driver.close());
    }
    return {};
  };
  if (const Status status = live(); !status.ok()) return status.to_string();
  const RecordedRun run{.record = watch.take(), .history = driver.history()};
  std::string wrong = check_record(run, counters);
  const ScratchDir image_dir;
  CutExplorer explorer(image_dir.path(), kStore, seed, &counters);
  if (wrong.empty()) wrong = explorer.explore_everything(run, kSanitized ? 1 : 4);
  return wrong.empty() ? "" : wrong + "\n" + describe(options);
}

TEST(PowerCut, AtEveryPointOfASmallRunInEveryStyle) {
  using engine::JournalIo;
  const uint64_t seed = test_seed();
  const Shared<Counters> counters;
  static constexpr size_t kModes = std::size(kEveryJournalIo);
  const auto failures = run_jobs({.jobs = 2 * kModes, .timeout_s = 120}, [&](size_t job, Report& report) {
    const JournalIo io = kEveryJournalIo[job % kModes];
    const size_t buffer_bytes = job / kModes == 0 ? 1 << 10 : 64 << 20;  // drained all the time, or never
    const std::string wrong = cut_small_run_everywhere(mix(seed, job), io, buffer_bytes, *counters);
    if (!wrong.empty()) report.fail(wrong);
  });
  EXPECT_TRUE(failures.empty()) << join(failures);
  print(*counters);
}

// The successor of a killed process sees what is in memory, on disk or not; it must not build on it.
TEST(PowerCut, AfterAKillLosesNothingThatTheSuccessorShowed) {
  const uint64_t seed = test_seed();
  const uint64_t images = count_from_env("LAPSE_CRASH_IMAGES", 6000, 600) / 2;
  static constexpr uint64_t kImagesHere = 600;
  const Shared<Counters> counters;
  const size_t jobs = (images + kImagesHere - 1) / kImagesHere;
  const auto failures = run_jobs({.jobs = jobs, .timeout_s = 120}, [&](size_t job, Report& report) {
    const std::string wrong = kill_one_run(mix(seed, job), kImagesHere, *counters);
    if (!wrong.empty()) report.fail(wrong);
  });
  EXPECT_TRUE(failures.empty()) << join(failures);
  EXPECT_GE(counters->images, images);
  print(*counters);
}

}  // namespace
}  // namespace lapse::fault
