// The engine contract: a snapshot is one moment, neither more nor less, for as long as it lives.

#include <latch>
#include <thread>

#include "engine/memory/memory_engine.h"
#include "test_engines.h"

namespace lapse::engine {
namespace {

class SnapshotConformance : public EngineTest {
 protected:
  // One transaction of puts and erases on a hundred keys, also applied to state_.
  void change(Random& random) {
    auto transaction = must(engine_->begin());
    for (uint64_t i = 0; i < 1 + random.below(8); ++i) {
      const std::string key = numbered(static_cast<int>(random.below(100)));
      if (random.one_in(3)) {
        must(transaction->erase(key));
        state_.erase(key);
      } else {
        const std::string value = random.bytes(random.below(random.one_in(20) ? 9000 : 100));
        must(transaction->put(key, value));
        state_[key] = value;
      }
    }
    must(transaction->commit());
  }

  Map state_;
};
INSTANTIATE_ENGINE_TESTS(SnapshotConformance);

TEST_P(SnapshotConformance, SeesNothingLater) {
  put_all(*engine_, {{"a", "1"}, {"b", "1"}});
  auto snapshot = must(engine_->snapshot());
  put(*engine_, "c", "2");
  put(*engine_, "a", "2");
  erase(*engine_, "b");
  EXPECT_EQ(1U, snapshot->sequence());
  EXPECT_TRUE(holds(*snapshot, {{"a", "1"}, {"b", "1"}}));
  EXPECT_EQ(std::nullopt, get(*snapshot, "c"));
  must(engine_->checkpoint());
  EXPECT_TRUE(holds(*snapshot, {{"a", "1"}, {"b", "1"}}));
  EXPECT_TRUE(holds(*engine_, {{"a", "2"}, {"c", "2"}}));
}

TEST_P(SnapshotConformance, SeesEveryCommitThatReturned) {
  Random random;
  for (int i = 0; i < 100; ++i) {
    change(random);
    ASSERT_TRUE(holds(*engine_, state_)) << "commit " << i;
    if (random.one_in(20)) must(engine_->checkpoint());
  }
}

TEST_P(SnapshotConformance, OfAnEmptyStoreStaysEmpty) {
  auto snapshot = must(engine_->snapshot());
  put(*engine_, "key", "value");
  must(engine_->checkpoint());
  put(*engine_, "key", "other");
  EXPECT_TRUE(holds(*snapshot, {}));
  EXPECT_EQ(0U, snapshot->sequence());
}

TEST_P(SnapshotConformance, IgnoresAnOpenTransaction) {
  put(*engine_, "key", "value");
  auto transaction = must(engine_->begin());
  must(transaction->put("key", "other"));
  auto during = must(engine_->snapshot());
  must(transaction->commit());
  EXPECT_TRUE(holds(*during, {{"key", "value"}}));
  EXPECT_EQ(1U, during->sequence());
}

TEST_P(SnapshotConformance, KeepsItsMomentWhateverIsDrained) {
  Random random;
  for (int i = 0; i < 20; ++i) change(random);
  const Map moment = state_;
  auto snapshot = must(engine_->snapshot());
  const uint64_t sequence = snapshot->sequence();
  for (int i = 0; i < 200; ++i) {
    change(random);
    if (random.one_in(10)) must(engine_->checkpoint());
    if (i % 20 == 0) {
      ASSERT_TRUE(holds(*snapshot, moment)) << "after " << i << " commits";
    }
  }
  EXPECT_TRUE(holds(*snapshot, moment));
  EXPECT_EQ(sequence, snapshot->sequence());
  EXPECT_TRUE(holds(*engine_, state_));
}

TEST_P(SnapshotConformance, ManyOldOnesKeepTheirMoments) {
  Random random;
  std::vector<std::pair<std::unique_ptr<Snapshot>, Map>> held;
  for (int i = 0; i < 60; ++i) {
    change(random);
    held.emplace_back(must(engine_->snapshot()), state_);
    EXPECT_EQ(i + 1, held.back().first->sequence());
    if (i % 7 == 6) must(engine_->checkpoint());
  }
  while (!held.empty()) {  // they go in any order, and the others stay as they are
    const size_t at = random.below(held.size());
    ASSERT_TRUE(holds(*held[at].first, held[at].second)) << held[at].first->sequence();
    held.erase(held.begin() + static_cast<ptrdiff_t>(at));
  }
  must(engine_->checkpoint());
  EXPECT_TRUE(holds(*engine_, state_));
  EXPECT_OK(engine_->verify());
}

TEST_P(SnapshotConformance, BytesStayWhileItLives) {
  Random random;
  for (int i = 0; i < 30; ++i) change(random);
  put(*engine_, std::string(3000, 'k'), "under a long key");
  state_[std::string(3000, 'k')] = "under a long key";
  if (random.one_in(2)) must(engine_->checkpoint());
  const Map moment = state_;
  auto snapshot = must(engine_->snapshot());
  std::map<std::string, std::string_view> views;
  for (const auto& [key, value] : moment) views[key] = must(snapshot->get(key)).value();
  for (int i = 0; i < 100; ++i) {
    change(random);
    if (i % 10 == 9) must(engine_->checkpoint());
    must(snapshot->get(numbered(i)));
  }
  for (const auto& [key, value] : moment) {
    EXPECT_TRUE(views[key] == value) << abbreviate(key);
  }
}

TEST_P(SnapshotConformance, OutlivesTheTransactionsAroundIt) {
  std::unique_ptr<Snapshot> snapshot;
  {
    auto transaction = must(engine_->begin());
    must(transaction->put("key", "value"));
    must(transaction->commit());
    snapshot = must(engine_->snapshot());
  }
  must(must(engine_->begin())->put("key", "dropped"));
  EXPECT_TRUE(holds(*snapshot, {{"key", "value"}}));
}

TEST_P(SnapshotConformance, OutlivesItsEngine) {
  put(*engine_, "in the tree", "1");
  must(engine_->checkpoint());
  put(*engine_, "in the buffer", "2");
  auto snapshot = must(engine_->snapshot());
  auto view = must(snapshot->get("in the tree"));
  engine_.reset();
  EXPECT_TRUE(holds(*snapshot, {{"in the buffer", "2"}, {"in the tree", "1"}}));
  EXPECT_EQ("1", *view);
}

TEST_P(SnapshotConformance, OutlivesAClose) {
  put(*engine_, "key", "value");
  auto snapshot = must(engine_->snapshot());
  EXPECT_OK(engine_->close());
  EXPECT_TRUE(holds(*snapshot, {{"key", "value"}}));
}

TEST_P(SnapshotConformance, CursorsOutliveTheEngineWithTheirSnapshot) {
  put_all(*engine_, {{"a", "1"}, {"b", "2"}});
  auto snapshot = must(engine_->snapshot());
  auto cursor = snapshot->cursor();
  must(cursor->first());
  engine_.reset();
  EXPECT_EQ("b=2", after(cursor->next(), *cursor));
  EXPECT_EQ("a=1", after(cursor->prev(), *cursor));
}

TEST_P(SnapshotConformance, IsGoodForManyThreadsAtOnce) {
  Random random;
  for (int i = 0; i < 40; ++i) change(random);
  must(engine_->checkpoint());
  for (int i = 0; i < 10; ++i) change(random);
  const Map moment = state_;
  auto snapshot = must(engine_->snapshot());
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      for (int round = 0; round < 20; ++round) EXPECT_TRUE(holds(*snapshot, moment));
    });
  }
  for (int i = 0; i < 20; ++i) change(random);
  must(engine_->checkpoint());
  for (std::thread& reader : readers) reader.join();
}

