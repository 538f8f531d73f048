#include "engine/local/key_order.h"

#include <gtest/gtest.h>

#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/local/arena.h"

namespace lapse::engine {
namespace {

class KeyOrderTest : public testing::Test {
 protected:
  void add(const std::string& key) {
    char* memory = arena_.allocate(sizeof(BufferEntry) + key.size());
    key.copy(memory + sizeof(BufferEntry), key.size());
    order_.reserve();
    order_.add(new (memory) BufferEntry{nullptr, nullptr, 0, static_cast<uint32_t>(key.size())});
  }
  void add_number(uint64_t number) { add(std::to_string(100000 + number)); }

  KeyOrder::Walk walk() const { return KeyOrder::Walk(order_.runs()); }
  std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    KeyOrder::Walk at = walk();
    for (at.first(); at.valid(); at.next()) keys.emplace_back(at.entry().key());
    return keys;
  }
  std::vector<size_t> run_sizes() const {
    std::vector<size_t> sizes;
    for (const auto& run : *order_.runs()) sizes.push_back(run->size());
    return sizes;
  }

  Arena arena_;
  KeyOrder order_{4};
};

TEST_F(KeyOrderTest, NothingIsThereBeforeAnythingIsAdded) {
  order_.order();
  order_.order_in_one();
  KeyOrder::Walk at = walk();
  at.first();
  EXPECT_FALSE(at.valid());
  at.last();
  EXPECT_FALSE(at.valid());
  at.seek("");
  EXPECT_FALSE(at.valid());
  EXPECT_EQ(order_.ordered(), 0U);
}

TEST_F(KeyOrderTest, ArrivalsAreInNoOrderUntilItIsAskedFor) {
  for (const char* key : {"c", "a", "e", "b", "d", ""}) add(key);  // more than a block
  EXPECT_EQ(order_.ordered(), 0U);
  EXPECT_EQ(keys(), std::vector<std::string>{});
  order_.order();
  EXPECT_EQ(order_.ordered(), 6U);
  EXPECT_EQ(keys(), (std::vector<std::string>{"", "a", "b", "c", "d", "e"}));
}

TEST_F(KeyOrderTest, KeysThatBeginAlikeAreOrderedByWhatFollows) {
  const std::string head(40, 'h');
  for (const char* tail : {"b", "", "a", "aa"}) add(head + tail);
  order_.order();
  EXPECT_EQ(keys(), (std::vector<std::string>{head, head + "a", head + "aa", head + "b"}));
}

TEST_F(KeyOrderTest, RunsStayFewAndEachMuchLongerThanTheNext) {
  constexpr uint64_t kKeys = 5003;
  for (uint64_t i = 0; i < kKeys; ++i) {
    add_number(i * 7919 % kKeys);
    order_.order();
    const std::vector<size_t> sizes = run_sizes();
    ASSERT_LE(sizes.size(), 5U);  // 8^5 are more
    for (size_t run = 1; run < sizes.size(); ++run) ASSERT_GE(sizes[run - 1], 8 * sizes[run]);
  }
  EXPECT_EQ(keys().size(), kKeys);
}

TEST_F(KeyOrderTest, OrderInOneLeavesASingleRun) {
  for (uint64_t i = 0; i < 100; ++i) add_number(i);
  order_.order();
  add_number(200);
  order_.order();
  EXPECT_EQ(run_sizes(), (std::vector<size_t>{100, 1}));
  order_.order_in_one();  // with nothing new
  EXPECT_EQ(run_sizes(), std::vector<size_t>{101});
  add_number(150);
  order_.order_in_one();
  EXPECT_EQ(run_sizes(), std::vector<size_t>{102});
  EXPECT_EQ(order_.ordered(), 102U);
}

TEST_F(KeyOrderTest, AWalkKeepsTheOrderThatItBeganWith) {
  add("b");
  order_.order();
  KeyOrder::Walk old = walk();
  old.first();
  add("a");
  add("c");
  order_.order_in_one();
  EXPECT_EQ(old.entry().key(), "b");
  old.next();
  EXPECT_FALSE(old.valid());
  old.seek("");
  EXPECT_EQ(old.entry().key(), "b");
  EXPECT_EQ(keys(), (std::vector<std::string>{"a", "b", "c"}));
}

// Against a set: any step may follow any other, over runs that lie between each other.
TEST_F(KeyOrderTest, EachStepOfAWalkIsThatOfASet) {
  for (const uint64_t seed : {1U, 2U, 3U, 4U}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    order_.reset();
    std::set<std::string> model;
    for (size_t count : {600U, 50U, 5U, 1U}) {
      while (count > 0) {
        const uint64_t number = random() % 2000;
        if (!model.insert(std::to_string(100000 + number)).second) continue;
        add_number(number);
        --count;
      }
      order_.order();
    }
    ASSERT_GE(run_sizes().size(), 3U);
    KeyOrder::Walk at = walk();
    auto expected = model.end();
    for (int step = 0; step < 5000; ++step) {
      const uint64_t what = random() % 10;
      if (what == 0) {
        at.first();
        expected = model.begin();
      } else if (what == 1) {
        at.last();
        expected = std::prev(model.end());
      } else if (what == 2) {
        const std::string key = std::to_string(100000 + random() % 2100);
        at.seek(key);
        expected = model.lower_bound(key);
      } else if (expected == model.end()) {
        continue;
      } else if (what < 6) {
        at.next();
        ++expected;
      } else {
        at.prev();
        expected = expected == model.begin() ? model.end() : std::prev(expected);
      }
      at.expect(3);
      ASSERT_EQ(at.valid(), expected != model.end());
      if (at.valid()) {
        ASSERT_EQ(at.entry().key(), *expected);
      }
    }
  }
}

TEST_F(KeyOrderTest, ForEachVisitsWhatIsInOrderAndWhatIsNot) {
  for (const char* key : {"c", "a", "b", "f", "e"}) add(key);
  order_.order();
  for (const char* key : {"z", "x", "y", "q", "r", "s"}) add(key);
  std::multiset<std::string> visited;
  order_.for_each([&](const BufferEntry& entry) { visited.emplace(entry.key()); });
  EXPECT_EQ(visited, (std::multiset<std::string>{"a", "b", "c", "e", "f", "q", "r", "s", "x", "y", "z"}));
}

TEST_F(KeyOrderTest, ResetForgetsAllAndCanBeUsedAgain) {
  for (uint64_t i = 0; i < 50; ++i) add_number(i);
  order_.order();
  for (uint64_t i = 50; i < 80; ++i) add_number(i);
  order_.reset();
  EXPECT_EQ(order_.ordered(), 0U);
  EXPECT_EQ(keys(), std::vector<std::string>{});
  add("once more");
  order_.order();
  EXPECT_EQ(keys(), std::vector<std::string>{"once more"});
}

}  // namespace
}  // namespace lapse::engine
