#include "store/catalog.h"

#include <gtest/gtest.h>

namespace lapse::internal {
namespace {

using namespace std::chrono_literals;

TEST(CatalogTest, RecordComesBack) {
  FamilyRecord record;
  record.id = 300;
  record.identity = 7;
  record.used_ttl = true;
  record.options = {.counted = true,
                    .revisions = true,
                    .default_ttl = 5ms,
                    .max_ttl = 1h,
                    .require_ttl = true,
                    .jitter_percent = 10,
                    .history = HistoryPolicy{.keep_last = 5, .keep_for = 24h}};
  const Result<FamilyRecord> back = decode_record("name", encode_record(record));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->id, 300U);
  EXPECT_EQ(back->identity, 7U);
  EXPECT_TRUE(back->used_ttl);
  EXPECT_EQ(back->options, record.options);
}

TEST(CatalogTest, HistoryWithoutLimitsIsStillHistory) {
  FamilyRecord record;
  record.id = record.identity = 1;
  record.options.history.emplace();
  const Result<FamilyRecord> back = decode_record("name", encode_record(record));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->options, record.options);
}

TEST(CatalogTest, RecordCutShortIsCorrupt) {
  FamilyRecord record;
  record.id = record.identity = 300;
  const std::string bytes = encode_record(record);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(decode_record("name", std::string_view(bytes).substr(0, size)).status().code(),
              StatusCode::kCorrupt);
}

TEST(CatalogTest, UnknownSettingIsOfANewerVersion) {
  FamilyRecord record;
  record.id = record.identity = 1;
  const Status status = decode_record("name", encode_record(record) + "\x63\x01").status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_NE(status.message().find("'name'"), std::string_view::npos);
}

TEST(CatalogTest, NamesThatCannotBeAreRefused) {
  EXPECT_TRUE(check_family_name("a").ok());
  EXPECT_TRUE(check_family_name("_a").ok());
  EXPECT_TRUE(check_family_name(std::string(255, 'a')).ok());
  EXPECT_FALSE(check_family_name("").ok());
  EXPECT_FALSE(check_family_name("__a").ok());
  EXPECT_FALSE(check_family_name(std::string(256, 'a')).ok());
}

TEST(CatalogTest, PoliciesThatMakeNoSenseAreRefused) {
  EXPECT_TRUE(check_family_options({}).ok());
  EXPECT_FALSE(check_family_options({.default_ttl = -1ms}).ok());
  EXPECT_FALSE(check_family_options({.max_ttl = -1ms}).ok());
  EXPECT_FALSE(check_family_options({.default_ttl = 2ms, .max_ttl = 1ms}).ok());
  EXPECT_FALSE(check_family_options({.jitter_percent = -1}).ok());
  EXPECT_FALSE(check_family_options({.jitter_percent = 101}).ok());
  EXPECT_FALSE(check_family_options({.history = HistoryPolicy{.keep_for = -1ms}}).ok());
}

}  // namespace
}  // namespace lapse::internal
