// An engine and a std::map, driven by the same random steps, must never be told apart.
//
// LAPSE_SEED=… repeats a run; LAPSE_STEPS=… makes it longer or shorter.

#include <cstdlib>

#include "test_engines.h"

namespace lapse::engine {
namespace {

class ModelTest : public EngineTest {
 protected:
  ModelTest() { fill_pool(); }

  void step() {
    struct Action {
      uint64_t weight;
      void (ModelTest::*run)();
    };
    static constexpr Action kActions[] = {
        {300, &ModelTest::put_one},      {120, &ModelTest::erase_one},  {200, &ModelTest::get_one},
        {80, &ModelTest::walk},          {80, &ModelTest::commit},      {10, &ModelTest::drop},
        {40, &ModelTest::set_savepoint}, {20, &ModelTest::roll_back},   {30, &ModelTest::take_snapshot},
        {20, &ModelTest::drop_snapshot}, {10, &ModelTest::compare_all}, {10, &ModelTest::checkpoint},
        {10, &ModelTest::sync},          {4, &ModelTest::restart},      {2, &ModelTest::compare_a_copy},
        {3, &ModelTest::verify},
    };
    uint64_t sum = 0;
    for (const Action& action : kActions) sum += action.weight;
    uint64_t at = random_.below(sum);
    for (const Action& action : kActions) {
      if (at < action.weight) return (this->*action.run)();
      at -= action.weight;
    }
  }

  void finish() {
    transaction_.reset();
    for (const auto& [snapshot, state] : snapshots_) EXPECT_TRUE(holds(*snapshot, state));
    snapshots_.clear();
    EXPECT_TRUE(holds(*engine_, committed_));
    EXPECT_OK(engine_->verify());
  }

 private:
  // ------------------------------------------------------------------------------------ material

  // Few bytes, the extreme ones among them; prefixes taken from each other; lengths on both sides of
  // every limit.
  void fill_pool() {
    pool_ = {"", std::string(1, '\0'), "\xff", std::string(511, '\xff'), std::string(512, '\0')};
    while (pool_.size() < 120) {
      std::string key;
      if (random_.one_in(2)) {
        const std::string& other = any_key();
        key = other.substr(0, random_.below(other.size() + 1));
      }
      key += tail(tail_length());
      if (key.size() <= kMaxKeyBytes) pool_.push_back(key);
    }
  }

  size_t tail_length() {
    const uint64_t kind = random_.below(100);
    if (kind < 55) return random_.below(4);
    if (kind < 78) return random_.below(40);
    if (kind < 88) return 480 + random_.below(60);
    if (kind < 98) return 500 + random_.below(1000);
    return random_.below(kMaxKeyBytes);
  }

  std::string tail(size_t length) {
    std::string bytes(length, '\0');
    for (char& byte : bytes)
      byte =
          "\x00\x01"
          "ab\xfe\xff"[random_.below(6)];
    return bytes;
  }

  const std::string& any_key() { return pool_[random_.below(pool_.size())]; }

  std::string any_value() {
    const uint64_t kind = random_.below(1000);
    if (kind < 900) return random_.bytes(random_.below(40));
    if (kind < 995) return random_.bytes(random_.below(3000));
    return random_.bytes(random_.below(100000));
  }

  // A reader and what it must hold: the transaction, a snapshot of some time ago, or one of now.
  std::pair<const Reader*, const Map*> any_reader() {
    if (transaction_ && random_.one_in(2)) return {transaction_.get(), &own_};
    if (!snapshots_.empty() && random_.one_in(2)) {
      const auto& [snapshot, state] = snapshots_[random_.below(snapshots_.size())];
      return {snapshot.get(), &state};
    }
    fresh_ = must(engine_->snapshot());
    EXPECT_EQ(sequence_, fresh_->sequence());
    return {fresh_.get(), &committed_};
  }

  // Everything, more often than not; else open at an end, or at none, and sometimes empty.
  Range any_range() {
    Range range;
    if (random_.one_in(3)) range.from = any_key();
    if (random_.one_in(3)) range.to = any_key();
    return range;
  }

  void need_transaction() {
    if (transaction_) return;
    transaction_ = must(engine_->begin());
    own_ = committed_;
    savepoints_.clear();
  }

  // ------------------------------------------------------------------------------------- actions

  void put_one() {
    need_transaction();
    const std::string& key = any_key();
    const std::string value = any_value();
    ASSERT_TRUE(is_ok(transaction_->put(key, value)));
    own_[key] = value;
  }

  void erase_one() {
    need_transaction();
    const std::string& key = any_key();
    ASSERT_TRUE(is_ok(transaction_->erase(key)));
    own_.erase(key);
  }

  void get_one() {
    const auto [reader, state] = any_reader();
    const std::string key = random_.one_in(5) ? any_key() + tail(1) : any_key();
    const auto found = key.size() <= kMaxKeyBytes ? get(*reader, key) : std::nullopt;
    const auto expected = state->find(key);
    ASSERT_EQ(expected != state->end(), found.has_value()) << abbreviate(key);
    if (found) {
      ASSERT_TRUE(expected->second == *found) << abbreviate(key) << ": " << abbreviate(*found);
    }
  }

