// Every call fails once, in every way: whatever happens, nothing acknowledged is lost, nothing wrong is
// read, and a commit that failed left no trace; also if the power goes at that time, or later.

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <iterator>
#include <string>
#include <vector>

#include "base/try.h"
#include "crash_image.h"
#include "cut_explorer.h"
#include "ended_store.h"
#include "fault_env.h"
#include "io_hooks.h"
#include "jobs.h"
#include "store_driver.h"

namespace lapse::fault {
namespace {

using engine::JournalIo;
using engine::LocalOptions;

struct FaultKind {
  const char* name;
  uint32_t calls;
  int error;
  FaultEffect effect;
  uint64_t count;
};

constexpr uint64_t kFromThenOn = ~uint64_t{0};

constexpr FaultKind kFaultKinds[] = {
    {"EIO", kAnyCall, EIO, FaultEffect::kNothingDone, 1},
    {"ENOSPC", kAnyCall, ENOSPC, FaultEffect::kNothingDone, 1},
    {"EINTR", kAnyCall, EINTR, FaultEffect::kNothingDone, 1},
    {"a write that is done", kWriteCall, EIO, FaultEffect::kDoneAndFails, 1},
    {"short write", kWriteCall, 0, FaultEffect::kShortWrite, 1},
    {"sync lost", kSyncCall | kSyncedWriteCall, EIO, FaultEffect::kSyncLost, 1},
    {"sync lost, no space", kSyncCall | kSyncedWriteCall, ENOSPC, FaultEffect::kSyncLost, 1},
    {"EIO from then on", kAnyCall, EIO, FaultEffect::kNothingDone, kFromThenOn},
    {"ENOSPC from then on", kWriteCall | kResizeCall | kOpenCall, ENOSPC, FaultEffect::kNothingDone,
     kFromThenOn},
    {"syncs lost from then on", kSyncCall | kSyncedWriteCall, EIO, FaultEffect::kSyncLost, kFromThenOn},
    {"syncs lost from then on, no space", kSyncCall | kSyncedWriteCall, ENOSPC, FaultEffect::kSyncLost,
     kFromThenOn},
};

// Small enough to try every call, with rotations, drains, a large record and a reopen in it.
struct Workload {
  LocalOptions options;
  uint64_t seed;
  bool fails_creation = false;  // else a later session
};

Workload make_workload(uint64_t seed) {
  Random random(seed);
  Workload workload{.options = odd_options(random), .seed = random.next()};
  workload.options.background_drain = false;  // so that the n-th call is the same each time
  workload.options.buffer_bytes = random.one_in(2) ? 2 << 10 : 16 << 10;
  return workload;
}

bool is_io_failure(const Status& status) {
  return status.code() == StatusCode::kIoError || status.code() == StatusCode::kNoSpace ||
         status.code() == StatusCode::kUnknown;
}

// What came of a session with a fault in it.
struct Session {
  bool opened = false;
  bool unknown = false;  // its last commit is in doubt
  std::string wrong{};
};

// Opens, commits and closes; goes on after errors as a user would.
class FaultySession {
 public:
  FaultySession(StoreDriver& driver, Session& session) : driver_(driver), session_(session) {}

  void run(const LocalOptions& options, int commits) {
    const uint64_t before = driver_.history().size();
    if (!allow("open", driver_.open(options)) || !driver_.is_open()) return;
    if (driver_.history().size() < before) return wrong("a clean reopen lost commits");
    session_.opened = true;
    for (int i = 0; i < commits && session_.wrong.empty(); ++i) commit(i);
    if (session_.wrong.empty()) allow("close", driver_.close());
  }

 private:
  void commit(int i) {
    const Status status = i % 6 == 5 ? driver_.engine().checkpoint() : driver_.commit_random();
    session_.unknown |= status.code() == StatusCode::kUnknown;
    allow("commit", status);
    // What is in doubt is not shown at full, and is at normal.
    if (session_.unknown) return;
    if (const Status state = driver_.check_state(); !state.ok()) wrong(state.to_string());
  }

  // Whether it succeeded. A failure is the disk's, or it is a bug.
  bool allow(const std::string& what, const Status& status) {
    if (!status.ok() && !is_io_failure(status)) wrong(what + ": " + status.to_string());
    return status.ok();
  }

