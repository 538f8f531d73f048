// The engine contract, clause by clause: the map, its limits, and the calls on the engine itself.
// Cursors, transactions, snapshots, long keys and threads have files of their own.

#include <sys/mman.h>

#include <array>
#include <fstream>

#include "base/clock.h"
#include "test_engines.h"

namespace lapse::engine {
namespace {

using MapConformance = EngineTest;
INSTANTIATE_ENGINE_TESTS(MapConformance);

TEST_P(MapConformance, NewStoreIsEmpty) {
  EXPECT_TRUE(holds(*engine_, {}));
  EXPECT_EQ(0, must(engine_->snapshot())->sequence());
}

TEST_P(MapConformance, GetOfAbsentKeyIsNothing) {
  put(*engine_, "b", "1");
  for (const char* key : {"", "a", "aa", "bb", "c"}) {
    EXPECT_EQ(std::nullopt, get(*engine_, key)) << key;
  }
}

TEST_P(MapConformance, PutIsGot) {
  put(*engine_, "key", "value");
  EXPECT_EQ("value", get(*engine_, "key"));
  EXPECT_TRUE(holds(*engine_, {{"key", "value"}}));
}

TEST_P(MapConformance, OverwriteReplacesTheValue) {
  for (const char* value : {"first", "a longer second", "", "3"}) {
    put(*engine_, "key", value);
    EXPECT_TRUE(holds(*engine_, {{"key", value}}));
  }
}

TEST_P(MapConformance, EraseRemovesOneKey) {
  put_all(*engine_, {{"a", "1"}, {"b", "2"}, {"c", "3"}});
  erase(*engine_, "b");
  EXPECT_EQ(std::nullopt, get(*engine_, "b"));
  EXPECT_TRUE(holds(*engine_, {{"a", "1"}, {"c", "3"}}));
}

TEST_P(MapConformance, EraseOfAbsentKeyIsNoError) {
  put(*engine_, "b", "1");
  auto transaction = must(engine_->begin());
  EXPECT_OK(transaction->erase("a"));
  EXPECT_OK(transaction->erase("b"));
  EXPECT_OK(transaction->erase("b"));
  EXPECT_OK(transaction->commit());
  EXPECT_TRUE(holds(*engine_, {}));
}

TEST_P(MapConformance, ErasedKeyMayComeBack) {
  for (const char* value : {"one", "two"}) {
    put(*engine_, "key", value);
    EXPECT_TRUE(holds(*engine_, {{"key", value}}));
    must(engine_->checkpoint());
    erase(*engine_, "key");
    EXPECT_TRUE(holds(*engine_, {}));
  }
}

TEST_P(MapConformance, EmptyKeyIsOrdinary) {
  put_all(*engine_, {{"", "nothing"}, {std::string(1, '\0'), "zero"}});
  EXPECT_EQ("nothing", get(*engine_, ""));
  EXPECT_TRUE(holds(*engine_, {{"", "nothing"}, {std::string(1, '\0'), "zero"}}));
  erase(*engine_, "");
  EXPECT_TRUE(holds(*engine_, {{std::string(1, '\0'), "zero"}}));
}

TEST_P(MapConformance, EmptyValueIsOrdinary) {
  put(*engine_, "key", "");
  EXPECT_EQ("", get(*engine_, "key"));
  EXPECT_EQ(std::nullopt, get(*engine_, "other"));
  must(engine_->checkpoint());
  EXPECT_TRUE(holds(*engine_, {{"key", ""}}));
}

TEST_P(MapConformance, KeysAreOrderedAsUnsignedBytes) {
  Map expected{{"", "0"}};
  std::vector<std::string> grown{""};
  for (int length = 1; length <= 3; ++length) {
    std::vector<std::string> longer;
    for (const std::string& prefix : grown) {
      for (int byte : {0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff}) {
        longer.push_back(prefix + static_cast<char>(byte));
        expected[longer.back()] = std::to_string(expected.size());
      }
    }
    grown = longer;
  }
  put_all(*engine_, expected);
  EXPECT_TRUE(holds(*engine_, expected));
  must(engine_->checkpoint());
  EXPECT_TRUE(holds(*engine_, expected));
}

TEST_P(MapConformance, ManyKeysInManyCommits) {
  Random random;
  Map expected;
  for (int batch = 0; batch < 60; ++batch) {
    auto transaction = must(engine_->begin());
    for (int i = 0; i < 40; ++i) {
      std::string key = numbered(static_cast<int>(random.below(1000)));
      if (random.one_in(3)) {
        must(transaction->erase(key));
        expected.erase(key);
      } else {
        std::string value = random.bytes(random.below(60));
        must(transaction->put(key, value));
        expected[key] = value;
      }
    }
    must(transaction->commit());
  }
  EXPECT_TRUE(holds(*engine_, expected));
  EXPECT_OK(engine_->verify());
  if (persistent()) reopen();
  EXPECT_TRUE(holds(*engine_, expected));
}

TEST_P(MapConformance, ContentsAndNumberingOutliveAReopen) {
  if (!persistent()) GTEST_SKIP() << "nothing outlives the memory engine";
  Map expected;
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(i + 1, put(*engine_, numbered(i), std::string(i * 20, 'v')));
    expected[numbered(i)] = std::string(i * 20, 'v');
    if (i % 5 == 4) reopen();
    EXPECT_EQ(i + 1, must(engine_->snapshot())->sequence());
    ASSERT_TRUE(holds(*engine_, expected));
  }
  EXPECT_OK(engine_->verify());
}

// ----------------------------------------------------------------------------------------- limits

using LimitConformance = EngineTest;
INSTANTIATE_ENGINE_TESTS(LimitConformance);

TEST_P(LimitConformance, ValuesOfEverySize) {
  Random random;
  Map expected;
  const std::array<size_t, 11> sizes{0,     1,     2000,    4 << 10, (4 << 10) + 1, (8 << 10) - 1,
                                     65535, 65536, 1 << 20, 5000000, 20 << 20};
  for (size_t size : sizes) {
    std::string key = "size" + std::to_string(size);
    expected[key] = random.bytes(size);
    put(*engine_, key, expected[key]);
    ASSERT_EQ(expected[key], get(*engine_, key)) << size;
  }
  EXPECT_TRUE(holds(*engine_, expected));
  must(engine_->checkpoint());
  EXPECT_TRUE(holds(*engine_, expected));
  if (persistent()) reopen();
  EXPECT_TRUE(holds(*engine_, expected));
  erase(*engine_, "size20971520");
  expected.erase("size20971520");
  EXPECT_TRUE(holds(*engine_, expected));
  EXPECT_OK(engine_->verify());
}

// Address space that dies when it is read: a value that must be refused by its size alone.
class Untouchable {
 public:
  explicit Untouchable(size_t size) : size_(size) {
    start_ = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start_ == MAP_FAILED) throw std::runtime_error("no address space");
  }
  ~Untouchable() { munmap(start_, size_); }
  std::string_view view() const { return {static_cast<const char*>(start_), size_}; }

