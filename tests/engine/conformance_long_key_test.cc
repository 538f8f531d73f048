// The engine contract: keys longer than the tree takes (LMDB: 511 bytes) are keys like all others.

#include "test_engines.h"

namespace lapse::engine {
namespace {

class LongKeyConformance : public EngineTest {
 protected:
  // Writes them in a scattered order, in transactions of a few hundred.
  void put_scattered(const Map& entries) {
    std::vector<const Map::value_type*> order;
    for (const auto& entry : entries) order.push_back(&entry);
    for (size_t i = 0, step = 1; i < order.size(); ++i, step = step * 31 % 65537) {
      std::swap(order[i], order[step % order.size()]);
    }
    auto transaction = must(engine_->begin());
    for (size_t i = 0; i < order.size(); ++i) {
      must(transaction->put(order[i]->first, order[i]->second));
      if (i % 300 == 299) {
        must(transaction->commit());
        transaction = must(engine_->begin());
      }
    }
    must(transaction->commit());
  }

  // In the write buffer, in the tree, and after a reopen; then with every other key erased.
  void expect_life_of(Map entries) {
    put_scattered(entries);
    EXPECT_TRUE(holds(*engine_, entries));
    must(engine_->checkpoint());
    EXPECT_TRUE(holds(*engine_, entries));
    expect_seeks(entries);
    auto transaction = must(engine_->begin());
    int i = 0;
    for (auto at = entries.begin(); at != entries.end();) {
      if (++i % 2 == 0) {
        ++at;
        continue;
      }
      must(transaction->erase(at->first));
      at = entries.erase(at);
    }
    EXPECT_TRUE(holds(*transaction, entries));
    must(transaction->commit());
    transaction.reset();
    EXPECT_TRUE(holds(*engine_, entries));
    expect_seeks(entries);
    if (persistent()) reopen();
    must(engine_->checkpoint());
    EXPECT_TRUE(holds(*engine_, entries));
    EXPECT_OK(engine_->verify());
  }

