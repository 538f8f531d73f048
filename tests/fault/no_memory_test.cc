// A full disk and no memory at once: what fails for lack of space has no memory left to say so, and must still leave
// everything fit to go on.

#include <gtest/gtest.h>

#include <cerrno>
#include <new>
#include <string>

#include "ended_store.h"
#include "fault_env.h"
#include "io_hooks.h"
#include "store_driver.h"
#include "support/starvation.h"

namespace lapse::fault {
namespace {

constexpr int kMostAllocations = 1'000;

// Before the tree is written again after a sync that found no room, its meta page is, through LMDB's own descriptor. That
// fails here with 0, 1, 2, … allocations to spare.
TEST(NoMemory, TheTreesFileStaysOpenWhenThereIsNoneToSayThatTheDiskIsFull) {
  const ScratchDir dir;
  IoWatch watch(dir.path());
  StoreDriver driver(dir.file(kStoreName), test_seed());
  ASSERT_TRUE(driver.open({.durability = Durability::kNone}).ok());
  ASSERT_TRUE(driver.commit_random().ok());
  ASSERT_TRUE(driver.engine().sync().ok());  // of the journal: those that follow are the tree's
  watch.inject(
      {.calls = kSyncCall, .count = ~uint64_t{0}, .error = ENOSPC, .effect = FaultEffect::kSyncLost});
  ASSERT_EQ(driver.engine().checkpoint().code(), StatusCode::kNoSpace);

  bool enough = false;
  int thrown = 0;
  for (int allowed = 0; allowed < kMostAllocations && !enough; ++allowed) {
    const Starvation starvation(allowed);
    try {
      (void)driver.engine().checkpoint();
    } catch (const std::bad_alloc&) {
      ++thrown;
    }
    enough = Starvation::ended_with_some_left();
  }
  EXPECT_TRUE(enough);
  EXPECT_GT(thrown, 0);

  watch.inject_nothing();
  const Status status = driver.engine().checkpoint();
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_TRUE(driver.engine().verify().ok());
  EXPECT_TRUE(driver.check_state().ok());
  EXPECT_TRUE(driver.close().ok());
}

// Else the next sync would be believed, and it says nothing of what the failed one has lost.
TEST(NoMemory, AFailedSyncIsFinalAlsoWhenThereIsNoneToSaySo) {
  bool enough = false;
  for (int allowed = 0; allowed < kMostAllocations && !enough; ++allowed) {
    SCOPED_TRACE(std::to_string(allowed) + " allocations");
    const ScratchDir dir;
    IoWatch watch(dir.path());
    StoreDriver driver(dir.file(kStoreName), test_seed());
    ASSERT_TRUE(driver.open({.durability = Durability::kFull}).ok());
    ASSERT_TRUE(driver.commit(random_commit(driver.random()), StoreDriver::Synced::kLater).ok());
    const uint64_t last = driver.history().size();
    watch.inject(
        {.calls = kSyncCall, .name_part = "-journal", .error = EIO, .effect = FaultEffect::kSyncLost});
    {
      const Starvation starvation(allowed);
      try {
        EXPECT_FALSE(driver.engine().wait_durable(last).ok());
      } catch (const std::bad_alloc&) {
      }
      enough = Starvation::ended_with_some_left();
    }
    EXPECT_EQ(watch.failed(), 1U);
    EXPECT_FALSE(driver.engine().wait_durable(last).ok());
    EXPECT_FALSE(driver.commit_random().ok());
    EXPECT_FALSE(driver.engine().checkpoint().ok());
    EXPECT_FALSE(driver.close().ok());
  }
  EXPECT_TRUE(enough);
}

}  // namespace
}  // namespace lapse::fault