 private:
  void* start_;
  size_t size_;
};

TEST_P(LimitConformance, ValueOverTheLimitIsTooLarge) {
  const Untouchable huge(kMaxValueBytes + 1);
  auto transaction = must(engine_->begin());
  must(transaction->put("before", "1"));
  EXPECT_CODE(kTooLarge, transaction->put("huge", huge.view()));
  must(transaction->put("after", "2"));
  EXPECT_EQ("after,before", keys(*transaction));
  EXPECT_OK(transaction->commit());
  EXPECT_TRUE(holds(*engine_, {{"after", "2"}, {"before", "1"}}));
}

TEST_P(LimitConformance, KeyOverTheLimitIsTooLargeEverywhere) {
  const std::string largest(kMaxKeyBytes, 'k');
  const std::string over(kMaxKeyBytes + 1, 'k');
  const Untouchable far_over(1UL << 32);
  put_all(*engine_, {{"a", "1"}, {largest, "2"}, {"l", "3"}});
  auto transaction = must(engine_->begin());
  auto snapshot = must(engine_->snapshot());
  for (std::string_view key : {std::string_view(over), far_over.view()}) {
    EXPECT_CODE(kTooLarge, transaction->put(key, "value"));
    EXPECT_CODE(kTooLarge, transaction->erase(key));
    EXPECT_CODE(kTooLarge, transaction->get(key));
    EXPECT_CODE(kTooLarge, snapshot->get(key));
  }
  // No such key can exist, but it has a place among those that can.
  auto cursor = snapshot->cursor();
  EXPECT_EQ("l=3", after(cursor->seek(over), *cursor));
  EXPECT_OK(transaction->put("b", "4"));
  EXPECT_OK(transaction->commit());
  EXPECT_TRUE(holds(*engine_, {{"a", "1"}, {"b", "4"}, {largest, "2"}, {"l", "3"}}));
}

