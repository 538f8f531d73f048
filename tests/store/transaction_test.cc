// Transactions, snapshots, update, view and write batches.

#include <atomic>
#include <latch>
#include <stdexcept>
#include <thread>

#include "test_stores.h"

namespace lapse {
namespace {

class Transactions : public EveryStore {
 protected:
  uint64_t revision() { return store().stats().last_revision; }
};
INSTANTIATE_STORE_TESTS(Transactions);

// ------------------------------------------------------------------------------------ commit and rollback

TEST_P(Transactions, TakeEffectTogetherAtCommit) {
  must(store().put("old", "value", 1h));
  Transaction transaction = must(store().begin());
  must(transaction.put("a", "1", 1min));
  must(transaction.put("b", "2"));
  EXPECT_TRUE(must(transaction.erase("old")));
  EXPECT_EQ("old=value", contents(store()));
  EXPECT_EQ("a=1 b=2", contents(transaction));
  const uint64_t promised = transaction.revision();
  EXPECT_EQ(promised, must(transaction.commit()));
  EXPECT_EQ(promised, revision());
  EXPECT_EQ("a=1 b=2", contents(store()));
  EXPECT_EQ("a@61000", expiring(store()));
}

TEST_P(Transactions, DroppedAreRolledBack) {
  must(store().put("old", "value", 1h));
  {
    Transaction transaction = must(store().begin());
    must(transaction.put("new", "value", 1min));
    must(transaction.erase("old"));
    must(transaction.clear());
  }
  EXPECT_EQ("old=value", contents(store()));
  EXPECT_EQ("old@3601000", expiring(store()));
  EXPECT_OK(store().put("next", "value")) << "the writer is free again";
}

TEST_P(Transactions, RolledBackLeaveNothing) {
  Transaction transaction = must(store().begin());
  must(transaction.put("new", "value", 1min));
  transaction.rollback();
  EXPECT_EQ("", contents(store()));
  EXPECT_OK(store().put("next", "value"));
}

TEST_P(Transactions, TellHowMuchTheyHaveWrittenTheHistoryIncluded) {
  Family docs = must(store().create_family("docs", {.history = HistoryPolicy{}}));
  must(docs.put("key", std::string(100'000, 'x')));
  Transaction transaction = must(store().begin());
  EXPECT_EQ(0U, transaction.written_bytes());
  must(transaction.put("key", std::string(100'000, 'x')));
  EXPECT_NEAR(100'000, static_cast<double>(transaction.written_bytes()), 1'000);
  must(transaction.expire("key", 1min));
  EXPECT_NEAR(200'000, static_cast<double>(transaction.written_bytes()), 1'000);
  EXPECT_TRUE(must(transaction.in(docs).erase("key")));
  EXPECT_NEAR(300'000, static_cast<double>(transaction.written_bytes()), 1'000);
}

TEST_P(Transactions, ThatAreOverRefuseEveryCall) {
  for (const bool committed : {true, false}) {
    Transaction transaction = must(store().begin());
    must(transaction.put("key", "value"));
    if (committed) {
      must(transaction.commit());
    } else {
      transaction.rollback();
    }
    EXPECT_CODE(kInvalidArgument, transaction.get("key"));
    EXPECT_CODE(kInvalidArgument, transaction.put("key", "value"));
    EXPECT_CODE(kInvalidArgument, transaction.iterate());
    EXPECT_CODE(kInvalidArgument, transaction.rollback_to({}));
    EXPECT_CODE(kInvalidArgument, transaction.commit());
    transaction.rollback();
  }
}

TEST_P(Transactions, ThatWroteNothingTakeNoNumber) {
  must(store().put("key", "value"));
  const uint64_t before = revision();
  Transaction transaction = must(store().begin());
  EXPECT_EQ("value", get(transaction, "key"));
  EXPECT_EQ(before, must(transaction.commit()));
  EXPECT_EQ(before, revision());
}

TEST_P(Transactions, CanBeMoved) {
  Transaction first = must(store().begin());
  must(first.put("key", "value"));
  Transaction second = std::move(first);
  EXPECT_EQ("value", get(second, "key"));
  must(second.commit());
  second = must(store().begin());
  must(second.put("other", "value"));
  second = must([&] {
    second.rollback();
    return store().begin();
  }());
  must(second.commit());
  EXPECT_EQ("key", keys(store()));
}

TEST_P(Transactions, CallInManyStepsThatFailsUndoesThemAll) {
  options_.max_transaction_bytes = 20'000;
  options_.sweep_per_write = 0;
  for (int i = 0; i < 1'000; i += 100) put_numbered(store(), i, i + 100, "value", 1s);
  clock_.advance(1'000);
  Transaction transaction = must(store().begin());
  must(transaction.put("mine", "value"));
  uint64_t told = 0;
  EXPECT_CODE(kTooLarge, transaction.purge_expired({.removed = [&](const RemovedKey&) { ++told; }}));
  EXPECT_EQ(0u, told);
  EXPECT_CODE(kTooLarge, transaction.erase_prefix("key"));
  must(transaction.commit());
  EXPECT_EQ("mine", keys(must(store().snapshot())));
  EXPECT_EQ(1'000u, purge(store()));
  EXPECT_OK(store().verify());
}

TEST_P(Transactions, FilledToTheLimitTheyCanBeCommitted) {
  options_.max_transaction_bytes = 20'000;
  Family dated = must(store().create_family("dated", {.history = HistoryPolicy{}}));
  for (int value_bytes = 1; value_bytes < 100; ++value_bytes) {
    clock_.advance(2'000);
    Transaction transaction = must(store().begin());
    int puts = 0;
    while (transaction.in(dated).put(numbered(puts), std::string(value_bytes, 'v')).ok()) ++puts;
    while (transaction.put(numbered(puts), "").ok()) ++puts;
    EXPECT_OK(transaction.commit()) << value_bytes;
  }
}

// ------------------------------------------------------------------------------------------- own writes

TEST_P(Transactions, SeeTheirOwnWrites) {
  must(store().put("a", "1"));
  must(store().put("b", "2", 1h));
  Transaction transaction = must(store().begin());
  must(transaction.put("a", "changed", 1min));
  must(transaction.erase("b"));
  must(transaction.put("c", "3"));
  EXPECT_EQ("a=changed c=3", contents(transaction));
  EXPECT_EQ("c=3 a=changed", reversed_contents(transaction));
  EXPECT_EQ("a@61000", expiring(transaction));
  EXPECT_EQ(2u, count(transaction));
  EXPECT_EQ(1min, ttl(transaction, "a"));
  EXPECT_EQ((std::vector<uint64_t>{1}), must(transaction.forecast(24h, 1)));
  EXPECT_EQ(3, must(transaction.increment("c", 0)).value);
  EXPECT_TRUE(must(transaction.put_if_absent("b", "again")));
  EXPECT_FALSE(must(transaction.put_if_absent("b", "and again")));
}

TEST_P(Transactions, SeveralWritesToOneKeyLeaveOneRevision) {
  const Family past = this->past();
  must(store().update([&](Transaction& transaction) {
    Family mine = transaction.in(past);
    LAPSE_TRY(mine.put("key", "1"));
    LAPSE_TRY(mine.put("key", "2", 1h));
    LAPSE_TRY(mine.erase("key"));
    return mine.put("key", "3");
  }));
  EXPECT_EQ("3[1000,)", history(past, "key"));
  clock_.advance(1'000);
  must(store().update([&](Transaction& transaction) {
    Family mine = transaction.in(past);
    LAPSE_TRY(mine.put("key", "4"));
    EXPECT_EQ("4[2000,) 3[1000,2000)overwritten", history(mine, "key"));
    return mine.erase("key").status();
  }));
  EXPECT_EQ("3[1000,2000)erased", history(past, "key"));
  EXPECT_OK(store().verify());
}

TEST_P(Transactions, AcrossFamilies) {
  Family a = family("a");
  Family b = family("b");
  must(a.put("key", "in a", 1h));
  must(store().update([&](Transaction& transaction) {
    LAPSE_TRY_ASSIGN(auto value, transaction.in(a).get_and_erase("key"));
    LAPSE_TRY(transaction.in(b).put("key", *value + ", once", 1min));
    EXPECT_EQ("", contents(transaction.in(a)));
    return transaction.put("key", "moved");
  }));
  EXPECT_EQ("", contents(a));
  EXPECT_EQ("key=in\\x20a,\\x20once", contents(b));
  EXPECT_EQ("key=moved", contents(store()));
  {
    Transaction transaction = must(store().begin());
    must(transaction.in(a).put("x", "1"));
    must(transaction.in(b).put("x", "1"));
  }
  EXPECT_FALSE(exists(a, "x"));
  EXPECT_FALSE(exists(b, "x"));
}

TEST_P(Transactions, RefuseAFamilyOfAnotherStore) {
  Store other = must(Store::open_in_memory({.clock = &clock_}));
  const Family foreign = must(other.create_family("f"));
  Transaction transaction = must(store().begin());
  EXPECT_CODE(kInvalidArgument, transaction.in(foreign).put("key", "value"));
  const Snapshot snapshot = must(store().snapshot());
  EXPECT_CODE(kInvalidArgument, snapshot.in(foreign).get("key"));
}

TEST_P(Transactions, AFailedCallLeavesThemAsTheyWere) {
  Transaction transaction = must(store().begin());
  must(transaction.put("a", "1"));
  EXPECT_CODE(kInvalidArgument, transaction.put("b", "2", 0s));
  EXPECT_CODE(kTooLarge, transaction.put(std::string(kMaxKeyBytes + 1, 'k'), "2"));
  EXPECT_CODE(kTooLarge, transaction.multi_put(
                             std::vector<KeyValue>{{"c", "3"}, {std::string(kMaxKeyBytes + 1, 'k'), ""}}));
  must(transaction.put("text", "no number"));
  EXPECT_CODE(kInvalidArgument, transaction.increment("text"));
  EXPECT_EQ("a=1 text=no\\x20number", contents(transaction));
  must(transaction.commit());
  EXPECT_EQ("a text", keys(store()));
}

// ------------------------------------------------------------------------------------------- savepoints

TEST_P(Transactions, RollBackToASavepoint) {
  Family past = this->past();
  Family counted = family("counted", {.counted = true});
  must(past.put("a", "0", 1h));
  Transaction transaction = must(store().begin());
  must(transaction.in(past).put("a", "1"));
  must(transaction.in(counted).put("a", "1"));
  const Savepoint savepoint = transaction.savepoint();
  must(transaction.in(past).put("a", "2", 1min));
  must(transaction.in(past).put("b", "2", 1min));
  must(transaction.in(counted).put("b", "2", 1min));
  must(transaction.in(counted).erase("a"));
  must(transaction.rollback_to(savepoint));
  EXPECT_EQ("a=1", contents(transaction.in(past)));
  EXPECT_EQ("a=1", contents(transaction.in(counted)));
  EXPECT_EQ(1u, count(transaction.in(counted)));
  EXPECT_EQ("", expiring(transaction.in(past)));
  must(transaction.in(past).put("c", "3"));
  must(transaction.rollback_to(savepoint));
  must(transaction.commit());
  EXPECT_EQ("a=1", contents(past));
  EXPECT_EQ("1[1000,) 0[1000,1000)overwritten", history(past, "a"));
  EXPECT_EQ(1u, count(counted));
  EXPECT_OK(store().verify());
}

TEST_P(Transactions, SavepointsNest) {
  Transaction transaction = must(store().begin());
  const Savepoint none = transaction.savepoint();
  must(transaction.put("a", "1"));
  const Savepoint one = transaction.savepoint();
  must(transaction.put("b", "2"));
  const Savepoint two = transaction.savepoint();
  must(transaction.put("c", "3"));
  must(transaction.rollback_to(two));
  EXPECT_EQ("a b", keys(transaction));
  must(transaction.rollback_to(one));
  EXPECT_EQ("a", keys(transaction));
  must(transaction.put("d", "4"));
  must(transaction.rollback_to(none));
  EXPECT_EQ("", keys(transaction));
  must(transaction.put("e", "5"));
  must(transaction.commit());
  EXPECT_EQ("e", keys(store()));
}

TEST_P(Transactions, RollingBackToAVoidSavepointIsRefused) {
  Transaction transaction = must(store().begin());
  const Savepoint none = transaction.savepoint();
  must(transaction.put("a", "1"));
  must(transaction.put("b", "1"));
  const Savepoint two = transaction.savepoint();
  must(transaction.rollback_to(none));
  EXPECT_CODE(kInvalidArgument, transaction.rollback_to(two));
}

TEST_P(Transactions, AVoidSavepointIsRefusedHoweverMuchIsWrittenSince) {
  Transaction transaction = must(store().begin());
  const Savepoint none = transaction.savepoint();
  must(transaction.put("a", "1", 1h));
  const Savepoint one = transaction.savepoint();
  must(transaction.rollback_to(none));
  // It would come to lie between a row and its expiry entry.
  for (const char* key : {"b", "c", "d"}) must(transaction.put(key, "2", 1h));
  EXPECT_COMPLAINT(kInvalidArgument, transaction.rollback_to(one), "savepoint");
  must(transaction.commit());
  must(store().verify());
  EXPECT_EQ(3u, count(store()));
}

TEST_P(Transactions, ASavepointOfAnotherTransactionIsRefused) {
  Transaction first = must(store().begin());
  must(first.put("a", "1", 1h));
  const Savepoint foreign = first.savepoint();
  first.rollback();
  Transaction second = must(store().begin());
  for (const char* key : {"b", "c", "d"}) must(second.put(key, "2", 1h));
  EXPECT_COMPLAINT(kInvalidArgument, second.rollback_to(foreign), "another transaction's");
  must(second.rollback_to(Savepoint()));
  must(second.commit());
  EXPECT_EQ(0u, count(store()));
}

TEST_P(Transactions, SavepointsCoverClears) {
  Family family = this->family("f", {.counted = true});
  must(family.put("a", "1", 1h));
  Transaction transaction = must(store().begin());
  Family mine = transaction.in(family);
  const Savepoint savepoint = transaction.savepoint();
  must(mine.clear());
  must(mine.put("b", "2"));
  EXPECT_EQ("b", keys(mine));
  EXPECT_EQ(1u, count(mine));
  must(transaction.rollback_to(savepoint));
  EXPECT_EQ("a", keys(mine));
  must(mine.put("c", "3"));
  must(transaction.commit());
  EXPECT_EQ("a c", keys(family));
  EXPECT_EQ(2u, count(family));
  EXPECT_EQ("a@3601000", expiring(family));
  EXPECT_OK(store().verify());
}

TEST_P(Transactions, ClearIsPartOfThem) {
  Family family = this->family("f");
  must(family.put("a", "1", 1h));
  {
    Transaction transaction = must(store().begin());
    must(transaction.in(family).clear());
    EXPECT_EQ("", keys(transaction.in(family)));
    EXPECT_EQ("a", keys(family));
  }
  EXPECT_EQ("a", keys(family));
  Transaction transaction = must(store().begin());
  must(transaction.in(family).clear());
  must(transaction.in(family).put("b", "2", 1min));
  must(transaction.commit());
  EXPECT_EQ("b", keys(family));
  EXPECT_EQ("b@61000", expiring(family));
}

// ------------------------------------------------------------------------------------------ one at a time

TEST_P(Transactions, SecondOfTheSameThreadIsBusyAtOnce) {
  Transaction transaction = must(store().begin());
  EXPECT_CODE(kBusy, store().begin());
  EXPECT_CODE(kBusy, store().put("key", "value"));
  EXPECT_CODE(kBusy, store().create_family("f"));
  EXPECT_CODE(kBusy, store().update([](Transaction&) { return Status(); }));
  EXPECT_OK(transaction.put("key", "value"));
  EXPECT_OK(transaction.commit());
}

TEST_P(Transactions, OfAnotherThreadIsWaitedForAsLongAsAsked) {
  options_.busy_timeout = 1ms;
  Transaction transaction = must(store().begin());
  std::thread([&] {
    EXPECT_CODE(kBusy, store().begin(0ms));
    EXPECT_CODE(kBusy, store().begin(1ms));
    EXPECT_CODE(kBusy, store().put("key", "value"));
    EXPECT_EQ(std::nullopt, get(store(), "key")) << "readers wait for nobody";
  }).join();
  transaction.rollback();
  EXPECT_OK(store().put("key", "value"));
}

TEST_P(Transactions, WhoWaitsIsAskedWhetherToGoOn) {
  std::atomic<int> asked = 0;
  options_.keep_waiting = [&] { return ++asked % 2 != 0; };
  Transaction transaction = must(store().begin());
  EXPECT_CODE(kBusy, store().put("key", "value")) << "at once, as it is this thread's own";
  EXPECT_EQ(0, asked);
  std::thread([&] {
    EXPECT_CODE(kBusy, store().put("key", "value"));
    EXPECT_EQ(2, asked);
    EXPECT_CODE(kBusy, store().create_family("f"));
    EXPECT_EQ(4, asked);
    EXPECT_CODE(kBusy, store().begin(1ms)) << "too short a time to be asked";
    EXPECT_EQ(4, asked);
  }).join();
  transaction.rollback();
  EXPECT_OK(store().put("key", "value"));
}

// Such a time from now is beyond what the system's clocks can count to.
TEST_P(Transactions, WaitingForThousandsOfYearsIsWaiting) {
  for (const std::chrono::milliseconds timeout :
       {kForever - 1ms, std::chrono::milliseconds(10'000'000'000'000)}) {
    Transaction transaction = must(store().begin());
    std::atomic<bool> ended = false;
    std::latch about_to_wait(1);
    std::thread waiting([&] {
      about_to_wait.count_down();
      const auto begun = store().begin(timeout);
      EXPECT_OK(begun);
      EXPECT_TRUE(ended);
    });
    about_to_wait.wait();
    for (int i = 0; i < 1'000; ++i) must(transaction.put(numbered(i), "value"));
    ended = true;
    transaction.rollback();
    waiting.join();
  }
}

TEST_P(Transactions, WaitingOnesGetTheirTurn) {
  Transaction transaction = must(store().begin());
  std::thread waiting([&] { EXPECT_OK(store().put("key", "second")); });
  must(transaction.put("key", "first"));
  must(transaction.commit());
  waiting.join();
  EXPECT_EQ("second", get(store(), "key"));
}

// ---------------------------------------------------------------------------------------- update and view

TEST_P(Transactions, UpdateCommitsWhatReturnsOk) {
  EXPECT_OK(store().update([](Transaction& transaction) { return transaction.put("key", "value", 1h); }));
  EXPECT_EQ("key=value", contents(store()));
}

TEST_P(Transactions, UpdateRollsBackWhatFails) {
  const Status status = store().update([](Transaction& transaction) -> Status {
    LAPSE_TRY(transaction.put("key", "value"));
    return Status(StatusCode::kNotFound, "no such account");
  });
  EXPECT_COMPLAINT(kNotFound, status, "no such account");
  EXPECT_EQ("", contents(store()));
  EXPECT_OK(store().put("key", "value"));
}

TEST_P(Transactions, UpdateRollsBackWhatThrows) {
  EXPECT_THROW(static_cast<void>(store().update([](Transaction& transaction) -> Status {
                 must(transaction.put("key", "value"));
                 throw std::runtime_error("oh");
               })),
               std::runtime_error);
  EXPECT_EQ("", contents(store()));
  EXPECT_OK(store().put("key", "value"));
}

TEST_P(Transactions, UpdateWhoseWorkEndsTheTransactionItselfIsNoError) {
  EXPECT_OK(store().update([](Transaction& transaction) -> Status {
    LAPSE_TRY(transaction.put("key", "rolled back"));
    transaction.rollback();
    return Status();
  }));
  EXPECT_EQ("", contents(store()));
  EXPECT_OK(store().update([](Transaction& transaction) -> Status {
    LAPSE_TRY(transaction.put("key", "committed"));
    return transaction.commit().status();
  }));
  EXPECT_EQ("key=committed", contents(store()));
  EXPECT_OK(store().update([](Transaction& transaction) -> Status {
    LAPSE_TRY(transaction.put("key", "moved away"));
    const Transaction dropped = std::move(transaction);
    return Status();
  }));
  EXPECT_EQ("key=committed", contents(store()));
}

TEST_P(Transactions, ViewSeesOneMoment) {
  Family family = this->family("f");
  must(store().put("a", "1"));
  must(family.put("a", "1"));
  EXPECT_OK(store().view([&](const Snapshot& snapshot) -> Status {
    must(store().put("a", "2"));
    must(family.put("a", "2"));
    must(store().put("b", "2"));
    EXPECT_EQ("a=1", contents(snapshot));
    EXPECT_EQ("a=1", contents(snapshot.in(family)));
    return Status();
  }));
  EXPECT_COMPLAINT(kBusy, store().view([](const Snapshot&) { return Status(StatusCode::kBusy, "later"); }),
                   "later");
}

TEST_P(Transactions, SnapshotsStayAsTheyWere) {
  Family family = this->family("f");
  must(store().put("a", "1", 1h));
  const Snapshot snapshot = must(store().snapshot());
  must(store().put("a", "2"));
  must(store().put("b", "2"));
  must(family.put("a", "2"));
  EXPECT_EQ("a=1", contents(snapshot));
  EXPECT_EQ("a@3601000", expiring(snapshot));
  EXPECT_EQ(1u, count(snapshot));
  EXPECT_EQ("", contents(snapshot.in(family)));
  must(store().clear());
  must(store().drop_family("f"));
  EXPECT_EQ("a=1", contents(snapshot));
}

// --------------------------------------------------------------------------------------------- write batch

TEST_P(Transactions, WriteBatchIsMadeTogether) {
  Family family = this->family("f", {.default_ttl = 1min});
  must(store().put("old", "value", 1h));
  WriteBatch batch;
  batch.put("a", "1");
  batch.put("b", "2", 1s);
  batch.erase("old");
  batch.put(family, "a", "1");
  batch.erase(family, "absent");
  batch.put("a", "last");
  EXPECT_EQ(6u, batch.size());
  const uint64_t before = revision();
  must(store().write(batch));
  EXPECT_EQ(before + 1, revision());
  EXPECT_EQ("a=last b=2", contents(store()));
  EXPECT_EQ("b@2000", expiring(store()));
  EXPECT_EQ(1min, ttl(family, "a"));
  batch.clear();
  EXPECT_EQ(0u, batch.size());
  must(store().write(batch));
  EXPECT_EQ(before + 1, revision());
}

TEST_P(Transactions, WriteBatchIsAllOrNothing) {
  const Family dropped = family("dropped");
  must(store().drop_family("dropped"));
  for (int bad = 0; bad < 3; ++bad) {
    WriteBatch batch;
    batch.put("a", "1");
    if (bad == 0) batch.put("b", "2", 0s);
    if (bad == 1) batch.put(std::string(kMaxKeyBytes + 1, 'k'), "2");
    if (bad == 2) batch.put(dropped, "b", "2");
    batch.put("c", "3");
    EXPECT_FALSE(store().write(batch).ok()) << bad;
    EXPECT_EQ("", contents(store())) << bad;
  }
}

}  // namespace
}  // namespace lapse
