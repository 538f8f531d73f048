#include "store/keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace lapse::internal {
namespace {

using std::string_literals::operator""s;

// In order.
const std::vector<FamilyId> kIds = {0,     1,     2,        246, 247,        248,        255,        256,
                                    65535, 65536, 1U << 24, ~0U, 1ULL << 32, 1ULL << 40, 1ULL << 56, ~0ULL};

// In order, with every way in which zeros and ends may meet.
const std::vector<std::string> kKeys = {""s,   "\0"s,  "\0\0"s,  "\0\x01"s,  "\0\xff"s,  "\x01"s,
                                        "a"s,  "a\0"s, "a\0\0"s, "a\0\x01"s, "a\0b"s,    "a\x01"s,
                                        "aa"s, "b"s,   "\xff"s,  "\xff\0"s,  "\xff\xff"s};

TEST(KeysTest, FamilyIdsAreInNumberOrder) {
  for (size_t i = 0; i + 1 < kIds.size(); ++i) EXPECT_LT(family_prefix(kIds[i]), family_prefix(kIds[i + 1]));
}

TEST(KeysTest, NoFamilyIdIsTheBeginningOfAnother) {
  for (const FamilyId a : kIds) {
    for (const FamilyId b : kIds) {
      if (a == b) continue;
      EXPECT_FALSE(family_prefix(a).starts_with(family_prefix(b))) << a << " " << b;
    }
  }
}

TEST(KeysTest, GarbageKeysGiveTheirIdBack) {
  for (const FamilyId id : kIds) EXPECT_EQ(parse_garbage_key(garbage_key(id)), id);
}

TEST(KeysTest, GarbageKeysThatAreNoneAreRefused) {
  EXPECT_EQ(parse_garbage_key("\0g"s), std::nullopt);
  EXPECT_EQ(parse_garbage_key("\0g\x01\x01"s), std::nullopt);
  EXPECT_EQ(parse_garbage_key("\0g\xf9\x01"s), std::nullopt);
  EXPECT_EQ(parse_garbage_key("\0c\x01"s), std::nullopt);
}

TEST(KeysTest, DataKeysAreInKeyOrder) {
  for (size_t i = 0; i + 1 < kKeys.size(); ++i) EXPECT_LT(data_key(7, kKeys[i]), data_key(7, kKeys[i + 1]));
}

TEST(KeysTest, ExpiryKeysAreInDeadlineOrderThenKeyOrder) {
  const std::vector<int64_t> deadlines = {1, 255, 256, 1'700'000'000'000, INT64_MAX};
  for (size_t i = 0; i + 1 < deadlines.size(); ++i)
    EXPECT_LT(expiry_key(7, deadlines[i], "\xff\xff"), expiry_key(7, deadlines[i + 1], ""));
  EXPECT_LT(expiry_key(7, 5, "a"), expiry_key(7, 5, "b"));
}

TEST(KeysTest, ExpiryKeysGiveTheirPartsBack) {
  for (const std::string& key : kKeys) {
    const std::string bytes = expiry_key(300, 1'700'000'000'000, key);
    const auto parsed = parse_expiry_key(std::string_view(bytes).substr(expiry_prefix(300).size()));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->deadline_ms, 1'700'000'000'000);
    EXPECT_EQ(parsed->key, key);
  }
  EXPECT_FALSE(parse_expiry_key("1234567"));
}

TEST(KeysTest, HistoryKeysAreInKeyOrderThenInTheOrderOfWriting) {
  for (size_t i = 0; i + 1 < kKeys.size(); ++i) {
    EXPECT_LT(history_key(7, kKeys[i], INT64_MAX, ~0ULL), history_key(7, kKeys[i + 1], 0, 0)) << i;
    EXPECT_LT(history_key(7, kKeys[i], 1, 9), history_key(7, kKeys[i], 2, 1));
    EXPECT_LT(history_key(7, kKeys[i], 1, 1), history_key(7, kKeys[i], 1, 2));
  }
}

TEST(KeysTest, NoHistoryOfAKeyLiesUnderThePrefixOfAnother) {
  for (const std::string& a : kKeys) {
    for (const std::string& b : kKeys) {
      if (a == b) continue;
      EXPECT_FALSE(history_key(7, a, 5, 5).starts_with(history_key_prefix(7, b)));
    }
  }
}

TEST(KeysTest, HistoryKeysGiveTheirPartsBack) {
  for (const std::string& key : kKeys) {
    const std::string bytes = history_key(300, key, 123, 456);
    const auto parsed = parse_history_key(std::string_view(bytes).substr(history_prefix(300).size()));
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->key, key);
    EXPECT_EQ(parsed->written_at_ms, 123);
    EXPECT_EQ(parsed->revision, 456U);
  }
}

TEST(KeysTest, HistoryKeysCutShortAreRefused) {
  const std::string bytes = history_key(7, "a\0b"s, 123, 456).substr(history_prefix(7).size());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parse_history_key(std::string_view(bytes).substr(0, size))) << size;
  EXPECT_FALSE(parse_history_key(bytes + "x"));
  EXPECT_FALSE(parse_history_key("a\0\x02"s + std::string(16, '\0')));
}

TEST(KeysTest, PrefixEndsBehindAllThatStartWithIt) {
  EXPECT_EQ(prefix_end("a"), "b");
  EXPECT_EQ(prefix_end("a\xff"), "b");
  EXPECT_EQ(prefix_end("a\xff"
                       "a"),
            "a\xff"
            "b");
  EXPECT_EQ(prefix_end(""), std::nullopt);
  EXPECT_EQ(prefix_end("\xff\xff"), std::nullopt);
}

}  // namespace
}  // namespace lapse::internal
