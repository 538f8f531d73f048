// By which way records get into the journal, left to itself, and out of it again.

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "ended_store.h"
#include "fault_env.h"
#include "io_hooks.h"
#include "store_driver.h"

namespace lapse::fault {
namespace {

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

// The commit's bytes may be there in part, and its file has no room to write over them: the mapping has.
TEST(JournalIoTest, ACommitThatFindsNoSpaceFailsAlone) {
  if (!file_system_writes_in_place()) GTEST_SKIP();
  for (const int error : {ENOSPC, EDQUOT, EFBIG}) {
    SCOPED_TRACE(error);
    const ScratchDir dir;
    IoWatch watch(dir.path());
    StoreDriver driver(dir.file(kStoreName), test_seed());
    ASSERT_TRUE(driver.open({.durability = Durability::kFull}).ok());
    ASSERT_TRUE(driver.commit_random().ok());
    watch.inject({.calls = kWriteCall, .name_part = "-journal", .count = ~uint64_t{0}, .error = error});
    EXPECT_EQ(StatusCode::kNoSpace, driver.commit_random().code());
    watch.inject_nothing();
    EXPECT_TRUE(driver.commit_random().ok());
    EXPECT_TRUE(driver.check_state().ok());
    EXPECT_TRUE(driver.close().ok());
  }
}

}  // namespace
}  // namespace lapse::fault
