// One test for each clause of journal_format.h and journal_recovery.h.

#include "engine/local/journal_recovery.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lapse::engine {
namespace {

constexpr StoreId kStore{'s', 't', 'o', 'r', 'e'};

// Builds journals as the writer does: records chained over files, each naming what was synced.
class JournalRecoveryTest : public testing::Test {
 protected:
  struct BuiltFile {
    std::string name;
    std::string bytes;
    JournalHeader header;
    std::vector<size_t> offsets;  // of its records
  };

  BuiltFile& begin_file(uint64_t synced) {
    JournalHeader header{.store_id = kStore,
                         .salt = 1000 + next_file_,
                         .file_number = next_file_,
                         .first_sequence = sequence_ + 1,
                         .chain = chain_,
                         .synced_sequence = synced,
                         .clean = false};
    files_.push_back({"journal" + std::to_string(next_file_ - 1), "", header, {}});
    write_headers(&files_.back(), header);
    ++next_file_;
    return files_.back();
  }

  static void write_headers(BuiltFile* file, const JournalHeader& header) {
    const std::string bytes = header.encode();
    if (file->bytes.size() < kJournalRecordsOffset) file->bytes.resize(kJournalRecordsOffset);
    for (size_t copy : {0, 1}) file->bytes.replace(copy * kJournalHeaderStride, bytes.size(), bytes);
  }

  void add_record(uint64_t synced, size_t value_bytes = 20) {
    BuiltFile& file = files_.back();
    std::string record(kRecordHeaderBytes, '\0');
    append_write(&record, {"key" + std::to_string(sequence_ + 1), std::string(value_bytes, 'v')});
    chain_ = seal_record(&record, file.header.salt, ++sequence_, synced, chain_);
    file.offsets.push_back(file.bytes.size());
    file.bytes += record;
  }

  // Zeroed space behind the last record, as a preallocated file has it.
  void add_room() { files_.back().bytes.resize(files_.back().bytes.size() + 512); }

  void close_cleanly(BuiltFile* file) {
    file->header.clean = true;
    file->header.synced_sequence = sequence_;
    write_headers(file, file->header);
  }

  static void flip(BuiltFile* file, size_t offset) {
    file->bytes[offset] = static_cast<char>(file->bytes[offset] ^ 1);
  }

  ReplayEnd replay(ReplayStart start = {.store_id = kStore}) {
    replayed_.clear();
    std::vector<JournalImage> images;
    for (const BuiltFile& file : files_) images.push_back({file.name, file.bytes});
    Result<ReplayEnd> end = replay_journal(images, start, [this](const Record& record) {
      replayed_.push_back(record.sequence);
      return Status();
    });
    status_ = end.status();
    return end.ok() ? std::move(*end) : ReplayEnd();
  }

