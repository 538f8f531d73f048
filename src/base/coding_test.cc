#include "base/coding.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/checksum.h"

namespace lapse {
namespace {

// Around every power of two, where encodings change length or sign.
std::vector<uint64_t> telling_numbers() {
  std::vector<uint64_t> numbers{0};
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t power = uint64_t{1} << bit;
    for (uint64_t number : {power - 1, power, power + 1}) {
      if (number > numbers.back()) numbers.push_back(number);
    }
  }
  numbers.push_back(UINT64_MAX);
  return numbers;
}

std::string varint(uint64_t value) {
  char bytes[10];
  return {bytes, static_cast<size_t>(store_varint(bytes, value) - bytes)};
}

TEST(CodingTest, LittleEndianComesBack) {
  char bytes[9];
  for (uint64_t number : telling_numbers()) {
    store_le<uint64_t>(bytes + 1, number);  // unaligned on purpose
    EXPECT_EQ(number, load_le<uint64_t>(bytes + 1));
    EXPECT_EQ(static_cast<uint32_t>(number), load_le<uint32_t>(bytes + 1));
  }
  store_le<uint32_t>(bytes, 0x01020304);
  EXPECT_EQ(std::string_view("\x04\x03\x02\x01"), std::string_view(bytes, 4));
}

TEST(CodingTest, BigEndianComesBack) {
  char bytes[9];
  for (uint64_t number : telling_numbers()) {
    store_be64(bytes + 1, number);
    EXPECT_EQ(number, load_be64(bytes + 1));
  }
  store_be64(bytes, 0x0102030405060708);
  EXPECT_EQ(std::string_view("\x01\x02\x03\x04\x05\x06\x07\x08"), std::string_view(bytes, 8));
}

TEST(CodingTest, BigEndianByteOrderIsNumberOrder) {
  std::string before;
  for (uint64_t number : telling_numbers()) {
    std::string bytes(8, '\0');
    store_be64(bytes.data(), number);
    EXPECT_LT(before, bytes) << number;
    before = bytes;
  }
}

TEST(CodingTest, VarintComesBack) {
  for (uint64_t number : telling_numbers()) {
    const std::string bytes = varint(number);
    EXPECT_EQ(varint_size(number), bytes.size());
    const std::string followed = bytes + "rest";
    std::string_view in = followed;
    EXPECT_EQ(number, take_varint(&in));
    EXPECT_EQ("rest", in);
  }
}

TEST(CodingTest, VarintSizes) {
  EXPECT_EQ(1U, varint_size(0));
  EXPECT_EQ(1U, varint_size(127));
  EXPECT_EQ(2U, varint_size(128));
  EXPECT_EQ(9U, varint_size((uint64_t{1} << 63) - 1));
  EXPECT_EQ(10U, varint_size(UINT64_MAX));
}

TEST(CodingTest, VarintCutShortIsNothing) {
  for (uint64_t number : telling_numbers()) {
    const std::string bytes = varint(number);
    for (size_t size = 0; size < bytes.size(); ++size) {
      std::string_view in(bytes.data(), size);
      EXPECT_EQ(std::nullopt, take_varint(&in)) << number;
      EXPECT_EQ(size, in.size()) << "what cannot be read is not taken";
    }
  }
}

TEST(CodingTest, VarintOver64BitsIsNothing) {
  for (const char* bytes :
       {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x01",
        "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"}) {
    std::string_view in = bytes;
    EXPECT_EQ(std::nullopt, take_varint(&in));
  }
}

TEST(ChecksumTest, DependsOnEveryBitAndOnTheSeed) {
  std::string bytes(100, 'x');
  const uint64_t before = checksum(bytes, 1);
  EXPECT_EQ(before, checksum(std::string(100, 'x'), 1));
  EXPECT_NE(before, checksum(bytes, 2));
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
    EXPECT_NE(before, checksum(bytes, 1)) << bit;
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
  }
}

TEST(ChecksumTest, OfTwoPiecesDependsOnWhereTheFirstEnds) {
  EXPECT_NE(checksum("ab", "c", 1), checksum("a", "bc", 1));
  EXPECT_NE(checksum("", "abc", 1), checksum("abc", "", 1));
  EXPECT_EQ(checksum("ab", "c", 1), checksum("ab", "c", 1));
}

// Formats on disk rest on it: it may never change.
TEST(ChecksumTest, IsXxh3) { EXPECT_EQ(0x2d06800538d394c2U, checksum("", 0)); }

}  // namespace
}  // namespace lapse