class TransactionLimitConformance : public EngineTest {
 protected:
  TransactionLimitConformance() {
    engine_.reset();
    config_.options.max_transaction_bytes = 64 << 10;
    open();
  }
  const std::string most_of_it = std::string(40 << 10, 'v');
};
INSTANTIATE_ENGINE_TESTS(TransactionLimitConformance);

TEST_P(TransactionLimitConformance, TransactionOverTheLimitIsTooLargeAndStaysUsable) {
  auto transaction = must(engine_->begin());
  must(transaction->put("a", most_of_it));
  EXPECT_CODE(kTooLarge, transaction->put("b", most_of_it));
  EXPECT_EQ("a", keys(*transaction));
  EXPECT_OK(transaction->put("c", "small"));
  EXPECT_OK(transaction->commit());
  EXPECT_TRUE(holds(*engine_, {{"a", most_of_it}, {"c", "small"}}));
}

TEST_P(TransactionLimitConformance, RollbackToASavepointGivesRoomBack) {
  auto transaction = must(engine_->begin());
  const Savepoint start = transaction->savepoint();
  for (const char* key : {"a", "b", "c", "d"}) {
    must(transaction->rollback_to(start));
    EXPECT_OK(transaction->put(key, most_of_it));
  }
  EXPECT_OK(transaction->commit());
  EXPECT_TRUE(holds(*engine_, {{"d", most_of_it}}));
}

TEST_P(TransactionLimitConformance, ManySmallWritesReachTheLimitToo) {
  auto transaction = must(engine_->begin());
  Map expected;
  Status status;
  for (int i = 0; i < 100000; ++i) {
    status = transaction->put(numbered(i), "0123456789");
    if (!status.ok()) break;
    expected[numbered(i)] = "0123456789";
  }
  EXPECT_TRUE(has_code(StatusCode::kTooLarge, status));
  EXPECT_GT(expected.size(), 100U);
  EXPECT_OK(transaction->commit());
  EXPECT_TRUE(holds(*engine_, expected));
}

TEST_P(TransactionLimitConformance, WhatIsReservedFindsRoomInAFullTransaction) {
  auto transaction = must(engine_->begin());
  Map expected;
  while (transaction->put(numbered(static_cast<int>(expected.size())), "v").ok())
    expected[numbered(static_cast<int>(expected.size()))] = "v";
  const std::string reserved(Transaction::kReservedBytes - 4, 'r');
  EXPECT_OK(transaction->put_reserved("last", reserved));
  expected["last"] = reserved;
  EXPECT_CODE(kTooLarge, transaction->put_reserved("more", reserved)) << "it is there but once";
  EXPECT_OK(transaction->commit());
  EXPECT_TRUE(holds(*engine_, expected));
}

// ------------------------------------------------------------------------------------- the engine

using CallConformance = EngineTest;
INSTANTIATE_ENGINE_TESTS(CallConformance);

TEST_P(CallConformance, WaitDurableCoversWhatItIsAskedFor) {
  EXPECT_OK(engine_->wait_durable(0));
  for (uint64_t i = 1; i <= 5; ++i) {
    put(*engine_, numbered(static_cast<int>(i)), "value");
    EXPECT_OK(engine_->wait_durable(i));
    if (persistent()) {
      EXPECT_GE(engine_->stats().durable_sequence, i);
    }
    EXPECT_OK(engine_->wait_durable(1));
  }
}

TEST_P(CallConformance, WaitDurableForACommitThatHasNotHappenedIsInvalid) {
  EXPECT_CODE(kInvalidArgument, engine_->wait_durable(1));
  put(*engine_, "key", "value");
  EXPECT_OK(engine_->wait_durable(1));
  EXPECT_CODE(kInvalidArgument, engine_->wait_durable(2));
  EXPECT_CODE(kInvalidArgument, engine_->wait_durable(UINT64_MAX));
}

