#include "store/row.h"

#include <gtest/gtest.h>

namespace lapse::internal {
namespace {

using std::string_literals::operator""s;

Row decoded(std::string_view bytes) {
  Result<Row> row = decode_row("key", bytes);
  EXPECT_TRUE(row.ok()) << row.status().to_string();
  return row.ok() ? *row : Row();
}

TEST(RowTest, PlainRowIsOneByteAndTheValue) {
  Row row;
  row.value = "value";
  EXPECT_EQ(encode_row(row), "\0value"s);
  EXPECT_EQ(decoded("\0value"s).value, "value");
  EXPECT_EQ(decoded("\0"s).value, "");
}

TEST(RowTest, EveryCombinationOfFieldsComesBack) {
  for (const bool has_deadline : {false, true}) {
    for (const int fields : {0, 1, 2}) {
      Row row;
      row.value = "some value";
      if (has_deadline) row.deadline_ms = 1'700'000'000'000;
      if (fields > 0) row.revision = RevisionInfo{.written_at_ms = 5, .number = 77};
      if (fields > 1) {
        row.revision->ordinal = 300;
        row.revision->oldest_written_at_ms = 3;
        row.revision->oldest_number = 44;
      }
      const std::string bytes = encode_row(row);
      const Row back = decoded(bytes);
      EXPECT_EQ(back.value, row.value);
      EXPECT_EQ(back.deadline_ms, row.deadline_ms);
      EXPECT_EQ(back.written_at_ms(), fields > 0 ? 5 : 0);
      EXPECT_EQ(back.revision_number(), fields > 0 ? 77U : 0U);
      ASSERT_EQ(back.revision.has_value(), fields > 0);
      if (fields > 1) {
        EXPECT_EQ(back.revision->ordinal, 300U);
        EXPECT_EQ(back.revision->oldest_written_at_ms, 3);
        EXPECT_EQ(back.revision->oldest_number, 44U);
      }
    }
  }
}

TEST(RowTest, RowCutShortInItsHeaderIsCorrupt) {
  Row row;
  row.deadline_ms = 1;
  row.revision = RevisionInfo{.written_at_ms = 5, .number = 77, .ordinal = 300};
  const std::string bytes = encode_row(row);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(decode_row("key", std::string_view(bytes).substr(0, size)).status().code(),
              StatusCode::kCorrupt)
        << size;
}

TEST(RowTest, UnknownFieldsAreOfANewerVersion) {
  const Status status = decode_row("key", "\x08value").status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_NE(status.message().find("'key'"), std::string_view::npos);
}

TEST(RowTest, HistoryRowComesBack) {
  for (const int64_t deadline_ms : {kNever, int64_t{9}}) {
    HistoryRow row;
    row.value = "old";
    row.ending = Ending::kErased;
    row.ended_at_ms = 8;
    row.ordinal = 1000;
    row.deadline_ms = deadline_ms;
    const std::string bytes = encode_history_row(row);
    const Result<HistoryRow> back = decode_history_row("key", bytes);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->value, "old");
    EXPECT_EQ(back->ending, Ending::kErased);
    EXPECT_EQ(back->ended_at_ms, 8);
    EXPECT_EQ(back->ordinal, 1000U);
    EXPECT_EQ(back->deadline_ms, deadline_ms);
  }
}

TEST(RowTest, HistoryRowSaysWhereItsKeysHistoryBegins) {
  HistoryRow row;
  row.value = "old";
  row.oldest_written_at_ms = 5;
  row.oldest_number = 44;
  const std::string bytes = encode_history_row(row);
  const Result<HistoryRow> back = decode_history_row("key", bytes);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->value, "old");
  EXPECT_EQ(back->oldest_written_at_ms, 5);
  EXPECT_EQ(back->oldest_number, 44U);
}

TEST(RowTest, HistoryRowCutShortIsCorrupt) {
  HistoryRow row;
  row.deadline_ms = 9;
  row.oldest_number = 44;
  const std::string bytes = encode_history_row(row);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(decode_history_row("key", std::string_view(bytes).substr(0, size)).status().code(),
              StatusCode::kCorrupt)
        << size;
}

TEST(RowTest, KeysAreQuotedFitForAMessage) {
  EXPECT_EQ(internal::quoted("plain"), "'plain'");
  EXPECT_EQ(internal::quoted("a\0b'"s), "'a\\x00b\\x27'");
  EXPECT_EQ(internal::quoted(std::string(100, 'x')), "'" + std::string(64, 'x') + "'… (100 bytes)");
}

}  // namespace
}  // namespace lapse::internal
