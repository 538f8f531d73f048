// By which way records get into the journal, left to itself, and out of it again.

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "cut_explorer.h"
#include "ended_store.h"
#include "fault_env.h"
#include "io_hooks.h"
#include "store_driver.h"

namespace lapse::fault {
namespace {

using engine::JournalIo;

constexpr uint64_t kFromThenOn = ~uint64_t{0};

// Elsewhere nothing is mapped, left to itself.
bool file_system_writes_in_place() {
  const ScratchDir dir;
  const Result<File> file = File::open(dir.file("probe"), File::Mode::kCreate);
  return file.ok() && writes_in_place(*file);
}

// How often a run of small commits stores into a mapping.
long mapped_stores(Durability durability) {
  const ScratchDir dir;
  IoWatch watch(dir.path());
  StoreDriver driver(dir.file(kStoreName), 1);
  EXPECT_TRUE(driver.open({.durability = durability, .journal_file_bytes = 64 << 10}).ok());
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(driver.commit({{"key", "value"}}).ok());
  EXPECT_TRUE(driver.close().ok());
  const IoRecord record = watch.take();
  return std::count_if(record.events.begin(), record.events.end(),
                       [](const IoEvent& event) { return event.kind == IoEventKind::kMappedStore; });
}

TEST(JournalIoTest, SmallRecordsAreStoredIntoTheMappingUnlessTheyAreSyncedAtOnce) {
  if (!file_system_writes_in_place()) GTEST_SKIP();
  EXPECT_GE(mapped_stores(Durability::kNormal), 10);
  EXPECT_EQ(mapped_stores(Durability::kFull), 0);
}

class FailedAppend : public testing::TestWithParam<JournalIo> {
 protected:
  FailedAppend() {
    EXPECT_TRUE(driver_.open({.durability = Durability::kFull, .journal_io = GetParam()}).ok());
    EXPECT_TRUE(driver_.commit_random().ok());
  }

  // Large enough to be written whatever the mode.
  Status commit_with(const Fault& fault) {
    watch_.inject(fault);
    const Status status = driver_.commit({{"key", std::string(10'000, 'v')}});
    watch_.inject_nothing();
    return status;
  }

  void expect_to_go_on() {
    EXPECT_TRUE(driver_.commit_random().ok());
    EXPECT_TRUE(driver_.check_state().ok());
    EXPECT_TRUE(driver_.close().ok());
  }

  const ScratchDir dir_;
  IoWatch watch_{dir_.path()};
  StoreDriver driver_{dir_.file(kStoreName), test_seed()};
};

TEST_P(FailedAppend, ForLackOfSpaceLosesThatCommitOnly) {
  for (const int error : {ENOSPC, EDQUOT, EFBIG}) {
    EXPECT_EQ(
        StatusCode::kNoSpace,
        commit_with({.calls = kWriteCall, .name_part = "-journal", .count = kFromThenOn, .error = error})
            .code());
  }
  expect_to_go_on();
}

Fault of_a_write_that_is_done() {
  return {.calls = kWriteCall, .name_part = "-journal", .error = EIO, .effect = FaultEffect::kDoneAndFails};
}

TEST_P(FailedAppend, ThatWasDoneLosesThatCommitOnly) {
  EXPECT_EQ(StatusCode::kIoError, commit_with(of_a_write_that_is_done()).code());
  expect_to_go_on();
}

// All of the record may be on disk, and the next commit in another file. While it fails it may be there, from then on not.
TEST_P(FailedAppend, ThatWasDoneIsGoneOnceItIsToldWheneverThePowerGoes) {
  EXPECT_EQ(StatusCode::kIoError, commit_with(of_a_write_that_is_done()).code());
  EXPECT_TRUE(driver_.commit({{"key", "another"}}).ok());
  const RecordedRun recorded{
      .record = watch_.take(), .history = driver_.history(), .lock_file_bytes = driver_.lock_file_bytes()};
  const ScratchDir image_dir;
  CutCounters counters;
  CutExplorer explorer(image_dir.path(), kStoreName, 1, &counters);
  EXPECT_EQ(explorer.explore_everything(recorded, 2), "");
}

TEST_P(FailedAppend, ThatCannotBeTakenBackStopsWrites) {
  EXPECT_EQ(
      StatusCode::kUnknown,
      commit_with({.calls = kWriteCall, .name_part = "-journal", .count = kFromThenOn, .error = EIO}).code());
  EXPECT_EQ(StatusCode::kIoError, driver_.commit_random().code());
  EXPECT_FALSE(driver_.close().ok());
}

INSTANTIATE_TEST_SUITE_P(Modes, FailedAppend, testing::ValuesIn(kEveryJournalIo),
                         [](const auto& mode) { return name_of(mode.param); });

}  // namespace
}  // namespace lapse::fault
