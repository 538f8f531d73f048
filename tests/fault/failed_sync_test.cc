// A failed sync is final: nobody knows what is on disk. No further write until a reopen, reads go on, and
// commits in flight are reported as unknown, neither done nor failed.

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/try.h"
#include "ended_store.h"
#include "fault_env.h"
#include "io_hooks.h"
#include "store_driver.h"

namespace lapse::fault {
namespace {

using engine::JournalIo;
using engine::LocalOptions;

class FailedSync : public testing::TestWithParam<JournalIo> {
 protected:
  void open(Durability durability) {
    options_.durability = durability;
    options_.journal_io = GetParam();
    options_.journal_file_bytes = 64 << 10;
    ASSERT_TRUE(driver_.open(options_).ok());
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(driver_.commit_random().ok());
  }

  // From now on, for all syncs of files whose names hold `part`.
  void break_syncs(const std::string& part, int error = EIO) {
    watch_.inject({.calls = kSyncCall | kSyncedWriteCall,
                   .name_part = part,
                   .count = ~uint64_t{0},
                   .error = error,
                   .effect = FaultEffect::kSyncLost});
  }

  // The disk works again, but the engine does not know what it has.
  void expect_no_writes_but_reads(uint64_t shown) {
    watch_.inject_nothing();
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(driver_.commit_random().code(), StatusCode::kIoError);
    }
    EXPECT_FALSE(driver_.engine().checkpoint().ok());
    EXPECT_FALSE(driver_.engine().stats().background_error.ok());
    const auto state = read_all(driver_.engine());
    ASSERT_TRUE(state.ok()) << state.status().to_string();
    EXPECT_EQ(difference(driver_.history().state_after(shown), *state), "");
  }

  // After a reopen all that was acknowledged is there, and writes work.
  void expect_reopen(uint64_t least, uint64_t most) {
    (void)driver_.close();
    const Status opened = driver_.open(options_);
    ASSERT_TRUE(opened.ok()) << opened.to_string();
    EXPECT_GE(driver_.history().size(), least);
    EXPECT_LE(driver_.history().size(), most);
    EXPECT_TRUE(driver_.commit_random().ok());
    EXPECT_TRUE(driver_.engine().verify().ok());
    EXPECT_TRUE(driver_.check_state().ok());
    EXPECT_TRUE(driver_.close().ok());
  }

  const ScratchDir dir_;
  IoWatch watch_{dir_.path()};
  StoreDriver driver_{dir_.file(kStoreName), 1};
  LocalOptions options_;
};

TEST_P(FailedSync, OfACommitAtFullMakesItUnknownAndStopsWrites) {
  open(Durability::kFull);
  const uint64_t acknowledged = driver_.history().size();
  break_syncs("-journal");
  EXPECT_EQ(driver_.commit_random().code(), StatusCode::kUnknown);
  expect_no_writes_but_reads(acknowledged);  // what may yet vanish is not shown
  expect_reopen(acknowledged, acknowledged + 1);
}

TEST_P(FailedSync, ForLackOfSpaceIsFinalToo) {
  open(Durability::kFull);
  const uint64_t acknowledged = driver_.history().size();
  break_syncs("-journal", ENOSPC);
  EXPECT_EQ(driver_.commit_random().code(), StatusCode::kUnknown);
  expect_no_writes_but_reads(acknowledged);  // and nobody is told that room would help
  expect_reopen(acknowledged, acknowledged + 1);
}

TEST_P(FailedSync, OfUnsyncedCommitsIsToldToWhoWaitsForThem) {
  open(Durability::kFull);
  const uint64_t acknowledged = driver_.history().size();
  break_syncs("-journal");
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(driver_.commit(random_commit(driver_.random()), StoreDriver::Synced::kLater).ok());
  }
  EXPECT_EQ(driver_.wait_durable().code(), StatusCode::kIoError);
  EXPECT_TRUE(driver_.engine().wait_durable(acknowledged).ok());  // these the disk had confirmed
  expect_no_writes_but_reads(acknowledged);
  expect_reopen(acknowledged, acknowledged + 3);
}

TEST_P(FailedSync, AskedForAtNormalStopsWrites) {
  open(Durability::kNormal);
  const uint64_t acknowledged = driver_.history().size();
  break_syncs("-journal");
  EXPECT_FALSE(driver_.engine().sync().ok());
  expect_no_writes_but_reads(acknowledged);
  expect_reopen(acknowledged, acknowledged);
}

TEST_P(FailedSync, OfTheTreeStopsWritesAndLosesNothing) {
  open(Durability::kNormal);
  const uint64_t acknowledged = driver_.history().size();
  break_syncs(kStoreName);
  EXPECT_FALSE(driver_.engine().checkpoint().ok());
  expect_no_writes_but_reads(acknowledged);
  expect_reopen(acknowledged, acknowledged);
}

TEST_P(FailedSync, WithManyCommitsInFlightAcknowledgesNoneOfThem) {
  open(Durability::kFull);
  watch_.inject({.calls = kSyncCall,
                 .name_part = "-journal",
                 .nth = 20,
                 .count = ~uint64_t{0},
                 .error = EIO,
                 .effect = FaultEffect::kSyncLost});
  std::atomic<uint64_t> newest_acknowledged{0};
  std::atomic<uint64_t> oldest_unknown{~uint64_t{0}};
  std::atomic<int> unexpected{0};
  const auto commit_until_error = [&](int thread) {
    for (int i = 0;; ++i) {
      auto transaction = driver_.engine().begin();
      if (!transaction.ok()) return;
      const uint64_t sequence = (*transaction)->sequence();
      const std::string key = "thread" + std::to_string(thread);
      unexpected += (*transaction)->put(key, std::to_string(i)).ok() ? 0 : 1;
      const auto done = (*transaction)->commit();
      if (done.ok()) {
        uint64_t seen = newest_acknowledged;
        while (seen < sequence && !newest_acknowledged.compare_exchange_weak(seen, sequence)) {
        }
        continue;
      }
      if (done.status().code() == StatusCode::kUnknown) {
        uint64_t seen = oldest_unknown;
        while (seen > sequence && !oldest_unknown.compare_exchange_weak(seen, sequence)) {
        }
      } else if (done.status().code() != StatusCode::kIoError) {
        ++unexpected;
      }
      return;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) threads.emplace_back(commit_until_error, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(unexpected, 0);
  EXPECT_NE(oldest_unknown, ~uint64_t{0});
  EXPECT_LT(newest_acknowledged, oldest_unknown);

  watch_.inject_nothing();
  EXPECT_FALSE(driver_.close().ok());
  const auto reopened = engine::open_local(dir_.file(kStoreName), options_);
  ASSERT_TRUE(reopened.ok()) << reopened.status().to_string();
  EXPECT_GE((*reopened)->stats().last_sequence, newest_acknowledged);
}

INSTANTIATE_TEST_SUITE_P(Modes, FailedSync, testing::ValuesIn(kEveryJournalIo),
                         [](const auto& mode) { return name_of(mode.param); });

}  // namespace
}  // namespace lapse::fault
