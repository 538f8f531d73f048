// By which way records get into the journal, left to itself.

#include <gtest/gtest.h>

#include <algorithm>

#include "ended_store.h"
#include "fault_env.h"
#include "io_hooks.h"
#include "store_driver.h"

namespace lapse::fault {
namespace {

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

TEST(JournalIoTest, SmallRecordsAreStoredIntoTheMapping) {
  EXPECT_GE(mapped_stores(Durability::kNormal), 10);
}

TEST(JournalIoTest, WhatIsSyncedAtOnceIsWritten) { EXPECT_EQ(mapped_stores(Durability::kFull), 0); }

}  // namespace
}  // namespace lapse::fault
