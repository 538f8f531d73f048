#include "engine/local/expected_rows.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

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

// They share their last bytes, and so a place.
TEST(ExpectedRows, KeysThatAreAlikePushEachOtherOut) {
  ExpectedRows rows;
  rows.remember(1, "a:12345678", "first");
  rows.remember(1, "b:12345678", "second");
  EXPECT_EQ(nullptr, rows.find(1, "a:12345678"));
  ASSERT_NE(nullptr, rows.find(1, "b:12345678"));
  EXPECT_EQ("second", rows.find(1, "b:12345678")->value());
  rows.remember(1, "b:12345678", std::nullopt);
  EXPECT_FALSE(rows.find(1, "b:12345678")->has_value());
}

TEST(ExpectedRows, LongKeysAreNotRemembered) {
  ExpectedRows rows;
  const std::string longest(511, 'k');
  rows.remember(1, longest, "row");
  EXPECT_EQ(nullptr, rows.find(1, longest));
}

TEST(ExpectedRows, EachThreadHasItsOwn) {
  ExpectedRows::of_thread().remember(1, "of one thread", "row");
  std::thread([] { EXPECT_EQ(nullptr, ExpectedRows::of_thread().find(1, "of one thread")); }).join();
  EXPECT_NE(nullptr, ExpectedRows::of_thread().find(1, "of one thread"));
}

}  // namespace
}  // namespace lapse::engine
