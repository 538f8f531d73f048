// The engine contract: transactions, their numbers, savepoints, and the one writer's place.

#include <atomic>
#include <latch>
#include <thread>

#include "test_engines.h"

namespace lapse::engine {
namespace {

using std::chrono::milliseconds;

using TransactionConformance = EngineTest;
INSTANTIATE_ENGINE_TESTS(TransactionConformance);

TEST_P(TransactionConformance, DropRollsBack) {
  put(*engine_, "a", "1");
  {
    auto transaction = must(engine_->begin());
    must(transaction->put("a", "2"));
    must(transaction->put("b", "2"));
  }
  EXPECT_TRUE(holds(*engine_, {{"a", "1"}}));
  put(*engine_, "c", "3");
  EXPECT_TRUE(holds(*engine_, {{"a", "1"}, {"c", "3"}}));
}

TEST_P(TransactionConformance, SeesItsOwnWritesAndNobodyElseDoes) {
  put_all(*engine_, {{"a", "1"}, {"b", "1"}});
  auto transaction = must(engine_->begin());
  must(transaction->put("c", "2"));
  must(transaction->put("a", "2"));
  must(transaction->erase("b"));
  EXPECT_TRUE(holds(*transaction, {{"a", "2"}, {"c", "2"}}));
  EXPECT_EQ(std::nullopt, get(*transaction, "b"));
  EXPECT_TRUE(holds(*engine_, {{"a", "1"}, {"b", "1"}}));
  must(transaction->commit());
  EXPECT_TRUE(holds(*engine_, {{"a", "2"}, {"c", "2"}}));
}

TEST_P(TransactionConformance, WhatIsCommittedCanBeReadUnderItsOwnWrites) {
  put_all(*engine_, {{"a", "1"}, {"b", "1"}});
  auto transaction = must(engine_->begin());
  must(transaction->put("a", "2"));
  must(transaction->erase("b"));
  must(transaction->put("c", "2"));
  EXPECT_EQ("1", must(transaction->get_committed("a")));
  EXPECT_EQ("1", must(transaction->get_committed("b")));
  EXPECT_EQ(std::nullopt, must(transaction->get_committed("c")));
  must(transaction->commit());
  EXPECT_CODE(kInvalidArgument, transaction->get_committed("a"));
}

TEST_P(TransactionConformance, ReadsTheLatestCommit) {
  for (int i = 0; i < 20; ++i) {
    auto transaction = must(engine_->begin());
    EXPECT_EQ(i, std::stoi(get(*transaction, "count").value_or("0")));
    must(transaction->put("count", std::to_string(i + 1)));
    must(transaction->commit());
  }
}

TEST_P(TransactionConformance, LastWriteOfAKeyWins) {
  put_all(*engine_, {{"a", "old"}, {"b", "old"}});
  auto transaction = must(engine_->begin());
  must(transaction->put("a", "1"));
  must(transaction->erase("a"));
  must(transaction->erase("b"));
  must(transaction->put("b", "1"));
  must(transaction->put("c", "1"));
  must(transaction->put("c", "2"));
  must(transaction->put("d", "1"));
  must(transaction->erase("d"));
  const Map expected{{"b", "1"}, {"c", "2"}};
  EXPECT_TRUE(holds(*transaction, expected));
  must(transaction->commit());
  transaction.reset();
  EXPECT_TRUE(holds(*engine_, expected));
  if (persistent()) reopen();
  EXPECT_TRUE(holds(*engine_, expected));
}

TEST_P(TransactionConformance, ViewsOfItsOwnAreGoodArguments) {
  put(*engine_, "source", std::string(5000, 's'));
  must(engine_->checkpoint());
  auto transaction = must(engine_->begin());
  Map expected{{"source", std::string(5000, 's')}};
  for (int i = 0; i < 200; ++i) {  // enough to make any buffer grow under the view
    const std::string from = i == 0 ? "source" : numbered(i - 1);
    auto view = must(transaction->get(from));
    ASSERT_TRUE(view);
    must(transaction->put(numbered(i), *view));
    expected[numbered(i)] = expected["source"];
  }
  must(transaction->put("source", *must(transaction->get("source"))));
  EXPECT_TRUE(holds(*transaction, expected));
  must(transaction->commit());
  EXPECT_TRUE(holds(*engine_, expected));
}

TEST_P(TransactionConformance, LargeTransactionIsAllOrNothing) {
  Map expected;
  for (int i = 0; i < 5000; ++i) expected[numbered(i)] = std::string(50, 'v');
  {
    auto dropped = must(engine_->begin());
    for (const auto& [key, value] : expected) must(dropped->put(key, "dropped"));
  }
  EXPECT_TRUE(holds(*engine_, {}));
  put_all(*engine_, expected);
  EXPECT_TRUE(holds(*engine_, expected));
}

TEST_P(TransactionConformance, EveryCallAfterCommitIsInvalid) {
  for (const bool empty : {false, true}) {
    auto transaction = must(engine_->begin());
    auto cursor = transaction->cursor();
    const Savepoint start = transaction->savepoint();
    if (!empty) must(transaction->put("key", "value"));
    auto standing = transaction->cursor();
    must(standing->first());
    must(transaction->commit());
    if (standing->valid()) {
      EXPECT_CODE(kInvalidArgument, standing->prev());
    }
    EXPECT_FALSE(standing->valid());
    EXPECT_CODE(kInvalidArgument, transaction->put("key", "other"));
    EXPECT_CODE(kInvalidArgument, transaction->erase("key"));
    EXPECT_CODE(kInvalidArgument, transaction->get("key"));
    EXPECT_CODE(kInvalidArgument, transaction->rollback_to(start));
    EXPECT_CODE(kInvalidArgument, transaction->commit());
    EXPECT_CODE(kInvalidArgument, cursor->first());
    EXPECT_CODE(kInvalidArgument, transaction->cursor()->seek("key"));
    EXPECT_FALSE(cursor->valid());
    EXPECT_TRUE(holds(*engine_, {{"key", "value"}}));
  }
}

// --------------------------------------------------------------------------------------- numbers

TEST_P(TransactionConformance, CommitsCountFromOne) {
  for (uint64_t i = 1; i <= 30; ++i) {
    EXPECT_EQ(i, put(*engine_, "key", std::to_string(i)));
    EXPECT_EQ(i, must(engine_->snapshot())->sequence());
    if (i % 10 == 0) must(engine_->checkpoint());
  }
}

TEST_P(TransactionConformance, SequenceIsTheNumberThatCommitGives) {
  for (uint64_t i = 1; i <= 5; ++i) {
    auto transaction = must(engine_->begin());
    EXPECT_EQ(i, transaction->sequence());
    must(transaction->put("key", "value"));
    EXPECT_EQ(i, transaction->sequence());
    EXPECT_EQ(i, must(transaction->commit()));
  }
}

TEST_P(TransactionConformance, CommitThatWroteNothingTakesNoNumber) {
  EXPECT_EQ(0U, must(must(engine_->begin())->commit()));
  put(*engine_, "key", "value");
  auto transaction = must(engine_->begin());
  EXPECT_EQ("value", get(*transaction, "key"));
  EXPECT_EQ(2U, transaction->sequence());
  EXPECT_EQ(1U, must(transaction->commit()));
  EXPECT_EQ(1U, must(engine_->snapshot())->sequence());
  EXPECT_EQ(2U, put(*engine_, "key", "value"));
}

TEST_P(TransactionConformance, CommitOfWhatWasAllRolledBackTakesNoNumber) {
  put(*engine_, "key", "value");
  auto transaction = must(engine_->begin());
  const Savepoint start = transaction->savepoint();
  must(transaction->put("key", "other"));
  must(transaction->rollback_to(start));
  EXPECT_EQ(1U, must(transaction->commit()));
  EXPECT_EQ(2U, put(*engine_, "next", "value"));
}

TEST_P(TransactionConformance, DroppedTransactionTakesNoNumber) {
  for (uint64_t i = 1; i <= 5; ++i) {
    must(must(engine_->begin())->put("dropped", "value"));
    EXPECT_EQ(i, put(*engine_, "key", "value"));
  }
}

// ------------------------------------------------------------------------------------- savepoints

TEST_P(TransactionConformance, RollbackToUndoesWhatCameAfter) {
  put_all(*engine_, {{"a", "0"}, {"b", "0"}});
  auto transaction = must(engine_->begin());
  must(transaction->put("a", "1"));
  const Savepoint savepoint = transaction->savepoint();
  must(transaction->put("a", "2"));
  must(transaction->erase("b"));
  must(transaction->put("c", "2"));
  EXPECT_OK(transaction->rollback_to(savepoint));
  EXPECT_TRUE(holds(*transaction, {{"a", "1"}, {"b", "0"}}));
  must(transaction->commit());
  EXPECT_TRUE(holds(*engine_, {{"a", "1"}, {"b", "0"}}));
}

TEST_P(TransactionConformance, RollbackToMayBeRepeated) {
  auto transaction = must(engine_->begin());
  must(transaction->put("keep", "1"));
  const Savepoint savepoint = transaction->savepoint();
  for (int i = 0; i < 5; ++i) {
    must(transaction->put(numbered(i), "2"));
    must(transaction->erase("keep"));
    EXPECT_OK(transaction->rollback_to(savepoint));
    EXPECT_OK(transaction->rollback_to(savepoint));
    EXPECT_EQ("keep", keys(*transaction));
  }
  must(transaction->put("last", "3"));
  must(transaction->commit());
  EXPECT_TRUE(holds(*engine_, {{"keep", "1"}, {"last", "3"}}));
}

TEST_P(TransactionConformance, SavepointsNest) {
  put(*engine_, "key", "committed");
  auto transaction = must(engine_->begin());
  std::vector<Savepoint> savepoints;
  std::vector<Map> states;
  Map state{{"key", "committed"}};
  for (int depth = 0; depth < 10; ++depth) {
    savepoints.push_back(transaction->savepoint());
    states.push_back(state);
    must(transaction->put("key", std::to_string(depth)));
    must(transaction->put(numbered(depth), "value"));
    if (depth > 1) must(transaction->erase(numbered(depth - 2)));
    state["key"] = std::to_string(depth);
    state[numbered(depth)] = "value";
    if (depth > 1) state.erase(numbered(depth - 2));
    EXPECT_TRUE(holds(*transaction, state));
  }
  for (int depth : {8, 5, 4, 0}) {  // each makes the later ones void
    EXPECT_OK(transaction->rollback_to(savepoints[depth]));
    EXPECT_TRUE(holds(*transaction, states[depth])) << depth;
  }
  must(transaction->put("after", "1"));
  must(transaction->commit());
  EXPECT_TRUE(holds(*engine_, {{"after", "1"}, {"key", "committed"}}));
}

TEST_P(TransactionConformance, RollbackPastTheEndIsInvalidAndHarmless) {
  auto transaction = must(engine_->begin());
  must(transaction->put("a", "1"));
  const Savepoint one = transaction->savepoint();
  must(transaction->put("b", "1"));
  const Savepoint two = transaction->savepoint();
  must(transaction->rollback_to(one));
  EXPECT_CODE(kInvalidArgument, transaction->rollback_to(two));
  EXPECT_EQ("a", keys(*transaction));
  EXPECT_OK(transaction->commit());
  EXPECT_TRUE(holds(*engine_, {{"a", "1"}}));
}

// ------------------------------------------------------------------------------ the writer's place

using WriterConformance = EngineTest;
INSTANTIATE_ENGINE_TESTS(WriterConformance);

template <typename Call>
void in_thread(Call call) {
  std::thread(std::move(call)).join();
}

TEST_P(WriterConformance, SecondBeginByTheSameThreadIsBusyAtOnce) {
  auto transaction = must(engine_->begin());
  EXPECT_CODE(kBusy, engine_->begin());  // for ever would be for ever
  EXPECT_CODE(kBusy, engine_->begin(kForever));
  EXPECT_CODE(kBusy, engine_->begin(std::chrono::hours(1)));
  EXPECT_CODE(kBusy, engine_->begin(milliseconds(0)));
  must(transaction->put("key", "value"));
  EXPECT_OK(transaction->commit());
  EXPECT_OK(engine_->begin(milliseconds(0)));
}

TEST_P(WriterConformance, BeginTimesOutInAnotherThread) {
  auto transaction = must(engine_->begin());
  in_thread([&] {
    EXPECT_CODE(kBusy, engine_->begin(milliseconds(0)));
    EXPECT_CODE(kBusy, engine_->begin(milliseconds(1)));
    SteadyClock clock;
    const int64_t start_ms = clock.now_ms();
    EXPECT_CODE(kBusy, engine_->begin(milliseconds(30)));
    EXPECT_GE(clock.now_ms() - start_ms, 29);
  });
  must(transaction->put("key", "value"));
  EXPECT_OK(transaction->commit());
}

TEST_P(WriterConformance, PlaceIsFreeAfterCommitDropAndEmptyCommit) {
  for (int i = 0; i < 3; ++i) {
    must(must(engine_->begin(milliseconds(0)))->put("dropped", "value"));
    must(must(engine_->begin(milliseconds(0)))->commit());
    auto committed = must(engine_->begin(milliseconds(0)));
    must(committed->put("key", "value"));
    must(committed->commit());
    auto next = engine_->begin(milliseconds(0));  // while the committed one is still an object
    EXPECT_OK(next);
  }
}

TEST_P(WriterConformance, BeginWaitsForAnotherThreadsCommit) {
  auto transaction = must(engine_->begin());
  must(transaction->put("key", "first"));
  std::atomic<bool> committing = false;
  std::latch waiting(1);
  std::thread waiter([&] {
    waiting.count_down();
    auto mine = must(engine_->begin());
    EXPECT_TRUE(committing);
    EXPECT_EQ("first", get(*mine, "key"));
    EXPECT_EQ(2U, mine->sequence());
    must(mine->put("key", "second"));
    must(mine->commit());
  });
  waiting.wait();
  committing = true;
  must(transaction->commit());
  waiter.join();
  EXPECT_EQ("second", get(*engine_, "key"));
}

TEST_P(WriterConformance, BeginWaitsForAnotherThreadsDrop) {
  auto transaction = must(engine_->begin());
  must(transaction->put("key", "dropped"));
  std::atomic<bool> dropping = false;
  std::thread waiter([&] {
    auto mine = must(engine_->begin(std::chrono::hours(1)));
    EXPECT_TRUE(dropping);
    EXPECT_EQ(std::nullopt, get(*mine, "key"));
  });
  dropping = true;
  transaction.reset();
  waiter.join();
}

TEST_P(WriterConformance, TransactionMovesToAnotherThread) {
  auto transaction = must(engine_->begin());
  must(transaction->put("here", "1"));
  in_thread([&, moved = std::move(transaction)]() mutable {
    EXPECT_EQ("here", keys(*moved));
    must(moved->put("there", "2"));
    EXPECT_EQ(1U, must(moved->commit()));
  });
  EXPECT_TRUE(holds(*engine_, {{"here", "1"}, {"there", "2"}}));
  EXPECT_EQ(2U, put(*engine_, "again", "3"));
}

TEST_P(WriterConformance, TransactionDroppedInAnotherThreadFreesThePlace) {
  auto transaction = must(engine_->begin());
  must(transaction->put("key", "value"));
  in_thread([moved = std::move(transaction)]() mutable { moved.reset(); });
  EXPECT_OK(engine_->begin(milliseconds(0)));
  EXPECT_TRUE(holds(*engine_, {}));
}

TEST_P(WriterConformance, TransactionBelongsToTheThreadThatUsedItLast) {
  auto transaction = must(engine_->begin());
  std::latch used(1);
  std::thread other([&, moved = std::move(transaction)]() mutable {
    must(moved->put("key", "value"));
    EXPECT_CODE(kBusy, engine_->begin());  // it is this thread's now,
    used.count_down();
    must(moved->commit());
  });
  used.wait();
  EXPECT_OK(engine_->begin());  // so this thread waits for it instead of being told Busy
  other.join();

  transaction = must(engine_->begin());
  in_thread([&] { must(transaction->put("there", "value")); });
  must(transaction->put("and back", "value"));
  EXPECT_CODE(kBusy, engine_->begin());
}

TEST_P(WriterConformance, EveryWaiterGetsItsTurn) {
  auto transaction = must(engine_->begin());
  constexpr int kWaiters = 8;
  std::vector<std::thread> waiters;
  for (int i = 0; i < kWaiters; ++i) {
    waiters.emplace_back([&, i] { put(*engine_, numbered(i), "value"); });
  }
  transaction.reset();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(kWaiters, must(engine_->snapshot())->sequence());
}

TEST_P(WriterConformance, ReadersDoNotWait) {
  put(*engine_, "key", "value");
  auto before = must(engine_->snapshot());
  auto transaction = must(engine_->begin());
  must(transaction->put("key", "other"));
  auto read = [&] {
    EXPECT_EQ("value", get(*before, "key"));
    EXPECT_EQ("value", get(*engine_, "key"));
    EXPECT_EQ("key", keys(*engine_));
    EXPECT_EQ(1U, engine_->stats().last_sequence);
  };
  read();
  in_thread(read);
}

TEST_P(WriterConformance, SyncDoesNotNeedTheWriter) {
  put(*engine_, "key", "value");
  auto transaction = must(engine_->begin());
  must(transaction->put("key", "other"));
  EXPECT_OK(engine_->sync());
  EXPECT_OK(engine_->wait_durable(1));
  in_thread([&] { EXPECT_OK(engine_->sync()); });
  EXPECT_OK(transaction->commit());
}

}  // namespace
}  // namespace lapse::engine