TEST_P(SnapshotConformance, SpaceIsUsedAgainOnceTheyAreGone) {
  const std::string value(10000, 'v');
  auto overwrite = [&](int times) {
    for (int i = 0; i < times; ++i) {
      put(*engine_, "key", value);
      must(engine_->checkpoint());
      auto passing = must(engine_->snapshot());
    }
    return engine_->stats().tree_file_bytes;
  };
  overwrite(10);
  {
    auto held = must(engine_->snapshot());
    overwrite(30);
    EXPECT_EQ(value, get(*held, "key"));
  }
  const uint64_t grown = overwrite(5);
  EXPECT_LE(overwrite(100), grown + 10 * value.size());
}

TEST_P(SnapshotConformance, HeldOnesAreCounted) {
  if (config_.between != EngineConfig::Between::kNothing) GTEST_SKIP() << "drains on its own terms";
  put(*engine_, "key", "1");
  must(engine_->checkpoint());
  EXPECT_EQ(0U, engine_->stats().held_snapshots);
  auto snapshot = must(engine_->snapshot());
  put(*engine_, "key", "2");
  must(engine_->checkpoint());
  EXPECT_EQ(1U, engine_->stats().held_snapshots);
  EXPECT_EQ("1", get(*snapshot, "key"));
  snapshot.reset();
  EXPECT_EQ(0U, engine_->stats().held_snapshots);
}

// LMDB has places for some thousands. When they are taken, drains wait, and go on when some are free again.
TEST(ManySnapshots, OfDifferentStatesKeepDrainsWaitingAndLoseNothing) {
  auto engine = must(open_memory({.buffer_bytes = 4 << 10}));
  std::vector<std::unique_ptr<Snapshot>> held;
  Status status;
  while (status.ok() && held.size() < 10'000) {
    put(*engine, "key", std::to_string(held.size()));
    status = engine->checkpoint();
    if (status.ok()) held.push_back(must(engine->snapshot()));
  }
  EXPECT_TRUE(has_code(StatusCode::kNoSpace, status));
  EXPECT_GE(held.size(), 3'999U);
  put(*engine, "key", "later");
  EXPECT_EQ("later", get(*must(engine->snapshot()), "key"));
  EXPECT_EQ("0", get(*held[0], "key"));
  held.clear();
  EXPECT_OK(engine->checkpoint());
  EXPECT_EQ("later", get(*must(engine->snapshot()), "key"));
  EXPECT_OK(engine->verify());
}

}  // namespace
}  // namespace lapse::engine