  // Right at, right behind and right before each key, and along its prefix.
  void expect_seeks(const Map& entries) {
    auto snapshot = must(engine_->snapshot());
    auto cursor = snapshot->cursor();
    for (const auto& [key, value] : entries) {
      std::vector<std::string> targets{key, key + '\0', key + '\xff', key.substr(0, key.size() / 2)};
      if (!key.empty()) targets.push_back(key.substr(0, key.size() - 1));
      if (key.size() > 511) targets.push_back(key.substr(0, 511) + '\xff');
      for (const std::string& target : targets) {
        must(cursor->seek(target));
        const auto at = entries.lower_bound(target);
        ASSERT_EQ(at != entries.end(), cursor->valid()) << abbreviate(target);
        if (at == entries.end()) continue;
        ASSERT_TRUE(at->first == cursor->key())
            << "seek " << abbreviate(target) << " found " << abbreviate(cursor->key());
        ASSERT_EQ(at->second, cursor->value());
      }
    }
  }
};
INSTANTIATE_ENGINE_TESTS(LongKeyConformance);

TEST_P(LongKeyConformance, LengthsAroundEveryLimit) {
  Map entries;
  auto add = [&](size_t length) {
    const std::string value = std::to_string(length);
    entries[std::string(length, 'k')] = value;
    entries[std::string(length, '\0')] = value;
    entries[std::string(length, '\xff')] = value;
    entries[std::string(length - 1, 'k') + 'l'] = value;
    entries['j' + std::string(length - 1, 'k')] = value;
  };
  for (size_t length = 500; length <= 520; ++length) add(length);
  for (size_t length = 1000; length <= 1030; ++length) add(length);
  expect_life_of(entries);
}

TEST_P(LongKeyConformance, LargestKeys) {
  Map entries;
  for (size_t length : {size_t{65535}, size_t{65536}, size_t{65537}, kMaxKeyBytes - 1, kMaxKeyBytes}) {
    entries[std::string(length, 'k')] = std::to_string(length);
    entries[std::string(length - 1, 'k') + 'l'] = "l" + std::to_string(length);
  }
  expect_life_of(entries);
}

TEST_P(LongKeyConformance, SharedPrefixesOfEveryLength) {
  Random random;
  const std::string stem = random.bytes(1100);
  Map entries;
  for (size_t length = 0; length < stem.size(); ++length) {
    std::string branch = stem.substr(0, length + 1);
    branch.back() = static_cast<char>(branch.back() + 1 + random.below(255));
    entries[stem.substr(0, length)] = "stem";
    entries[branch] = "branch";
    if (length % 50 == 0) entries[branch + random.bytes(600)] = "long branch";
  }
  expect_life_of(entries);
}

// Whatever length keys are cut at and whatever byte marks a cut, one of these stands on it.
TEST_P(LongKeyConformance, EveryByteBehindEveryCut) {
  Map entries;
  for (size_t cut = 490; cut <= 515; ++cut) {
    const std::string prefix(cut, 'p');
    entries[prefix] = "";
    for (std::string tail : {std::string(1, '\0'), std::string(2, '\0'), std::string("\0\xff", 2),
                             std::string("\x01"), std::string("\x7f"), std::string("\xfe"),
                             std::string("\xff"), std::string("\xff\xff"), std::string("\xff\0", 2),
                             std::string(600, '\0'), std::string(600, '\xff'), std::string(600, '\x01')}) {
      entries[prefix + tail] = std::to_string(cut);
    }
  }
  expect_life_of(entries);
}

TEST_P(LongKeyConformance, RandomTailsBehindOnePrefix) {
  Random random;
  Map entries;
  const std::string prefix = random.bytes(505);
  for (int i = 0; i < 400; ++i) {
    entries[prefix + random.bytes(random.below(12))] = "short";
    entries[prefix + random.bytes(random.below(2000))] = "long";
  }
  expect_life_of(entries);
}

TEST_P(LongKeyConformance, EraseLeavesNoTrace) {
  put(*engine_, "other", "value");
  must(engine_->checkpoint());
  Map entries;
  const std::string prefix(520, 'p');
  for (int i = 0; i < 40; ++i) entries[prefix + std::string(i * 40, 'q') + numbered(i)] = "value";
  for (int round = 0; round < 3; ++round) {
    put_scattered(entries);
    must(engine_->checkpoint());
    EXPECT_GE(engine_->stats().entries_in_tree, 41U);
    auto transaction = must(engine_->begin());
    for (const auto& [key, value] : entries) must(transaction->erase(key));
    must(transaction->commit());
    must(engine_->checkpoint());
    EXPECT_EQ(1U, engine_->stats().entries_in_tree) << "round " << round;
    EXPECT_TRUE(holds(*engine_, {{"other", "value"}}));
    EXPECT_OK(engine_->verify());
  }
}

TEST_P(LongKeyConformance, EraseLeavesNoTraceAmongOtherLongKeys) {
  Map kept;
  for (char first : {'a', 'm', 'z'}) kept[std::string(1200, first)] = "kept";
  const std::string erased(1200, 'k');
  put(*engine_, erased, "first come");
  put_all(*engine_, kept);
  erase(*engine_, erased);
  must(engine_->checkpoint());
  const uint64_t rows = engine_->stats().entries_in_tree;
  for (int round = 0; round < 3; ++round) {
    put(*engine_, erased, "value");
    must(engine_->checkpoint());
    EXPECT_GT(engine_->stats().entries_in_tree, rows);
    put(*engine_, std::string(1200, 'z'), "kept");
    erase(*engine_, erased);
    must(engine_->checkpoint());
    EXPECT_EQ(rows, engine_->stats().entries_in_tree) << "round " << round;
    EXPECT_TRUE(holds(*engine_, kept));
  }
  for (const auto& [key, value] : kept) {  // in order: those that stay stand behind those that go
    erase(*engine_, key);
    must(engine_->checkpoint());
  }
  EXPECT_EQ(0U, engine_->stats().entries_in_tree);
}

TEST_P(LongKeyConformance, OverwriteKeepsOneEntry) {
  const std::string key(1500, 'k');
  for (const char* value : {"one", "two", ""}) {
    put(*engine_, key, value);
    must(engine_->checkpoint());
    EXPECT_TRUE(holds(*engine_, {{key, value}}));
  }
}

TEST_P(LongKeyConformance, EraseOfAnAbsentNeighbourLeavesTheRest) {
  const std::string prefix(600, 'k');
  const Map entries{{prefix + "b", "1"}, {prefix + "d", "2"}};
  put_all(*engine_, entries);
  must(engine_->checkpoint());
  for (const std::string& absent :
       {prefix, prefix + "a", prefix + "c", prefix + "e", prefix + "b" + std::string(600, 'x'),
        prefix.substr(0, 511), prefix.substr(0, 510), prefix.substr(0, 500)}) {
    EXPECT_EQ(std::nullopt, get(*engine_, absent));
    erase(*engine_, absent);
    must(engine_->checkpoint());
    ASSERT_TRUE(holds(*engine_, entries)) << abbreviate(absent);
  }
}

TEST_P(LongKeyConformance, SnapshotKeepsErasedOnes) {
  Map entries;
  for (int i = 0; i < 20; ++i) entries[std::string(500 + i, 'k')] = std::to_string(i);
  put_all(*engine_, entries);
  auto buffered = must(engine_->snapshot());
  must(engine_->checkpoint());
  auto drained = must(engine_->snapshot());
  for (const auto& [key, value] : entries) erase(*engine_, key);
  must(engine_->checkpoint());
  put(*engine_, std::string(515, 'k'), "new");
  must(engine_->checkpoint());
  EXPECT_TRUE(holds(*buffered, entries));
  EXPECT_TRUE(holds(*drained, entries));
  EXPECT_TRUE(holds(*engine_, {{std::string(515, 'k'), "new"}}));
}

TEST_P(LongKeyConformance, WalkMixesTreeBufferAndTransaction) {
  Random random;
  Map expected;
  std::vector<std::string> pool;
  for (int i = 0; i < 300; ++i) pool.push_back(std::string(480 + i % 60, 'p') + random.bytes(i % 40));
  std::unique_ptr<Transaction> transaction;
  for (int layer = 0; layer < 3; ++layer) {
    transaction = must(engine_->begin());
    for (const std::string& key : pool) {
      if (random.one_in(3)) {
        must(transaction->erase(key));
        expected.erase(key);
      } else if (random.one_in(2)) {
        expected[key] = std::to_string(layer);
        must(transaction->put(key, expected[key]));
      }
    }
    if (layer < 2) must(transaction->commit());
    if (layer == 0) must(engine_->checkpoint());
  }
  EXPECT_TRUE(holds(*transaction, expected));
  must(transaction->commit());
  EXPECT_TRUE(holds(*engine_, expected));
  expect_seeks(expected);
}

}  // namespace
}  // namespace lapse::engine
