// What an open may not take for granted about the files that it finds.

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "ended_store.h"
#include "fault_env.h"
#include "file_image.h"
#include "io_hooks.h"
#include "store_driver.h"

namespace lapse::fault {
namespace {

using engine::LocalOptions;

class Reopen : public testing::Test {
 protected:
  // Leaves a journal behind, closed cleanly.
  void make_store() {
    ASSERT_TRUE(driver_.open(options_).ok());
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(driver_.commit_random().ok());
    ASSERT_TRUE(driver_.close().ok());
    commits_ = driver_.history().size();
  }

  const ScratchDir dir_;
  StoreDriver driver_{dir_.file(kStoreName), 1};
  LocalOptions options_{.durability = Durability::kFull};
  uint64_t commits_ = 0;
};

// Else a journal would be taken for absent, and written over by the next commit.
TEST_F(Reopen, AnErrorWhileTheDirectoryIsListedIsNotItsEnd) {
  make_store();
  IoWatch watch(dir_.path());
  for (uint64_t nth = 1;; ++nth) {
    watch.inject({.calls = kListCall, .nth = nth, .error = EIO});
    const Status status = driver_.open(options_);
    const bool failed = watch.failed() > 0;
    watch.inject_nothing();
    if (!failed) {
      ASSERT_TRUE(status.ok()) << status.to_string();
      EXPECT_GT(nth, 3U);  // the store, its journal, and the end
      break;
    }
    EXPECT_EQ(status.code(), StatusCode::kIoError) << status.to_string();
  }
  EXPECT_EQ(driver_.history().size(), commits_);
  EXPECT_TRUE(driver_.commit_random().ok());
  EXPECT_TRUE(driver_.check_state().ok());
}

// A copy of a closed store is in the page cache only, and so is what was restored.
TEST_F(Reopen, SyncsTheJournalsItFindsBeforeAnythingIsBuiltOnThem) {
  make_store();
  IoWatch watch(dir_.path());
  ASSERT_TRUE(driver_.open(options_).ok());
  const IoRecord record = watch.take();
  std::vector<std::string> names;
  for (const auto& [name, bytes] : record.initial) names.push_back(name);  // file 0, 1, …
  std::vector<std::string> synced;
  for (const IoEvent& event : record.events) {
    if (event.kind == IoEventKind::kSynced && event.file >= 0) synced.push_back(names.at(event.file));
  }
  for (const std::string& name : names) {
    if (name.find("-journal") == std::string::npos) continue;
    EXPECT_NE(std::find(synced.begin(), synced.end(), name), synced.end()) << name;
  }
  EXPECT_FALSE(synced.empty());
}

// Else it would be two files to the journal, one written over by the other.
TEST_F(Reopen, AFileNamedAlmostLikeAJournalIsNone) {
  make_store();
  const std::string journal = dir_.file(kStoreName) + "-journal0";
  write_whole_file(journal + "0", read_whole_file(journal));
  ASSERT_TRUE(driver_.open(options_).ok());
  EXPECT_EQ(driver_.history().size(), commits_);
  EXPECT_EQ(driver_.engine().stats().journal_files, 1U);
}

}  // namespace
}  // namespace lapse::fault