TEST_P(CallConformance, SyncCoversTheNewestCommit) {
  EXPECT_OK(engine_->sync());
  for (int i = 0; i < 5; ++i) put(*engine_, numbered(i), "value");
  EXPECT_OK(engine_->sync());
  EXPECT_OK(engine_->sync());
  if (persistent()) {
    EXPECT_EQ(5U, engine_->stats().durable_sequence);
    EXPECT_EQ(0, engine_->stats().unsynced_age_ms);
  }
}

TEST_P(CallConformance, CheckpointBringsAllIntoTheTree) {
  EXPECT_OK(engine_->checkpoint());
  Map expected;
  for (int i = 0; i < 50; ++i) {
    put(*engine_, numbered(i), "value");
    expected[numbered(i)] = "value";
  }
  EXPECT_OK(engine_->checkpoint());
  EXPECT_EQ(50U, engine_->stats().drained_sequence);
  EXPECT_EQ(50U, engine_->stats().entries_in_tree);
  EXPECT_EQ(0U, engine_->stats().buffer_entries);
  EXPECT_TRUE(holds(*engine_, expected));
  EXPECT_OK(engine_->checkpoint());
  EXPECT_TRUE(holds(*engine_, expected));
}

TEST_P(CallConformance, CheckpointOfErasedKeysEmptiesTheTree) {
  for (int i = 0; i < 30; ++i) put(*engine_, numbered(i), "value");
  must(engine_->checkpoint());
  for (int i = 0; i < 30; ++i) erase(*engine_, numbered(i));
  must(engine_->checkpoint());
  EXPECT_EQ(0U, engine_->stats().entries_in_tree);
  EXPECT_TRUE(holds(*engine_, {}));
  EXPECT_OK(engine_->verify());
}

TEST_P(CallConformance, VerifyIsOkWhateverIsWhere) {
  EXPECT_OK(engine_->verify());
  put_all(*engine_, {{"a", "1"}, {"b", std::string(100000, 'v')}, {std::string(2000, 'k'), "3"}});
  EXPECT_OK(engine_->verify());
  must(engine_->checkpoint());
  EXPECT_OK(engine_->verify());
  erase(*engine_, "a");
  auto open = must(engine_->begin());
  must(open->put("c", "never committed"));
  EXPECT_OK(engine_->verify());
}

TEST_P(CallConformance, StatsAreCoherent) {
  for (int i = 0; i < 100; ++i) put(*engine_, numbered(i), std::string(100, 'v'));
  EngineStats stats = engine_->stats();
  // A drain in the background may hold one for a moment.
  for (const Stopwatch waited; stats.held_snapshots > 0 && waited.elapsed_us() < 60'000'000;)
    stats = engine_->stats();
  EXPECT_EQ(0U, stats.held_snapshots);
  EXPECT_EQ(100U, stats.last_sequence);
  EXPECT_EQ(100U, stats.visible_sequence);
  EXPECT_LE(stats.durable_sequence, stats.last_sequence);
  EXPECT_LE(stats.drained_sequence, stats.last_sequence);
  EXPECT_LE(stats.entries_in_tree, 100U);
  EXPECT_LE(stats.tree_free_bytes, stats.tree_file_bytes);
  EXPECT_LE(stats.longest_slice_us, stats.drain_us);
  EXPECT_LE(stats.drains, stats.drain_slices);
  EXPECT_EQ(0, stats.oldest_snapshot_ms);
  EXPECT_OK(stats.background_error);
  if (stats.drained_sequence < stats.last_sequence) {
    EXPECT_GT(stats.buffer_entries, 0U);
    EXPECT_GT(stats.buffer_bytes, 0U);
  }
  if (config_.between != EngineConfig::Between::kRestart) {
    EXPECT_EQ(100U, stats.commits);
  }
  if (!persistent()) return;
  EXPECT_GT(stats.tree_file_bytes, 0U);
  if (config_.options.durability == Durability::kFull) {
    EXPECT_EQ(100U, stats.durable_sequence);
    EXPECT_GT(stats.syncs, 0U);
  }
}

TEST_P(CallConformance, CloseMakesEveryCallUnavailable) {
  put(*engine_, "key", "value");
  ASSERT_TRUE(is_ok(engine_->close()));
  EXPECT_CODE(kUnavailable, engine_->snapshot());
  EXPECT_CODE(kUnavailable, engine_->begin());
  EXPECT_CODE(kUnavailable, engine_->begin(std::chrono::milliseconds(0)));
  EXPECT_CODE(kUnavailable, engine_->wait_durable(0));
  EXPECT_CODE(kUnavailable, engine_->wait_durable(1));
  EXPECT_CODE(kUnavailable, engine_->sync());
  EXPECT_CODE(kUnavailable, engine_->checkpoint());
  EXPECT_CODE(kUnavailable, engine_->compact_to(dir_.file("copy.db")));
  EXPECT_CODE(kUnavailable, engine_->verify());
  EXPECT_CODE(kUnavailable, engine_->stats().background_error);
  EXPECT_CODE(kUnavailable, engine_->close());
}

