#include "engine/local/expected_rows.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lapse::engine {
namespace {

TEST(ExpectedRows, FindsARowUnderItsTreeAndKeyOnly) {
  ExpectedRows rows;
  rows.remember(1, "key", "row");
  ASSERT_NE(nullptr, rows.find(1, "key"));
  EXPECT_EQ("row", rows.find(1, "key")->value());
  EXPECT_EQ(nullptr, rows.find(2, "key"));
  EXPECT_EQ(nullptr, rows.find(1, "other"));
  EXPECT_EQ(nullptr, rows.find(1, "ke"));
  EXPECT_EQ(nullptr, rows.find(1, ""));
}

TEST(ExpectedRows, KnowsThatThereIsNoRow) {
  ExpectedRows rows;
  rows.remember(1, "key", std::nullopt);
  ASSERT_NE(nullptr, rows.find(1, "key"));
  EXPECT_FALSE(rows.find(1, "key")->has_value());
}

TEST(ExpectedRows, OfManyKeysSomeAreForgottenAndNoneMistaken) {
  ExpectedRows rows;
  const auto key_of = [](int i) { return "user:" + std::to_string(i) + ":settings"; };
  std::vector<std::string> values;
  for (int i = 0; i < 1000; ++i) values.push_back(std::to_string(i));
  for (int i = 0; i < 1000; ++i) rows.remember(1, key_of(i), values[static_cast<size_t>(i)]);
  int known = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto* row = rows.find(1, key_of(i));
    known += row != nullptr;
    EXPECT_TRUE(row == nullptr || **row == std::to_string(i));
  }
  EXPECT_GT(known, 64);
}

TEST(ExpectedRows, OnlyTheLastTreeIsKnown) {
  ExpectedRows rows;
  rows.remember(1, "key", "of one");
  rows.remember(2, "other", "of another");
  EXPECT_EQ(nullptr, rows.find(1, "key"));
  ASSERT_NE(nullptr, rows.find(2, "other"));
  EXPECT_EQ(nullptr, rows.find(2, "key"));
}

TEST(ExpectedRows, LongKeysAreNotRemembered) {
  ExpectedRows rows;
  const std::string longest(511, 'k');
  rows.remember(1, longest, "row");
  EXPECT_EQ(nullptr, rows.find(1, longest));
}

}  // namespace
}  // namespace lapse::engine