  std::vector<BuiltFile> files_;
  uint64_t next_file_ = 1;
  uint64_t sequence_ = 0;
  uint64_t chain_ = 0;
  std::vector<uint64_t> replayed_;
  Status status_;
};

TEST_F(JournalRecoveryTest, NoFilesIsAnEmptyCleanJournal) {
  const ReplayEnd end = replay({.store_id = kStore, .drained_sequence = 7, .first_file = 3, .chain = 9});
  EXPECT_TRUE(end.clean);
  EXPECT_EQ(end.last_sequence, 7U);
  EXPECT_EQ(end.next_file, 3U);
}

TEST_F(JournalRecoveryTest, ChainGoesOnFromFileToFileInWhateverOrderTheyLie) {
  begin_file(0);
  add_record(0);
  add_record(1);
  add_room();
  begin_file(2);
  add_record(2);
  add_room();
  std::swap(files_[0], files_[1]);
  const ReplayEnd end = replay();
  EXPECT_EQ(replayed_, (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_TRUE(end.damage.ok());
  EXPECT_FALSE(end.clean);
  EXPECT_EQ(end.next_file, 3U);
  EXPECT_EQ(end.live, (std::vector<size_t>{1, 0}));
}

TEST_F(JournalRecoveryTest, CleanMarkCountsOnlyIfNothingFollows) {
  begin_file(0);
  add_record(0);
  close_cleanly(&files_[0]);
  EXPECT_TRUE(replay().clean);
  add_record(1);
  EXPECT_FALSE(replay().clean);
}

TEST_F(JournalRecoveryTest, FilesThatTheTreeHasAreIgnored) {
  begin_file(0);
  add_record(0);
  const uint64_t chain = chain_;
  begin_file(1);
  add_record(1);
  flip(&files_[0], files_[0].offsets[0]);
  const ReplayEnd end = replay({.store_id = kStore, .drained_sequence = 1, .first_file = 2, .chain = chain});
  EXPECT_EQ(replayed_, std::vector<uint64_t>{2});
  EXPECT_TRUE(end.damage.ok());
}

TEST_F(JournalRecoveryTest, CutAtEveryByteOfTheLastRecordsGivesTheLastWholeOne) {
  begin_file(0);
  for (int i = 0; i < 4; ++i) add_record(0, 11 + i);
  const std::string whole = files_[0].bytes;
  for (size_t cut = files_[0].offsets[1]; cut < whole.size(); ++cut) {
    files_[0].bytes = whole.substr(0, cut);
    uint64_t expected = 1;
    for (size_t i = 2; i < 4; ++i) expected += cut >= files_[0].offsets[i];
    // Padding is not part of what a record's checksum covers.
    const ReplayEnd end = replay();
    ASSERT_TRUE(status_.ok());
    ASSERT_TRUE(end.damage.ok()) << end.damage.to_string();
    ASSERT_GE(end.last_sequence, expected) << "cut at " << cut;
    ASSERT_LE(end.last_sequence, expected + 1) << "cut at " << cut;
    files_[0].bytes = whole.substr(0, cut) + std::string(whole.size() - cut, '\0');
    ASSERT_TRUE(replay().damage.ok());
  }
}

TEST_F(JournalRecoveryTest, TornTailIsCutEvenIfAGoodRecordStandsBehindIt) {
  begin_file(0);
  for (int i = 0; i < 5; ++i) add_record(1);  // only commit 1 was synced
  flip(&files_[0], files_[0].offsets[2] + 50);
  const ReplayEnd end = replay();
  EXPECT_TRUE(end.damage.ok());
  EXPECT_EQ(end.last_sequence, 2U);
}

TEST_F(JournalRecoveryTest, RecordThatALaterRecordKnowsSyncedIsDamage) {
  begin_file(0);
  for (int i = 0; i < 5; ++i) add_record(i);
  flip(&files_[0], files_[0].offsets[2] + 50);  // commit 3, which the record of commit 5 saw synced
  const ReplayEnd end = replay();
  EXPECT_EQ(end.damage.code(), StatusCode::kCorrupt);
  EXPECT_NE(end.damage.message().find("journal0"), std::string::npos) << end.damage.to_string();
  EXPECT_NE(end.damage.message().find(std::to_string(files_[0].offsets[2])), std::string::npos)
      << end.damage.to_string();
  EXPECT_EQ(end.last_sequence, 2U) << "what stands before the damage is there for a salvage";
  EXPECT_EQ(end.damaged, std::vector<size_t>{0});
}

TEST_F(JournalRecoveryTest, LastSyncGroupAfterAnUncleanEndPassesForATornTail) {
  begin_file(0);
  for (int i = 0; i < 3; ++i) add_record(i);
  flip(&files_[0], files_[0].offsets[2] + 50);
  EXPECT_TRUE(replay().damage.ok());
}

TEST_F(JournalRecoveryTest, AfterACleanCloseEveryFlippedRecordByteIsDamage) {
  begin_file(0);
  for (int i = 0; i < 3; ++i) add_record(0, 22);
  close_cleanly(&files_[0]);
  const std::string whole = files_[0].bytes;
  for (size_t offset = kJournalRecordsOffset; offset < whole.size(); ++offset) {
    files_[0].bytes = whole;
    flip(&files_[0], offset);
    const ReplayEnd end = replay();
    const bool padding = end.last_sequence == 3;
    ASSERT_EQ(end.damage.ok(), padding) << "byte " << offset;
  }
}

TEST_F(JournalRecoveryTest, FlipInOneHeaderCopyIsMadeGoodByTheOther) {
  begin_file(0);
  add_record(0);
  close_cleanly(&files_[0]);
  const std::string whole = files_[0].bytes;
  for (size_t copy : {0, 1}) {
    for (size_t offset = 0; offset < kJournalHeaderCopyBytes; ++offset) {
      files_[0].bytes = whole;
      flip(&files_[0], copy * kJournalHeaderStride + offset);
      const ReplayEnd end = replay();
      ASSERT_TRUE(status_.ok()) << status_.to_string();
      ASSERT_TRUE(end.damage.ok());
      ASSERT_EQ(end.last_sequence, 1U);
    }
  }
}

TEST_F(JournalRecoveryTest, MissingFileIsDamageIfItsRecordsWereSynced) {
  begin_file(0);
  add_record(0);
  begin_file(1);
  add_record(1);
  begin_file(2);
  add_record(2);
  files_.erase(files_.begin() + 1);
  const ReplayEnd end = replay();
  EXPECT_EQ(end.last_sequence, 1U);
  EXPECT_EQ(end.damage.code(), StatusCode::kCorrupt);
}

TEST_F(JournalRecoveryTest, DrainThatHadBegunConvictsAShortJournal) {
  begin_file(0);
  add_record(0);
  ReplayStart start{.store_id = kStore};
  start.synced_sequence = 2;  // the tree holds some of commit 2
  EXPECT_EQ(replay(start).damage.code(), StatusCode::kCorrupt);
}

TEST_F(JournalRecoveryTest, OldRecordsOfAReusedFileNeverStand) {
  begin_file(0);
  for (int i = 0; i < 3; ++i) add_record(0);
  JournalHeader reused = files_[0].header;
  reused.salt ^= 1;
  write_headers(&files_[0], reused);
  EXPECT_EQ(replay().last_sequence, 0U);
}

TEST_F(JournalRecoveryTest, HeaderTornWhileAFileIsPutToUseIsNoJournalYet) {
  begin_file(0);
  std::string& bytes = files_[0].bytes;
  for (size_t keep : {0, 3, 8, 40, 87}) {
    bytes.assign(kJournalRecordsOffset, '\0');
    bytes.replace(0, keep, files_[0].header.encode().substr(0, keep));
    const ReplayEnd end = replay();
    EXPECT_TRUE(status_.ok()) << status_.to_string();
    EXPECT_TRUE(end.clean);
  }
  bytes.clear();
  EXPECT_TRUE(replay().clean);
}

TEST_F(JournalRecoveryTest, OfTwoFilesWithOneNumberTheOneWithRecordsCounts) {
  begin_file(0);
  begin_file(0);
  files_[0].header.file_number = 1;
  files_[1].header.file_number = 1;
  for (BuiltFile& file : files_) {
    file.bytes.clear();
    write_headers(&file, file.header);
  }
  add_record(0);
  EXPECT_EQ(replay().last_sequence, 1U);
  std::swap(files_[0], files_[1]);
  EXPECT_EQ(replay().last_sequence, 1U);
}

// A file that could not be put to use keeps the number that another one got once more had been appended.
TEST_F(JournalRecoveryTest, OfTwoFilesWithOneNumberAndNoRecordsTheOneThatGoesOnCounts) {
  begin_file(0);
  add_record(0);
  const BuiltFile abandoned = begin_file(1);
  files_.pop_back();
  --next_file_;
  add_record(1);
  begin_file(2);
  begin_file(2);
  add_record(2);
  for (const size_t place : {0, 1, 2, 3}) {
    files_.insert(files_.begin() + static_cast<ptrdiff_t>(place), abandoned);
    const ReplayEnd end = replay();
    EXPECT_TRUE(end.damage.ok()) << end.damage.to_string();
    EXPECT_EQ(end.last_sequence, 3U) << "abandoned file in place " << place;
    EXPECT_EQ(end.live.size(), 3U);
    EXPECT_FALSE(end.clean);
    files_.erase(files_.begin() + static_cast<ptrdiff_t>(place));
  }
}

TEST_F(JournalRecoveryTest, ForeignFilesAreRefusedByName) {
  begin_file(0);
  files_[0].bytes = "SQLite format 3";
  files_[0].bytes.resize(8192, 'x');
  (void)replay();
  EXPECT_EQ(status_.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status_.message().find("journal0"), std::string::npos);
}

TEST_F(JournalRecoveryTest, JournalOfAnotherStoreIsRefused) {
  begin_file(0);
  add_record(0);
  (void)replay({.store_id = StoreId{'o', 't', 'h', 'e', 'r'}});
  EXPECT_EQ(status_.code(), StatusCode::kInvalidArgument);
}

TEST(JournalFormatTest, LengthIsCheckedAgainstTheFileBeforeAnythingElse) {
  std::string record(kRecordHeaderBytes, '\0');
  append_write(&record, {"key", "value"});
  (void)seal_record(&record, 5, 1, 0, 0);
  ASSERT_TRUE(decode_record(record, 0, 5).has_value());
  EXPECT_FALSE(decode_record(record, 0, 6).has_value()) << "another salt";
  EXPECT_FALSE(decode_record(record, 8, 5).has_value());
  EXPECT_FALSE(decode_record(record, record.size() + 8, 5).has_value());
  record[7] = '\x7f';  // claims 2 GB
  EXPECT_FALSE(decode_record(record, 0, 5).has_value());
}

TEST(JournalFormatTest, WritesComeBackAsTheyWere) {
  std::string payload;
  append_write(&payload, {"", ""});
  append_write(&payload, {"gone", std::nullopt});
  append_write(&payload, {std::string(300, 'k'), std::string(70000, 'v')});
  std::string_view rest = payload;
  EXPECT_EQ(take_write(&rest)->value, "");
  EXPECT_FALSE(take_write(&rest)->value.has_value());
  EXPECT_EQ(take_write(&rest)->value->size(), 70000U);
  EXPECT_TRUE(rest.empty());
  EXPECT_FALSE(take_write(&rest).has_value());
}

TEST(JournalFormatTest, NonsenseIsNoWrite) {
  for (const std::string bytes :
       {"\x03", "\x01", "\x01\x05key", "\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", "\x02"}) {
    std::string_view rest = bytes;
    EXPECT_FALSE(take_write(&rest).has_value());
  }
}

}  // namespace
}  // namespace lapse::engine