// ------------------------------------------------------------------------------------- compact_to

class CompactConformance : public EngineTest {
 protected:
  // Three layers of contents: in the tree, over it in the buffer, and (not to be copied) uncommitted.
  Map fill() {
    Map expected;
    for (int i = 0; i < 60; ++i) expected[numbered(i)] = std::string(i, 'v');
    expected[std::string(3000, 'k')] = "long key";
    expected["large"] = std::string(200000, 'x');
    put_all(*engine_, expected);
    must(engine_->checkpoint());
    for (int i = 0; i < 60; i += 3) {
      erase(*engine_, numbered(i));
      expected.erase(numbered(i));
    }
    put(*engine_, "only in the buffer", "yes");
    expected["only in the buffer"] = "yes";
    return expected;
  }

  std::string copy_ = dir_.file("copy.db");
};
INSTANTIATE_ENGINE_TESTS(CompactConformance);

TEST_P(CompactConformance, CopyHoldsTheSame) {
  const Map expected = fill();
  ASSERT_TRUE(is_ok(engine_->compact_to(copy_)));
  EXPECT_TRUE(holds(*engine_, expected));
  auto copy = must(open_local(copy_, {}));
  EXPECT_TRUE(holds(*copy, expected));
  EXPECT_OK(copy->verify());
}

TEST_P(CompactConformance, NumberingGoesOnInTheCopy) {
  fill();
  const uint64_t sequence = must(engine_->snapshot())->sequence();
  must(engine_->compact_to(copy_));
  auto copy = must(open_local(copy_, {}));
  EXPECT_EQ(sequence, must(copy->snapshot())->sequence());
  EXPECT_EQ(sequence + 1, put(*copy, "next", "value"));
  EXPECT_EQ(sequence + 1, put(*engine_, "next", "another value"));
  EXPECT_EQ("value", get(*copy, "next"));
  EXPECT_EQ("another value", get(*engine_, "next"));
}

TEST_P(CompactConformance, NothingWaitsForItNorItForATransaction) {
  const Map expected = fill();
  auto transaction = must(engine_->begin());
  must(transaction->put("uncommitted", "value"));
  ASSERT_TRUE(is_ok(engine_->compact_to(copy_)));
  EXPECT_OK(transaction->commit());
  auto copy = must(open_local(copy_, {}));
  EXPECT_TRUE(holds(*copy, expected));
}

TEST_P(CompactConformance, ExistingPathIsRefusedAndUntouched) {
  fill();
  std::ofstream(copy_) << "precious";
  EXPECT_CODE(kInvalidArgument, engine_->compact_to(copy_));
  std::ifstream file(copy_);
  EXPECT_EQ("precious", std::string(std::istreambuf_iterator<char>(file), {}));
  EXPECT_FALSE(engine_->compact_to(dir_.path()).ok());
  EXPECT_FALSE(engine_->compact_to(dir_.file("absent/copy.db")).ok());
  if (persistent()) {
    EXPECT_FALSE(engine_->compact_to(dir_.file("test.db")).ok());
  }
}

TEST_P(CompactConformance, EmptyStoreMakesAnEmptyCopy) {
  ASSERT_TRUE(is_ok(engine_->compact_to(copy_)));
  auto copy = must(open_local(copy_, {}));
  EXPECT_TRUE(holds(*copy, {}));
  EXPECT_OK(copy->verify());
  EXPECT_EQ(1U, put(*copy, "key", "value"));
}

TEST_P(CompactConformance, CopyOfACopyIsTheSame) {
  const Map expected = fill();
  must(engine_->compact_to(copy_));
  auto copy = must(open_local(copy_, {}));
  must(copy->compact_to(dir_.file("copy2.db")));
  EXPECT_TRUE(holds(*must(open_local(dir_.file("copy2.db"), {})), expected));
}

}  // namespace
}  // namespace lapse::engine