  void walk() {
    const auto [reader, all] = any_reader();
    const Range range = any_range();
    const Map within = entries_of(*all, range);
    const Map* state = &within;
    auto cursor = reader->cursor(range);
    auto at = state->end();
    for (int move = 0; move < 30; ++move) {
      Status moved;
      switch (at == state->end() ? random_.below(3) : random_.below(12)) {
        case 0: {
          const std::string target = random_.one_in(3) ? any_key() + tail(1) : any_key();
          at = state->lower_bound(target);
          moved = cursor->seek(target);
          break;
        }
        case 1:
          at = state->begin();
          moved = cursor->first();
          break;
        case 2:
          at = state->empty() ? state->end() : std::prev(state->end());
          moved = cursor->last();
          break;
        case 3:
        case 4:
        case 5:
        case 6:
        case 7:
          ++at;
          moved = cursor->next();
          break;
        default: at = at == state->begin() ? state->end() : std::prev(at); moved = cursor->prev();
      }
      ASSERT_TRUE(is_ok(moved));
      ASSERT_EQ(at != state->end(), cursor->valid());
      if (at == state->end()) continue;
      ASSERT_TRUE(at->first == cursor->key())
          << abbreviate(cursor->key()) << ", not " << abbreviate(at->first);
      ASSERT_TRUE(at->second == cursor->value()) << abbreviate(at->first);
    }
  }

  void commit() {
    if (!transaction_) return;
    const uint64_t promised = transaction_->sequence();
    ASSERT_EQ(sequence_ + 1, promised);
    const uint64_t given = must(transaction_->commit());
    if (own_ != committed_) {
      ASSERT_EQ(promised, given);
    } else {
      ASSERT_TRUE(given == promised || given == sequence_) << given;
    }
    sequence_ = given;
    committed_ = std::move(own_);
    transaction_.reset();
  }

  void drop() { transaction_.reset(); }

  void set_savepoint() {
    if (transaction_) savepoints_.emplace_back(transaction_->savepoint(), own_);
  }

  void roll_back() {
    if (!transaction_ || savepoints_.empty()) return;
    savepoints_.resize(1 + random_.below(savepoints_.size()));
    ASSERT_TRUE(is_ok(transaction_->rollback_to(savepoints_.back().first)));
    own_ = savepoints_.back().second;
    if (random_.one_in(2)) savepoints_.pop_back();
  }

  void take_snapshot() {
    if (snapshots_.size() == 8) drop_snapshot();
    snapshots_.emplace_back(must(engine_->snapshot()), committed_);
    ASSERT_EQ(sequence_, snapshots_.back().first->sequence());
  }

  void drop_snapshot() {
    if (snapshots_.empty()) return;
    snapshots_.erase(snapshots_.begin() + static_cast<ptrdiff_t>(random_.below(snapshots_.size())));
  }

  void compare_all() {
    const auto [reader, state] = any_reader();
    ASSERT_TRUE(holds(*reader, *state));
  }

  void checkpoint() {
    if (transaction_ && !random_.one_in(4)) commit();  // else it must wait for nothing, or say Busy
    const Status status = engine_->checkpoint();
    ASSERT_TRUE(status.ok() || (transaction_ && status.code() == StatusCode::kBusy)) << status.to_string();
  }

  void sync() { ASSERT_TRUE(is_ok(engine_->sync())); }

  void restart() {
    if (!persistent()) return;
    fresh_.reset();
    transaction_.reset();
    snapshots_.clear();
    reopen();
    ASSERT_TRUE(holds(*engine_, committed_));
  }

  void compare_a_copy() {
    const TempDir dir;
    ASSERT_TRUE(is_ok(engine_->compact_to(dir.file("copy.db"))));
    auto copy = must(open_local(dir.file("copy.db"), {}));
    ASSERT_TRUE(holds(*copy, committed_));
    ASSERT_EQ(sequence_, must(copy->snapshot())->sequence());
  }

  void verify() { ASSERT_TRUE(is_ok(engine_->verify())); }

  Random random_;
  std::vector<std::string> pool_;

  Map committed_;
  uint64_t sequence_ = 0;
  std::unique_ptr<Transaction> transaction_;
  Map own_;  // what the transaction sees
  std::vector<std::pair<Savepoint, Map>> savepoints_;
  std::vector<std::pair<std::unique_ptr<Snapshot>, Map>> snapshots_;
  std::unique_ptr<Snapshot> fresh_;
};
INSTANTIATE_ENGINE_TESTS(ModelTest);

TEST_P(ModelTest, CannotBeToldFromAMap) {
  const char* given = std::getenv("LAPSE_STEPS");
  const int steps = given ? std::atoi(given) : 5000;
  for (int i = 0; i < steps; ++i) {
    SCOPED_TRACE("step " + std::to_string(i));
    step();
    if (HasFailure()) return;
  }
  finish();
}

}  // namespace
}  // namespace lapse::engine