  void wrong(const std::string& what) {
    if (session_.wrong.empty()) session_.wrong = what;
  }

  StoreDriver& driver_;
  Session& session_;
};

// The first session is sound, the second, recorded, has the fault in it.
class FaultRun {
 public:
  explicit FaultRun(const Workload& workload) : workload_(workload) {}

  // How many calls of that kind there are.
  uint64_t count_calls(uint32_t calls) {
    Session session;
    return run({.calls = calls, .nth = kFromThenOn}, &session);
  }

  // "" or what is wrong.
  std::string fail_at(const FaultKind& kind, uint64_t nth, CutCounters* counters) {
    Session session;
    run({.calls = kind.calls, .nth = nth, .count = kind.count, .error = kind.error, .effect = kind.effect},
        &session);
    if (!session.wrong.empty()) return session.wrong;

    // The machine goes on: the next open, on a disk that works again, has all that was acknowledged.
    const FileImage left = read_directory(dir_.path());
    const uint64_t most = recorded_.history.size();
    const uint64_t least = most - (session.unknown ? 1 : 0);
    const Reopened result = reopen_and_check(dir_.path(), recorded_.history, {});
    if (!result.open.ok()) return "reopen: " + result.open.to_string();
    if (!result.wrong.ok()) return "reopen: " + result.wrong.to_string();
    if (result.last_sequence < least || result.last_sequence > most) {
      return "reopened at " + std::to_string(result.last_sequence) + ", not " + std::to_string(least) +
             " to " + std::to_string(most);
    }
    // Or the power goes: in the session, or after the next one has begun.
    const ScratchDir image_dir;
    CutExplorer explorer(image_dir.path(), kStoreName, mix(workload_.seed, nth), counters);
    std::string wrong = explorer.explore(recorded_, 2, 1);
    if (wrong.empty()) wrong = explorer.explore_kills(recorded_, 1, 2);
    return wrong;
  }

 private:
  // Returns how many calls matched.
  uint64_t run(const Fault& fault, Session* session) {
    write_directory(dir_.path(), {});
    StoreDriver driver(dir_.file(kStoreName), workload_.seed);
    IoWatch watch(dir_.path());
    if (!workload_.fails_creation) FaultySession(driver, *session).run(workload_.options, 5);
    watch.inject(fault);
    FaultySession(driver, *session).run(workload_.options, 8);
    watch.inject_nothing();
    const uint64_t matched = watch.matched();
    recorded_ = {
        .record = watch.take(), .history = driver.history(), .lock_file_bytes = driver.lock_file_bytes()};
    return matched;
  }

