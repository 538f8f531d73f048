#include "engine/local/write_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace lapse::engine {
namespace {

constexpr uint64_t kAll = ~uint64_t{0};

std::string value_at(const WriteBuffer& buffer, std::string_view key, uint64_t sequence) {
  const WriteBuffer::Version* version = buffer.find(key, sequence);
  if (version == nullptr) return "(none)";
  return version->erased ? "(erased)" : std::string(version->value());
}

std::vector<std::string> keys_at(const WriteBuffer& buffer, uint64_t sequence) {
  std::vector<std::string> keys;
  WriteBuffer::Iterator at(&buffer, sequence);
  for (at.first(); at.valid(); at.next()) keys.emplace_back(at.key());
  return keys;
}

// With and without the hash index: what a store's buffer and a transaction's are.
class WriteBufferTest : public testing::TestWithParam<size_t> {
 protected:
  WriteBuffer buffer_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(, WriteBufferTest, testing::Values(0, 1 << 20),
                         [](const auto& size) { return size.param == 0 ? "Plain" : "Indexed"; });

TEST_P(WriteBufferTest, ReaderSeesTheNewestVersionAtItsSequence) {
  buffer_.insert("key", 3, "three");
  buffer_.insert("key", 5, std::nullopt);
  buffer_.insert("key", 9, "nine");
  EXPECT_EQ(value_at(buffer_, "key", 2), "(none)");
  EXPECT_EQ(value_at(buffer_, "key", 3), "three");
  EXPECT_EQ(value_at(buffer_, "key", 4), "three");
  EXPECT_EQ(value_at(buffer_, "key", 5), "(erased)");
  EXPECT_EQ(value_at(buffer_, "key", kAll), "nine");
  EXPECT_EQ(value_at(buffer_, "other", kAll), "(none)");
  EXPECT_EQ(buffer_.keys(), 1U);
}

TEST_P(WriteBufferTest, KeysThatShareTheirFirstBytesKeepTheirOrder) {
  const std::vector<std::string> sorted = {"",          std::string(1, '\0'), std::string(9, '\0'),
                                           "12345678",  "1234567890123456",   "1234567890123456a",
                                           "12345678a", "12345678ab",         "12345679",
                                           "\xff\xff"};
  for (size_t i = 0; i < sorted.size(); ++i) buffer_.insert(sorted[(i * 3) % sorted.size()], i + 1, "v");
  EXPECT_EQ(keys_at(buffer_, kAll), sorted);
}

TEST_P(WriteBufferTest, IteratorSkipsKeysThatAreTooNewBothWays) {
  buffer_.insert("a", 5, "new");
  buffer_.insert("b", 1, "old");
  buffer_.insert("c", 5, "new");
  buffer_.insert("d", 2, "old");
  buffer_.insert("e", 5, "new");
  EXPECT_EQ(keys_at(buffer_, 2), (std::vector<std::string>{"b", "d"}));
  WriteBuffer::Iterator at(&buffer_, 2);
  at.last();
  ASSERT_TRUE(at.valid());
  EXPECT_EQ(at.key(), "d");
  at.prev();
  ASSERT_TRUE(at.valid());
  EXPECT_EQ(at.key(), "b");
  at.prev();
  EXPECT_FALSE(at.valid());
  at.seek("bb");
  ASSERT_TRUE(at.valid());
  EXPECT_EQ(at.key(), "d");
}

TEST_P(WriteBufferTest, MatchesAMapUnderRandomInserts) {
  std::map<std::string, std::string> model;
  std::mt19937_64 random(7);
  for (uint64_t sequence = 1; sequence <= 20000; ++sequence) {
    const std::string key = std::to_string(random() % 5000);
    const std::string value = std::to_string(random());
    buffer_.insert(key, sequence, value);
    model[key] = value;
  }
  WriteBuffer::Iterator at(&buffer_, kAll);
  at.first();
  for (const auto& [key, value] : model) {
    ASSERT_TRUE(at.valid());
    ASSERT_EQ(at.key(), key);
    ASSERT_EQ(at.version().value(), value);
    ASSERT_EQ(value_at(buffer_, key, kAll), value);
    at.next();
  }
  EXPECT_FALSE(at.valid());
}

TEST_P(WriteBufferTest, EachNewIteratorSeesTheKeysInsertedSinceTheLast) {
  buffer_.insert("b", 1, "first");
  EXPECT_EQ(keys_at(buffer_, kAll), std::vector<std::string>{"b"});
  buffer_.insert("c", 2, std::nullopt);
  buffer_.insert("a", 3, "third");
  EXPECT_EQ(keys_at(buffer_, kAll), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(keys_at(buffer_, 2), (std::vector<std::string>{"b", "c"}));
  buffer_.insert("bb", 4, "fourth");
  WriteBuffer::Iterator at(&buffer_, kAll);
  at.seek("bb");
  ASSERT_TRUE(at.valid());
  EXPECT_EQ(at.key(), "bb");
  at.last();
  ASSERT_TRUE(at.valid());
  EXPECT_EQ(at.key(), "c");
  EXPECT_TRUE(at.version().erased);
}

TEST_P(WriteBufferTest, IteratorSeesTheVersionsOfAKeyWrittenAgainBeforeItWasInOrder) {
  buffer_.insert("key", 1, "first");
  buffer_.insert("key", 2, std::nullopt);
  buffer_.insert("key", 3, "third");
  const std::vector<std::string> expected = {"", "first", "", "third"};
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    WriteBuffer::Iterator at(&buffer_, sequence);
    at.first();
    ASSERT_TRUE(at.valid());
    EXPECT_EQ(at.version().sequence, sequence);
    EXPECT_EQ(at.version().erased, sequence == 2);
    EXPECT_EQ(at.version().value(), expected[sequence]);
  }
  EXPECT_EQ(keys_at(buffer_, 0), std::vector<std::string>{});
}

TEST_P(WriteBufferTest, IteratorStaysRightWhileOthersOrderAroundIt) {
  for (uint64_t i = 0; i < 100; ++i) buffer_.insert(std::to_string(1000 + 10 * i), i + 1, "old");
  WriteBuffer::Iterator old(&buffer_, 100);
  old.first();
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(old.valid());
    ASSERT_EQ(old.key(), std::to_string(1000 + 10 * i));
    buffer_.insert(std::to_string(1000 + 10 * i + 5), 101 + i, "new");
    ASSERT_EQ(keys_at(buffer_, kAll).size(), 101 + i);
    old.next();
  }
  EXPECT_FALSE(old.valid());
  old.last();
  ASSERT_TRUE(old.valid());
  EXPECT_EQ(old.key(), "1990");
}

// More than the writer leaves in no order; and order that comes from the keys alone, beyond their first bytes.
TEST_P(WriteBufferTest, ManyKeysAreInOrderWhicheverWayTheyCame) {
  constexpr uint64_t kKeys = 50021;
  const auto key_of = [](uint64_t i) { return "prefix:" + std::to_string(100000 + i); };
  for (uint64_t i = 0; i < kKeys; ++i) buffer_.insert(key_of(i * 7919 % kKeys), i + 1, "v");
  EXPECT_EQ(buffer_.keys(), kKeys);
  WriteBuffer::Iterator at(&buffer_, kAll);
  at.first();
  for (uint64_t i = 0; i < kKeys; ++i, at.next()) {
    ASSERT_TRUE(at.valid());
    ASSERT_EQ(at.key(), key_of(i));
  }
  EXPECT_FALSE(at.valid());
}

// Where nobody iterates, order is left until many have come; and whoever comes then finds it.
TEST(WriteBufferOrderTest, IsCompleteWheneverItIsAskedForTheFirstTime) {
  for (const uint64_t keys : {1'000U, 100'000U, 300'000U}) {
    WriteBuffer buffer(1 << 20, WriteBuffer::OrderedBy::kThread, /*iterated=*/false);
    for (uint64_t i = 0; i < keys; ++i) {
      buffer.insert(std::to_string(i * 7919 % keys), i + 1, "v");
      if (i % 1000 == 0) buffer.order_if_many();
    }
    EXPECT_FALSE(buffer.was_iterated());
    const std::vector<std::string> found = keys_at(buffer, kAll);
    EXPECT_EQ(keys, found.size());
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
    EXPECT_TRUE(buffer.was_iterated());
  }
}

TEST(WriteBufferUndoTest, UndoBringsBackWhatWasThere) {
  WriteBuffer buffer(0);
  buffer.insert("key", 1, "first");
  WriteBuffer::Entry* second = buffer.insert("key", 2, "second");
  WriteBuffer::Entry* other = buffer.insert("other", 3, "third");
  buffer.undo(other);
  EXPECT_EQ(keys_at(buffer, kAll), std::vector<std::string>{"key"});
  buffer.undo(second);
  EXPECT_EQ(value_at(buffer, "key", kAll), "first");
  buffer.reset();
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(value_at(buffer, "key", kAll), "(none)");
}

TEST(WriteBufferPrivateTest, FindsAndVisitsEveryKeyHoweverManyThereAre) {
  WriteBuffer buffer(0);
  for (const size_t keys : {10U, 3'000U, 5U, 40'000U, 1U}) {
    std::map<std::string, std::string> expected;
    for (size_t i = 0; i < keys; ++i) {
      const std::string key = "key" + std::to_string(i * 7919 % keys);
      buffer.insert(key, i, std::to_string(i));
      expected[key] = std::to_string(i);
      if (i == keys / 2) keys_at(buffer, kAll);  // brings what is there into order
    }
    std::map<std::string, std::string> visited;
    buffer.for_each([&](std::string_view key, const WriteBuffer::Version& version) {
      EXPECT_TRUE(visited.emplace(key, version.value()).second);
    });
    EXPECT_EQ(expected, visited);
    for (const auto& [key, value] : expected) ASSERT_EQ(value, value_at(buffer, key, kAll));
    buffer.reset();
    EXPECT_EQ("(none)", value_at(buffer, "key0", kAll));
  }
}

TEST(WriteBufferPrivateTest, AnIteratorSeesAtItsNextSeekWhatWasInsertedSince) {
  WriteBuffer buffer(0);
  buffer.insert("b", 1, "1");
  WriteBuffer::Iterator at(&buffer, kAll);
  at.first();
  EXPECT_EQ("b", at.key());
  buffer.insert("a", 2, "2");
  at.seek("a");
  EXPECT_EQ("a", at.key());
}

// Under ThreadSanitizer this is what shows that readers need no lock.
TEST(WriteBufferThreadTest, ReadersSeeEverythingUpToThePublishedSequence) {
  WriteBuffer buffer(1 << 20);
  std::atomic<uint64_t> published{0};
  constexpr uint64_t kLast = 20000;
  const auto key_of = [](uint64_t i) { return std::to_string(i * 7919 % 1000003); };
  std::vector<std::thread> readers;
  std::atomic<bool> failed{false};
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    readers.emplace_back([&, seed] {
      std::mt19937_64 random(seed);
      while (published.load(std::memory_order_acquire) < kLast && !failed) {
        const uint64_t sequence = published.load(std::memory_order_acquire);
        if (sequence == 0) continue;
        const uint64_t wanted = 1 + random() % sequence;
        if (value_at(buffer, key_of(wanted), sequence) != std::to_string(wanted)) failed = true;
        WriteBuffer::Iterator at(&buffer, sequence);
        at.seek(key_of(wanted));
        if (!at.valid() || at.key() != key_of(wanted)) failed = true;
      }
    });
  }
  for (uint64_t sequence = 1; sequence <= kLast; ++sequence) {
    buffer.insert(key_of(sequence), sequence, std::to_string(sequence));
    published.store(sequence, std::memory_order_release);
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(failed);
}

// Readers, the writer and a thread that is there for it bring keys into order at the same time, and each reader finds all that its sequence
// covers.
TEST(WriteBufferThreadTest, IteratorsAreCompleteWhoeverOrders) {
  WriteBuffer buffer(1 << 20, WriteBuffer::OrderedBy::kThread);
  std::atomic<uint64_t> published{0};
  constexpr uint64_t kLast = 100000;
  const auto key_of = [](uint64_t i) { return std::to_string(i * 7919 % 1000003); };
  std::vector<std::thread> readers;
  std::atomic<bool> failed{false};
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&] {
      uint64_t sequence = 0;
      while (sequence < kLast && !failed) {
        sequence = published.load(std::memory_order_acquire);
        const std::vector<std::string> keys = keys_at(buffer, sequence);
        if (keys.size() != sequence || !std::is_sorted(keys.begin(), keys.end())) failed = true;
      }
    });
  }
  readers.emplace_back([&] {
    while (published.load() < kLast) buffer.order_if_many();
  });
  for (uint64_t sequence = 1; sequence <= kLast; ++sequence) {
    buffer.insert(key_of(sequence), sequence, "value");
    published.store(sequence, std::memory_order_release);
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(failed);
}

}  // namespace
}  // namespace lapse::engine
