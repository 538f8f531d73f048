// A disk that is full, and has room again later: commits fail with kNoSpace and leave no trace, reads go
// on, drains wait, nothing dies of a signal, and everything works once there is room.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/try.h"
#include "ended_store.h"
#include "engine/memory/memory_engine.h"
#include "fault_env.h"
#include "jobs.h"
#include "small_disk.h"
#include "store_driver.h"

namespace lapse::fault {
namespace {

using engine::JournalIo;
using engine::LocalOptions;

#define LAPSE_NEED_SMALL_DISK() \
  if (!small_disks_are_allowed()) GTEST_SKIP() << "not allowed to mount a tmpfs in a namespace"

bool is_full(const Status& status) {
  return status.code() == StatusCode::kNoSpace || status.code() == StatusCode::kIoError;
}

// Runs steps that end in an error of their own making.
void run(uint64_t bytes, const std::function<Status(const SmallDisk&)>& body) {
  const ChildResult child = run_on_small_disk(bytes, 60, [&](const SmallDisk& disk, Report& report) {
    const Status status = body(disk);
    if (!status.ok()) report.fail(status.to_string());
  });
  EXPECT_TRUE(child.ok()) << child.describe();
}

Status wrong(const std::string& what) { return {StatusCode::kCorrupt, what}; }

// A row that was not there before, so that the tree grows.
Commit growing_commit(Random& random, size_t value_bytes) {
  Commit commit = random_commit(random);
  commit.resize(1);  // the token
  commit[0].value = random.bytes(value_bytes);
  return commit;
}

// Commits until one fails, which must be for lack of space, and checks that it left no trace.
Status commit_until_full(StoreDriver& driver, size_t value_bytes, int at_most) {
  for (int i = 0; i < at_most; ++i) {
    const Status status = driver.commit(growing_commit(driver.random(), value_bytes));
    if (status.ok()) continue;
    if (status.code() != StatusCode::kNoSpace) return wrong("not kNoSpace: " + status.to_string());
    return driver.check_state();
  }
  return wrong("the disk never was full");
}

// After room was made: all is as it was, and goes on; also after a reopen.
Status goes_on(StoreDriver& driver, const LocalOptions& options) {
  driver.clock().advance(10'000);  // past any time that a drain waits before it tries again
  LAPSE_TRY(driver.check_state());
  for (int i = 0; i < 20; ++i) LAPSE_TRY(driver.commit_random());
  LAPSE_TRY(driver.engine().checkpoint());
  LAPSE_TRY(driver.engine().stats().background_error);
  LAPSE_TRY(driver.engine().verify());
  const uint64_t commits = driver.history().size();
  LAPSE_TRY(driver.close());
  LAPSE_TRY(driver.open(options));
  if (driver.history().size() != commits) return wrong("lost at the reopen");
  return driver.close();
}

class DiskFull : public testing::TestWithParam<JournalIo> {
 protected:
  LocalOptions options() const {
    LocalOptions options;
    options.journal_io = GetParam();
    options.journal_file_bytes = 64 << 10;
    return options;
  }
};

TEST_P(DiskFull, AppendFailsAndWorksAgainOnceThereIsRoom) {
  LAPSE_NEED_SMALL_DISK();
  run(2 << 20, [&](const SmallDisk& disk) -> Status {
    StoreDriver driver(disk.file(kStoreName), 1);
    LAPSE_TRY(driver.open(options()));  // a buffer that never fills: nothing is drained
    LAPSE_TRY(driver.commit_random());
    disk.fill();
    for (int i = 0; i < 3; ++i) LAPSE_TRY(commit_until_full(driver, 3000, 100));
    disk.make_room();
    return goes_on(driver, options());
  });
}

TEST_P(DiskFull, DrainWaitsWhileTheStoreServesFromItsBuffers) {
  LAPSE_NEED_SMALL_DISK();
  run(4 << 20, [&](const SmallDisk& disk) -> Status {
    StoreDriver driver(disk.file(kStoreName), 1);
    LocalOptions small = options();
    small.buffer_bytes = 32 << 10;
    LAPSE_TRY(driver.open(small));
    // Once it has been through a few drains the journal has files to spare.
    for (int i = 0; i < 200; ++i) LAPSE_TRY(driver.commit(growing_commit(driver.random(), 1000)));
    LAPSE_TRY(driver.engine().checkpoint());
    disk.fill();
    const uint64_t before = driver.history().size();
    LAPSE_TRY(commit_until_full(driver, 1000, 2000));
    if (driver.history().size() < before + 20) return wrong("it did not serve from its buffers");
    if (driver.engine().stats().background_error.code() != StatusCode::kNoSpace) {
      return wrong("stats() do not say why");
    }
    if (!is_full(driver.engine().checkpoint())) return wrong("a checkpoint on a full disk");
    LAPSE_TRY(driver.check_state());
    disk.make_room();
    return goes_on(driver, small);
  });
}

TEST_P(DiskFull, CloseAndReopenWhileItIsFullLosesNothing) {
  LAPSE_NEED_SMALL_DISK();
  run(4 << 20, [&](const SmallDisk& disk) -> Status {
    StoreDriver driver(disk.file(kStoreName), 1);
    LocalOptions small = options();
    small.buffer_bytes = 32 << 10;
    LAPSE_TRY(driver.open(small));
    for (int i = 0; i < 20; ++i) LAPSE_TRY(driver.commit_random());
    disk.fill();
    LAPSE_TRY(commit_until_full(driver, 1000, 2000));
    const uint64_t commits = driver.history().size();
    (void)driver.close();
    if (const Status status = driver.open(small); !status.ok() && !is_full(status)) return status;
    disk.make_room();
    if (!driver.is_open()) LAPSE_TRY(driver.open(small));
    if (driver.history().size() != commits) return wrong("lost commits");
    return goes_on(driver, small);
  });
}

// With every amount of space left, from none up to enough.
TEST_P(DiskFull, CreatingAStoreIsAnErrorAndNoSignal) {
  LAPSE_NEED_SMALL_DISK();
  for (uint64_t pages = 0; pages < 80; pages += kSanitized ? 9 : 1) {
    SCOPED_TRACE(std::to_string(pages) + " pages left");
    run(1 << 20, [&](const SmallDisk& disk) -> Status {
      StoreDriver driver(disk.file(kStoreName), 1);
      disk.fill(pages * 4096);
      Status status = driver.open(options());
      if (driver.is_open()) status = driver.commit_random();
      if (!status.ok() && status.code() != StatusCode::kNoSpace) return status;
      if (driver.is_open()) LAPSE_TRY(driver.close());
      disk.make_room();
      LAPSE_TRY(driver.open(options()));
      return goes_on(driver, options());
    });
  }
}

TEST_P(DiskFull, OpeningAStoreThatWasKilledIsAnErrorAndNoSignal) {
  LAPSE_NEED_SMALL_DISK();
  Random random(1);
  std::vector<Commit> commits;
  for (int i = 0; i < 30; ++i) commits.push_back(random_commit(random));
  const EndedStore store = make_ended_store(options(), commits, Ending::kKilled);
  for (uint64_t pages = 0; pages < 40; pages += kSanitized ? 9 : 1 + pages / 8) {
    SCOPED_TRACE(std::to_string(pages) + " pages left");
    run(2 << 20, [&](const SmallDisk& disk) -> Status {
      FileImage files = store.files;
      files.erase(std::string(kStoreName) + "-lock");  // LMDB maps it as soon as it has made it
      write_directory(disk.path(), files);
      disk.fill(pages * 4096);
      StoreDriver driver(disk.file(kStoreName), 1, store.history);
      const Status status = driver.open(options());
      if (!status.ok() && status.code() != StatusCode::kNoSpace) return status;
      disk.make_room();
      if (!driver.is_open()) LAPSE_TRY(driver.open(options()));
      if (driver.history().size() != store.history.size()) return wrong("lost commits");
      return goes_on(driver, options());
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, DiskFull, testing::ValuesIn(kEveryJournalIo),
                         [](const auto& mode) { return name_of(mode.param); });

// No file may grow beyond so many bytes: a write that would go further is cut short.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(uint64_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

// Wherever a write of several pages meets it.
TEST(FileSizeLimitTest, IsAFullDiskToTheTreeToo) {
  for (const uint64_t bytes_left : {1'000, 10'000, 30'000, 50'000, 70'000}) {
    SCOPED_TRACE(bytes_left);
    const ScratchDir dir;
    StoreDriver driver(dir.file(kStoreName), test_seed());
    LocalOptions small;
    small.buffer_bytes = 32 << 10;
    ASSERT_TRUE(driver.open(small).ok());
    for (int i = 0; i < 300; ++i) ASSERT_TRUE(driver.commit(growing_commit(driver.random(), 1000)).ok());
    ASSERT_TRUE(driver.engine().checkpoint().ok());
    {
      const FileSizeLimit limit(std::filesystem::file_size(dir.file(kStoreName)) + bytes_left);
      const Status full = commit_until_full(driver, 1000, 2000);
      EXPECT_TRUE(full.ok()) << full.to_string();
      EXPECT_EQ(StatusCode::kNoSpace, driver.engine().stats().background_error.code());
      EXPECT_EQ(StatusCode::kNoSpace, driver.engine().checkpoint().code());
    }
    const Status after = goes_on(driver, small);
    EXPECT_TRUE(after.ok()) << after.to_string();
  }
}

// Its file has no name any more that could be asked about, and there is nothing to reopen.
TEST(MemoryOnAFullDisk, ServesOnAndWritesAgainOnceThereIsRoom) {
  LAPSE_NEED_SMALL_DISK();
  for (const uint64_t left : {0, 10'000, 30'000, 70'000}) {
    SCOPED_TRACE(left);
    run(4 << 20, [&](const SmallDisk& disk) -> Status {
      ::setenv("TMPDIR", disk.path().c_str(), 1);  // NOLINT(concurrency-mt-unsafe): the only thread
      ManualClock clock(1000);
      LAPSE_TRY_ASSIGN(const auto engine, engine::open_memory({.buffer_bytes = 32 << 10, .clock = &clock}));
      Random random(1);
      int next = 0;
      const auto put = [&]() -> Status {
        LAPSE_TRY_ASSIGN(const auto transaction, engine->begin(engine::kForever));
        LAPSE_TRY(transaction->put("key" + std::to_string(next++), random.bytes(1000)));
        return transaction->commit().status();
      };
      for (int i = 0; i < 100; ++i) LAPSE_TRY(put());
      disk.fill(left);
      Status status;
      for (int i = 0; i < 2000 && status.ok(); ++i) status = put();
      if (status.code() != StatusCode::kNoSpace) return wrong("not kNoSpace: " + status.to_string());
      LAPSE_TRY_ASSIGN(const auto snapshot, engine->snapshot());
      LAPSE_TRY_ASSIGN(const auto value, snapshot->get("key0"));
      if (!value) return wrong("it serves no more");
      disk.make_room();
      clock.advance(10'000);
      LAPSE_TRY(put());
      return engine->checkpoint();
    });
  }
}

struct Errors {
  std::atomic<uint64_t> no_space{0};
  std::atomic<uint64_t> io_error{0};
};

// Steps at random while the disk fills and is cleared at random.
Status live_on_a_tight_disk(const SmallDisk& disk, uint64_t seed, Errors& errors) {
  Random random(seed);
  StoreDriver driver(disk.file(kStoreName), seed);
  LocalOptions options = odd_options(random);
  for (int step = 0; step < 300; ++step) {
    if (random.one_in(20)) disk.fill(random.below(8) * 4096);
    if (random.one_in(20)) disk.make_room();
    driver.clock().advance(50);
    if (!driver.is_open()) {
      const uint64_t commits = driver.history().size();
      const Status opened = driver.open(options);
      if (!opened.ok() && !is_full(opened)) return opened;
      if (opened.ok() && driver.history().size() != commits) return wrong("lost at a reopen");
      continue;
    }
    const Status status = driver.random_step();
    if (!status.ok() && !is_full(status)) return status;
    if (!status.ok()) ++(status.code() == StatusCode::kNoSpace ? errors.no_space : errors.io_error);
    LAPSE_TRY(driver.check_state());
    // An error that is not about space is final: only a reopen helps.
    if (status.code() == StatusCode::kIoError || random.one_in(40)) {
      (void)driver.close();
      options = odd_options(random);
    }
  }
  disk.make_room();
  if (!driver.is_open()) LAPSE_TRY(driver.open(options));
  return goes_on(driver, options);
}

TEST(TightDisk, ComingAndGoingAtRandomLosesNothing) {
  LAPSE_NEED_SMALL_DISK();
  const uint64_t seed = test_seed();
  const uint64_t rounds = count_from_env("LAPSE_FAULT_ROUNDS", 1, 1) * (kSanitized ? 6 : 30);
  const Shared<Errors> errors;
  const auto failures = run_jobs({.jobs = rounds, .timeout_s = 120}, [&](size_t job, Report& report) {
    const uint64_t bytes = (8 + mix(seed, job) % 4) << 20;
    const ChildResult child = run_on_small_disk(bytes, 60, [&](const SmallDisk& disk, Report& inner) {
      const Status status = live_on_a_tight_disk(disk, mix(seed, job, 1), *errors);
      if (!status.ok()) inner.fail(status.to_string());
    });
    if (!child.ok()) report.fail(child.describe());
  });
  EXPECT_TRUE(failures.empty()) << join(failures);
  EXPECT_GT(errors->no_space, rounds);
  std::printf("%lu rounds: %lu times no space, %lu times another error\n", rounds, errors->no_space.load(),
              errors->io_error.load());
}

}  // namespace
}  // namespace lapse::fault