  const Workload workload_;
  const ScratchDir dir_;
  RecordedRun recorded_;
};

TEST(IoFault, AtEveryCallLosesNothingAndShowsNothingWrong) {
  const uint64_t seed = test_seed();
  const uint64_t modes = std::size(kEveryJournalIo);
  const uint64_t workloads = count_from_env("LAPSE_FAULT_ROUNDS", 1, 1) * 2 * modes;
  struct Case {
    Workload workload;
    const FaultKind* kind;
    uint64_t nth;
  };
  std::vector<Case> cases;
  for (uint64_t i = 0; i < workloads; ++i) {
    Workload workload = make_workload(mix(seed, i));
    workload.options.journal_io = kEveryJournalIo[i % modes];
    // Left to itself, a journal is written only where each commit is synced.
    if (workload.options.journal_io == JournalIo::kAuto) workload.options.durability = Durability::kFull;
    workload.fails_creation = i / modes % 2 == 0;
    for (const FaultKind& kind : kFaultKinds) {
      const uint64_t calls = FaultRun(workload).count_calls(kind.calls);
      ASSERT_GT(calls, 0U);
      for (uint64_t nth = 1 + seed % kThinning; nth <= calls; nth += kThinning) {
        cases.push_back({workload, &kind, nth});
      }
    }
  }
  static constexpr size_t kCasesPerJob = 20;
  const Shared<CutCounters> counters;
  const JobOptions jobs{.jobs = (cases.size() + kCasesPerJob - 1) / kCasesPerJob, .timeout_s = 120};
  const auto failures = run_jobs(jobs, [&](size_t job, Report& report) {
    const size_t end = std::min(cases.size(), (job + 1) * kCasesPerJob);
    for (size_t i = job * kCasesPerJob; i < end; ++i) {
      const auto& [workload, kind, nth] = cases[i];
      const std::string wrong = FaultRun(workload).fail_at(*kind, nth, &*counters);
      if (wrong.empty()) continue;
      return report.fail(std::string(kind->name) + " at call " + std::to_string(nth) + ": " + wrong + "\n" +
                         describe(workload.options));
    }
  });
  EXPECT_TRUE(failures.empty()) << join(failures);
  std::printf("%zu faults, %lu images\n", cases.size(), counters->images.load());
}

// A drain that finds no room is tried again, and then its journal is used again: whatever the sync that failed has lost must
// have been made up for by then.
TEST(IoFault, OfASyncForLackOfSpaceIsMadeUpForBeforeAnythingReliesOnIt) {
  const uint64_t seed = test_seed();
  const uint64_t images = count_from_env("LAPSE_FAULT_ROUNDS", 1, 1) * (kSanitized ? 20 : 150);
  const ScratchDir dir;
  uint64_t syncs = 0;
  const auto run = [&](uint64_t nth) {
    write_directory(dir.path(), {});
    StoreDriver driver(dir.file(kStoreName), seed);
    IoWatch watch(dir.path());
    EXPECT_TRUE(driver.open({.durability = Durability::kFull}).ok());
    watch.inject({.calls = kSyncCall, .nth = nth, .error = ENOSPC, .effect = FaultEffect::kSyncLost});
    for (int i = 0; i < 5; ++i) {
      (void)driver.commit_random();
      // Once more if it fails; then the next commit goes where the drained ones were.
      if (!driver.engine().checkpoint().ok()) (void)driver.engine().checkpoint();
    }
    syncs = watch.matched();
    return RecordedRun{
        .record = watch.take(), .history = driver.history(), .lock_file_bytes = driver.lock_file_bytes()};
  };
  (void)run(kFromThenOn);
  const uint64_t all_syncs = syncs;
  ASSERT_GT(all_syncs, 20U);
  for (uint64_t nth = 1; nth <= all_syncs; ++nth) {
    const RecordedRun recorded = run(nth);
    const ScratchDir image_dir;
    CutCounters counters;
    CutExplorer explorer(image_dir.path(), kStoreName, mix(seed, nth), &counters);
    ASSERT_EQ(explorer.explore(recorded, images, 1), "") << "sync " << nth << " of " << all_syncs;
  }
}

// The file has been begun then, and holds nothing. A commit that does not fit into it goes into the next one.
TEST(IoFault, OfAFilesFirstRecordLeavesNoGapBeforeTheNextFile) {
  const ScratchDir dir;
  LocalOptions options;
  options.durability = Durability::kFull;
  options.journal_io = JournalIo::kPwrite;
  options.journal_file_bytes = 8 << 10;
  StoreDriver driver(dir.file(kStoreName), 1);
  IoWatch watch(dir.path());
  ASSERT_TRUE(driver.open(options).ok());
  constexpr uint64_t kFirstRecord = 4;  // before it come the zeros and two headers
  watch.inject({.calls = kWriteCall, .name_part = "journal", .nth = kFirstRecord, .error = EIO});
  EXPECT_EQ(driver.commit({{"key", "value"}}).code(), StatusCode::kIoError);
  watch.inject_nothing();
  const Status status = driver.commit({{"key", std::string(20 << 10, 'x')}});
  ASSERT_TRUE(status.ok()) << status.to_string();
  ASSERT_EQ(driver.engine().stats().journal_files, 2U);
  ASSERT_TRUE(driver.close().ok());

  const RecordedRun recorded{
      .record = watch.take(), .history = driver.history(), .lock_file_bytes = driver.lock_file_bytes()};
  const ScratchDir image_dir;
  CutCounters counters;
  CutExplorer explorer(image_dir.path(), kStoreName, 1, &counters);
  EXPECT_EQ(explorer.explore_everything(recorded, 4), "");
}

}  // namespace
}  // namespace lapse::fault
