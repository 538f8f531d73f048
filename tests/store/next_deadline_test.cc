// next_deadline(): when to purge next. It may be too early, never too late.

#include <thread>

#include "counting_engine.h"
#include "engine/memory/memory_engine.h"
#include "store/open_on_engine.h"
#include "test_stores.h"

namespace lapse {
namespace {

class NextDeadline : public EveryStore {
 protected:
  NextDeadline() { options_.sweep_per_write = 0; }  // nothing goes but by the purges here
  static int64_t next(const Reader& reader) { return must(reader.next_deadline()); }
};
INSTANTIATE_STORE_TESTS(NextDeadline);

TEST_P(NextDeadline, IsNeverWithoutLifetimes) {
  EXPECT_EQ(kNever, next(store()));
  must(store().put("permanent", "value"));
  EXPECT_EQ(kNever, next(store()));
  EXPECT_EQ(kNever, next(must(store().snapshot())));
  EXPECT_EQ(kNever, next(must(store().begin())));
}

TEST_P(NextDeadline, IsTheEarliestOne) {
  must(store().put("b", "2", 2s));
  EXPECT_EQ(3'000, next(store()));
  must(store().put("c", "3", 3s));
  EXPECT_EQ(3'000, next(store()));
  must(store().put("a", "1", 1s));
  EXPECT_EQ(2'000, next(store()));
}

TEST_P(NextDeadline, OfWhatIsDueIncluded) {
  must(store().put("a", "1", 1s));
  must(store().put("b", "2", 2s));
  clock_.advance(10'000);
  EXPECT_EQ(2'000, next(store()));
  EXPECT_EQ(1u, purge(store(), {.limit = 1}));
  EXPECT_EQ(3'000, next(store()));
  EXPECT_EQ(1u, purge(store()));
  EXPECT_EQ(kNever, next(store()));
}

TEST_P(NextDeadline, IsKnownAgainAfterAReopen) {
  must(store().put("a", "1", 1s));
  reopen();
  EXPECT_EQ(2'000, next(store()));
  must(store().put("b", "2", 500ms));
  EXPECT_EQ(1'500, next(store()));
}

TEST_P(NextDeadline, MayBeTooEarlyUntilAPurgeThen) {
  must(store().put("a", "1", 1s));
  must(store().put("b", "2", 2s));
  EXPECT_EQ(2'000, next(store()));
  EXPECT_TRUE(must(store().erase("a")));
  EXPECT_GE(3'000, next(store()));
  clock_.set(2'000);
  EXPECT_EQ(0u, purge(store()));
  EXPECT_EQ(3'000, next(store()));
  EXPECT_TRUE(must(store().expire("b", 1h)));
  clock_.set(3'000);
  EXPECT_EQ(0u, purge(store()));
  EXPECT_EQ(deadline(store(), "b"), next(store()));
}

TEST_P(NextDeadline, IsTheFamilysOwn) {
  Family a = family("a");
  Family b = family("b");
  must(a.put("key", "value", 1s));
  EXPECT_EQ(2'000, next(a));
  EXPECT_EQ(kNever, next(b));
  EXPECT_EQ(kNever, next(store()));
  must(store().swap_families("a", "b"));
  EXPECT_EQ(kNever, next(a));
  EXPECT_EQ(2'000, next(b));
  must(b.clear());
  EXPECT_EQ(kNever, next(b));
  must(b.put("key", "value", 5s));
  EXPECT_EQ(6'000, next(b));
  must(store().drop_family("b"));
  EXPECT_COMPLAINT(kNotFound, b.next_deadline(), "b");
}

TEST_P(NextDeadline, InATransactionItKnowsItsOwnWrites) {
  must(store().put("a", "1", 10s));
  Transaction transaction = must(store().begin());
  EXPECT_EQ(11'000, next(transaction));
  must(transaction.put("b", "2", 1s));
  EXPECT_EQ(2'000, next(transaction));
  must(transaction.commit());
  EXPECT_EQ(2'000, next(store()));
  EXPECT_COMPLAINT(kInvalidArgument, transaction.next_deadline(), "ended");
}

TEST_P(NextDeadline, APurgeThatIsNotCommittedCountsOnlyInItsTransaction) {
  must(store().put("a", "1", 1s));
  must(store().put("b", "2", 1h));
  clock_.advance(1'000);
  EXPECT_EQ(2'000, next(store()));
  Transaction transaction = must(store().begin());
  const Savepoint before = transaction.savepoint();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(1u, purge(transaction));
    EXPECT_EQ(kStart + 3'600'000, next(transaction));
    EXPECT_EQ(2'000, next(store()));
    std::thread([&] { EXPECT_EQ(2'000, next(store())); }).join();
    must(transaction.rollback_to(before));
    EXPECT_EQ(2'000, next(transaction));
  }
  EXPECT_EQ(1u, purge(transaction));
  transaction.rollback();
  EXPECT_EQ(2'000, next(store()));
  must(store().update([](Transaction& again) { return internal::to_status(again.purge_expired()); }));
  EXPECT_EQ(kStart + 3'600'000, next(store()));
}

TEST_P(NextDeadline, IsNotKnownToAForkedChild) {
  must(store().put("a", "1", 1s));
  EXPECT_EQ(2'000, next(store()));
  EXPECT_EQ("child", in_child([&] {
              EXPECT_COMPLAINT(kUnavailable, store().next_deadline(), "fork");
              return testing::Test::HasFailure() ? "" : "child";
            }));
}

TEST_P(NextDeadline, OfASnapshotIsWhatItSees) {
  must(store().put("a", "1", 1s));
  const Snapshot snapshot = must(store().snapshot());
  must(store().put("b", "2", 10ms));
  clock_.advance(5'000);
  EXPECT_EQ(2u, purge(store()));
  EXPECT_EQ(kNever, next(store()));
  EXPECT_EQ(2'000, next(snapshot));
  Family past = this->past();
  EXPECT_COMPLAINT(kInvalidArgument, must(store().snapshot_at(kStart)).in(past).next_deadline(), "past");
}

TEST_P(NextDeadline, IsUnavailableOnceTheStoreIsClosed) {
  Family a = family("a");
  EXPECT_EQ(kNever, next(a));
  must(store().close());
  EXPECT_COMPLAINT(kUnavailable, store().next_deadline(), "closed");
  EXPECT_COMPLAINT(kUnavailable, a.next_deadline(), "closed");
}

TEST(NextDeadlineCost, IsNothingOnceItIsKnown) {
  ManualClock clock(kStart);
  Options options;
  options.clock = &clock;
  EngineCalls calls;
  Store store = must(open_on_engine(counting_engine(must(engine::open_memory({})), &calls), options));
  Family plain = must(store.create_family("plain"));
  must(plain.put("key", "value"));
  must(store.put("key", "value", 1h));
  must(store.put("sooner", "value", 1min));
  const auto asked = [&](const Reader& reader) {
    const EngineCalls before = calls;
    must(reader.next_deadline());
    const EngineCalls cost = calls - before;
    return cost.all() + cost.snapshots + cost.transactions;
  };
  asked(store);
  asked(plain);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(0u, asked(plain));
    EXPECT_EQ(0u, asked(store));
    must(plain.put("key", "again"));
    must(store.put(numbered(round), "value", 30s));
    EXPECT_EQ(0u, asked(plain));
    EXPECT_EQ(0u, asked(store));
  }
  clock.advance(60'000);
  EXPECT_EQ(4u, purge(store));
  EXPECT_EQ(0u, asked(store));
}

}  // namespace
}  // namespace lapse
