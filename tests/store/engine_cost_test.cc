// Promises 8 and 12, and the costs in 6 and 7: shown by counting what is asked of the engine, not by timing.

#include <sys/resource.h>

#include <algorithm>

#include "counting_engine.h"
#include "engine/local/local_engine.h"
#include "engine/memory/memory_engine.h"
#include "store/history.h"
#include "store/open_on_engine.h"
#include "test_stores.h"

namespace lapse {
namespace {

class EngineCost : public testing::Test {
 protected:
  EngineCost() { options_.clock = &clock_; }

  Store& store() {
    if (!store_)
      store_.emplace(must(open_on_engine(counting_engine(must(engine::open_memory({})), &calls_), options_)));
    return *store_;
  }
  // What a call costs.
  EngineCalls cost_of(const std::function<void()>& call) {
    const EngineCalls before = calls_;
    call();
    return calls_ - before;
  }
  void put_many(Keyspace& keyspace, int from, int to, Lifetime lifetime) {
    std::vector<std::string> names;
    for (int i = from; i < to; ++i) names.push_back(numbered(i));
    std::vector<KeyValue> entries;
    for (const std::string& name : names) entries.emplace_back(name, "value");
    must(keyspace.multi_put(entries, lifetime));
  }

  ManualClock clock_{kStart};
  Options options_;
  EngineCalls calls_;
  std::optional<Store> store_;
};

// ------------------------------------------------------------- 8: nothing is paid for what is not used

TEST_F(EngineCost, no_overhead_non_ttl_cf) {
  Family plain = must(store().create_family("plain"));
  for (Keyspace* keyspace : {static_cast<Keyspace*>(&plain), static_cast<Keyspace*>(&store())}) {
    must(keyspace->put("warm", "up"));
    for (const char* key : {"new", "new"}) {  // the second time it overwrites
      const EngineCalls put = cost_of([&] { must(keyspace->put(key, "value")); });
      EXPECT_EQ(1u, put.puts) << put;
      EXPECT_EQ(0u, put.erases) << put;
      EXPECT_EQ(0u, put.reads()) << put;
      EXPECT_EQ(1u, put.commits) << put;
    }
    for (const char* key : {"new", "absent"}) {
      const EngineCalls get = cost_of([&] { must(keyspace->get(key)); });
      EXPECT_EQ(1u, get.gets) << get;
      EXPECT_EQ(0u, get.cursors + get.moves + get.writes() + get.transactions) << get;
      EXPECT_LE(get.snapshots, 1u) << get;
    }
  }
}

TEST_F(EngineCost, OtherFamiliesLifetimesCostAPlainFamilyNothing) {
  Family plain = must(store().create_family("plain"));
  Family busy = must(store().create_family("busy", {.counted = true, .history = HistoryPolicy{}}));
  put_many(busy, 0, 1'000, 1s);
  clock_.advance(1'000);
  must(plain.put("warm", "up"));
  const EngineCalls put = cost_of([&] { must(plain.put("key", "value")); });
  EXPECT_EQ(1u, put.puts) << put;
  EXPECT_EQ(1u, put.all()) << put;
  const EngineCalls get = cost_of([&] { must(plain.get("key")); });
  EXPECT_EQ(1u, get.gets) << get;
  EXPECT_EQ(1u, get.all()) << get;
}

TEST_F(EngineCost, PlainTransactionCostsOnePutAKey) {
  must(store().put("warm", "up"));
  const EngineCalls cost = cost_of([&] {
    must(store().update([](Transaction& transaction) {
      for (int i = 0; i < 100; ++i) LAPSE_TRY(transaction.put(numbered(i), "value"));
      return Status();
    }));
  });
  EXPECT_EQ(100u, cost.puts) << cost;
  EXPECT_EQ(100u, cost.all()) << cost;
  EXPECT_EQ(1u, cost.commits) << cost;
}

TEST_F(EngineCost, FirstLifetimeOfAnotherFamilyCostsATransactionsPlainFamiliesNothing) {
  Family plain = must(store().create_family("plain"));
  Family other = must(store().create_family("other"));
  must(store().update([&](Transaction& transaction) -> Status {
    LAPSE_TRY(transaction.in(other).put("key", "value", 1h));
    const EngineCalls cost = cost_of([&] {
      for (int i = 0; i < 100; ++i) must(transaction.in(plain).put(numbered(i), "value"));
    });
    EXPECT_EQ(100u, cost.puts) << cost;
    EXPECT_EQ(100u, cost.all()) << cost;
    return {};
  }));
}

TEST_F(EngineCost, ReadOfAKeyWithALifetimeCostsOneGet) {
  must(store().put("key", "value", 1h));
  for (const auto& read : std::vector<std::function<void()>>{
           [&] { must(store().get("key")); }, [&] { must(store().get_entry("key")); },
           [&] { must(store().ttl("key")); }, [&] { must(store().exists("key")); }}) {
    const EngineCalls cost = cost_of(read);
    EXPECT_EQ(1u, cost.gets) << cost;
    EXPECT_EQ(1u, cost.all()) << cost;
  }
}

TEST_F(EngineCost, TouchThatRenewsNothingIsAPlainRead) {
  must(store().put("key", "value", 1h));
  const EngineCalls cost = cost_of([&] { must(store().touch("key", 1h, {.if_left_below = 1min})); });
  EXPECT_EQ(1u, cost.gets) << cost;
  EXPECT_EQ(0u, cost.transactions + cost.writes()) << cost;
}

TEST_F(EngineCost, PutWithALifetimeCostsAFewCallsHoweverManyKeys) {
  EngineCalls first;
  for (const int keys : {10, 1'000, 20'000}) {
    put_many(store(), 0, keys, 1h);
    const EngineCalls cost = cost_of([&] { must(store().put(numbered(5), "again", 2h)); });
    if (keys == 10) first = cost;
    EXPECT_EQ(first.all(), cost.all()) << cost;
  }
  EXPECT_EQ(2u, first.puts) << first << ": the row and its expiry entry";
  EXPECT_EQ(1u, first.erases) << first << ": the expiry entry before";
  EXPECT_EQ(1u, first.reads()) << first;
}

// ------------------------------------------------------------------------ 6 and 7: purges and sweeps

TEST_F(EngineCost, PurgeCostsWhatIsRemovedNotWhatIsThere) {
  uint64_t among_few = 0;
  for (const int others : {100, 20'000}) {
    must(store().clear());
    put_many(store(), 0, others, 1h);
    put_many(store(), 50'000, 50'200, 1s);
    must(store().purge_all_expired());  // with it goes what the clear() left
    for (int i = 0; i < 200; ++i) must(store().purge_all_expired());
    clock_.advance(1'000);
    const EngineCalls cost = cost_of([&] { EXPECT_EQ(200u, purge(store())); });
    EXPECT_GE(200u * 8, cost.all()) << cost;
    if (among_few == 0) among_few = cost.all();
    EXPECT_NEAR(static_cast<double>(among_few), static_cast<double>(cost.all()), 10) << cost;
  }
}

TEST_F(EngineCost, PurgeOfNothingIsNearlyFree) {
  put_many(store(), 0, 10'000, 1h);
  const EngineCalls cost = cost_of([&] { EXPECT_EQ(0u, purge(store())); });
  EXPECT_GE(5u, cost.all()) << cost;
  EXPECT_EQ(0u, cost.writes()) << cost;
}

TEST_F(EngineCost, PurgeLetsTheWriterGoBetweenBatches) {
  put_many(store(), 0, 1'000, 1s);
  clock_.advance(1'000);
  const EngineCalls cost = cost_of([&] { EXPECT_EQ(1'000u, purge(store())); });
  EXPECT_EQ(4u, cost.commits) << cost;
  EXPECT_LE(4u, cost.transactions) << cost;
}

TEST_F(EngineCost, WhatAPurgeHasLearntOutlastsAFailingCallBehindIt) {
  put_many(store(), 0, 1'000, 1s);
  must(store().put("text", "no number"));
  clock_.advance(1'000);
  Transaction transaction = must(store().begin());
  EXPECT_EQ(300u, purge(transaction, {.limit = 300}));
  EXPECT_FALSE(transaction.increment("text", 1).ok());
  const Savepoint behind = transaction.savepoint();
  must(transaction.put("other", "value"));
  must(transaction.rollback_to(behind));
  const EngineCalls cost = cost_of([&] { EXPECT_EQ(kStart + 1'000, must(transaction.next_deadline())); });
  EXPECT_EQ(0u, cost.all()) << cost << ": it is known";
  const EngineCalls next = cost_of([&] { EXPECT_EQ(300u, purge(transaction, {.limit = 300})); });
  EXPECT_GE(5u, next.walked_erased) << next;
}

TEST_F(EngineCost, WhatAPurgeHasLearntIsBelievedAlsoAfterOneThatHadNothingToDo) {
  EXPECT_EQ(0u, purge(store()));
  must(store().put("later", "value", 1h));
  put_many(store(), 0, 1'000, 1s);
  clock_.advance(1'000);
  EXPECT_EQ(1'000u, purge(store()));
  const EngineCalls cost = cost_of([&] { EXPECT_EQ(kStart + 3'600'000, must(store().next_deadline())); });
  EXPECT_EQ(0u, cost.all() + cost.transactions) << cost << ": it is known";
  const Snapshot snapshot = must(store().snapshot());
  const EngineCalls there = cost_of([&] { EXPECT_EQ(kStart + 3'600'000, must(snapshot.next_deadline())); });
  EXPECT_EQ(0u, there.walked_erased) << there;
}

TEST_F(EngineCost, PurgeWithALimitReclaimsNoMoreThanABatch) {
  Family family = must(store().create_family("f"));
  put_many(family, 0, 5'000, {});
  must(family.clear());
  const EngineCalls outside = cost_of([&] { EXPECT_EQ(0u, purge(store(), {.limit = 1})); });
  EXPECT_EQ(1u, outside.commits) << outside;
  EXPECT_GE(300u, outside.writes()) << outside;
  Transaction transaction = must(store().begin());
  const EngineCalls inside = cost_of([&] { EXPECT_EQ(0u, purge(transaction)); });
  EXPECT_GE(300u, inside.writes()) << inside << ": other writers wait for it";
  must(transaction.commit());
  const EngineCalls rest = cost_of([&] { EXPECT_EQ(0u, purge(store())); });
  EXPECT_LE(4'000u, rest.writes()) << rest << ": all of it, others being let in between";
}

TEST_F(EngineCost, SweepThatFindsNothingDueCostsNothing) {
  options_.sweep_per_write = 10;
  put_many(store(), 0, 1'000, 1h);
  must(store().put("warm", "up"));
  const EngineCalls cost = cost_of([&] { must(store().put(numbered(5'000), "value")); });
  options_.sweep_per_write = 0;
  EngineCalls unswept_calls;
  Store unswept =
      must(open_on_engine(counting_engine(must(engine::open_memory({})), &unswept_calls), options_));
  must(unswept.put("key", "value", 1h));
  const EngineCalls before = unswept_calls;
  must(unswept.put("other", "value"));
  EXPECT_EQ((unswept_calls - before).all(), cost.all()) << cost;
}

TEST_F(EngineCost, CountOfACountedFamilyDoesNotWalk) {
  Family counted = must(store().create_family("counted", {.counted = true}));
  put_many(counted, 0, 5'000, 1h);
  put_many(counted, 10'000, 10'003, 1s);
  clock_.advance(1'000);
  const EngineCalls cost = cost_of([&] { EXPECT_EQ(5'000u, count(counted)); });
  EXPECT_GE(20u, cost.all()) << cost;
  put_many(store(), 0, 5'000, {});
  const EngineCalls estimate = cost_of([&] { must(store().estimated_count()); });
  EXPECT_GE(5u, estimate.all()) << estimate;
}

TEST_F(EngineCost, TrimmingHistoryCostsWhatIsTrimmed) {
  Family past = must(store().create_family("past", {.history = HistoryPolicy{.keep_last = 100}}));
  for (int i = 0; i < 150; ++i) must(past.put("key", std::to_string(i)));
  const EngineCalls cost = cost_of([&] { must(past.put("key", "last")); });
  EXPECT_GE(15u, cost.all()) << cost << ": it walked over all that it keeps";
}

// Rows that were trimmed are in the engine's way until they are drained: a key's own, and those of its neighbours.
TEST_F(EngineCost, WritesWalkOverNothingThatWasTrimmedBefore) {
  for (const HistoryPolicy policy :
       {HistoryPolicy{.keep_last = 1}, HistoryPolicy{.keep_last = 10}, HistoryPolicy{.keep_for = 5ms}}) {
    Family past = must(store().create_family("past", {.history = policy}));
    for (int i = 0; i < 500; ++i) {
      for (const char* key : {"b", "hot", "x"}) must(past.put(key, "value"));
      clock_.advance(1);
    }
    for (const char* key : {"a", "b", "c", "hot", "w", "x", "z"}) {
      for (const char* what : {"put", "overwrite", "erase", "put after erase"}) {
        clock_.advance(1);
        const EngineCalls cost = cost_of(
            [&] { must(what == std::string("erase") ? past.erase(key).status() : past.put(key, "value")); });
        EXPECT_GE(30u, cost.all()) << what << " " << key << ": " << cost;
        EXPECT_GE(15u, cost.walked_erased) << what << " " << key << ": " << cost;
      }
    }
    must(store().drop_family("past"));
  }
}

TEST_F(EngineCost, LookingBackWalksOverNothingThatWasTrimmed) {
  Family past = must(store().create_family("past", {.history = HistoryPolicy{.keep_last = 10}}));
  for (int i = 0; i < 500; ++i) {
    clock_.advance(1);
    for (const char* key : {"b", "hot", "x"}) must(past.put(key, "value"));
  }
  must(past.erase("x"));
  const uint64_t oldest = must(past.history("hot")).back().revision;
  for (const char* key : {"a", "b", "c", "hot", "w", "x", "z"}) {
    const std::vector<std::function<void()>> looks = {
        [&] { EXPECT_EQ(std::nullopt, get_at(past, key, kStart + 1)); },
        [&] { must(past.get_at(key, clock_.now_ms() - 5)); },
        [&] { must(past.history(key)); },
        [&] { must(past.get_revision(key, oldest)); },
        [&] { EXPECT_FALSE(must(past.get_revision(key, 1))); },
        [&] { must(past.restore(key, clock_.now_ms())); },
    };
    for (size_t i = 0; i < looks.size(); ++i) {
      const EngineCalls cost = cost_of(looks[i]);
      EXPECT_GE(25u, cost.all()) << i << " of " << key << ": " << cost;
      EXPECT_GE(3u, cost.walked_erased) << i << " of " << key << ": " << cost;
    }
  }
}

TEST_F(EngineCost, LookingBackWalksOverLittleOfWhatAPurgeOfHistoryTook) {
  const FamilyOptions shorter{.history = HistoryPolicy{.keep_last = 2}};
  Family past = must(store().create_family("past", {.history = HistoryPolicy{}}));
  for (int i = 0; i < 1'000; ++i) {
    clock_.advance(1);
    for (const char* key : {"hot", "gone"}) must(past.put(key, std::to_string(i)));
  }
  must(past.erase("gone"));
  must(store().set_family_options("past", shorter));
  EXPECT_LT(1'900u, must(past.purge_history()));
  for (const char* key : {"hot", "gone"}) {
    const std::vector<std::function<void()>> looks = {
        [&] { EXPECT_GE(3u, must(past.history(key)).size()); },
        [&] { EXPECT_EQ(std::nullopt, get_at(past, key, kStart + 10)); },
        [&] { EXPECT_EQ("999", get_at(past, key, clock_.now_ms())); },
        [&] { must(past.put(key, "new")); },
    };
    for (size_t i = 0; i < looks.size(); ++i) {
      if (i == 2 && key == std::string("gone")) continue;
      const EngineCalls cost = cost_of(looks[i]);
      EXPECT_GE(5u, cost.walked_erased) << i << " of " << key << ": " << cost;
    }
  }
  EXPECT_OK(store().verify());
}

// A step of the purge ends with the last revision to go, or with the last there is.
TEST_F(EngineCost, LookingBackWalksOverLittleAlsoBehindAsManyRevisionsAsAPurgeTakesInAStep) {
  for (const uint32_t keep : {1, 2}) {
    const std::string name = "keep " + std::to_string(keep);
    Family past = must(store().create_family(name, {.history = HistoryPolicy{}}));
    for (uint64_t i = 0; i < 512 + keep; ++i) {
      clock_.advance(1);
      must(past.put("key", "value"));
    }
    must(past.put("next", "value"));
    must(store().set_family_options(name, {.history = HistoryPolicy{.keep_last = keep}}));
    EXPECT_EQ(512u, must(past.purge_history()));
    const EngineCalls cost = cost_of([&] { EXPECT_EQ(keep, must(past.history("key")).size()); });
    EXPECT_GE(5u, cost.walked_erased) << name << ": " << cost;
  }
}

TEST_F(EngineCost, SnapshotOfThePastCrossesWhatWasErasedOnce) {
  Family past = must(store().create_family("past", {.history = HistoryPolicy{.keep_last = 1}}));
  put_many(past, 0, 100, {});        // no history
  put_many(past, 1'000, 1'100, {});  // history, but no rows
  put_many(past, 2'000, 2'100, {});
  const int64_t then_ms = clock_.now_ms();
  clock_.advance(1);
  for (int i = 0; i < 500; ++i) must(past.put(numbered(5'000), "value"));  // rows that were trimmed
  EXPECT_EQ(100u, must(past.erase_range(numbered(1'000), numbered(1'100))));
  const Snapshot snapshot = must(store().snapshot_at(then_ms));
  const EngineCalls forward = cost_of([&] { EXPECT_EQ(300u, count(snapshot.in(past))); });
  EXPECT_GE(2'000u, forward.walked_erased) << forward;
  const EngineCalls back =
      cost_of([&] { EXPECT_EQ(300u, how_many(keys(snapshot.in(past), {.reverse = true}))); });
  EXPECT_GE(3'000u, back.walked_erased) << back;
}

TEST_F(EngineCost, TrimmingAKeyThatIsPutAndErasedBeginsWhereItEnded) {
  const TempDir dir;
  {
    Store writer = must(Store::open(dir.file("past.db"), options_));
    Family past = must(writer.create_family("past", {.history = HistoryPolicy{.keep_last = 2}}));
    for (int i = 0; i < 100; ++i) {
      must(past.put("lease", "worker"));
      EXPECT_TRUE(must(past.erase("lease")));
      clock_.advance(1);
    }
  }
  const auto engine = must(engine::open_local(dir.file("past.db"), {}));
  const auto snapshot = must(engine->snapshot());
  const internal::FamilyRecord record = must(internal::read_record(*snapshot, "past"));
  const internal::HistoryState state = must(internal::state_without_row(*snapshot, record.id, "lease"));
  EXPECT_EQ(100u, state.newest_ordinal);
  EXPECT_LE(clock_.now_ms() - 5, state.oldest_written_at_ms);
}

TEST_F(EngineCost, PurgeOfHistoryLetsTheWriterGoAlsoWhereItTrimsNothing) {
  Family past = must(store().create_family("past", {.history = HistoryPolicy{.keep_last = 10}}));
  for (const int round : {1, 2}) put_many(past, 0, 5'000, std::chrono::hours(round));
  const EngineCalls cost = cost_of([&] { EXPECT_EQ(0u, must(past.purge_history())); });
  EXPECT_LE(5u, cost.transactions) << cost;
  EXPECT_EQ(0u, cost.writes()) << cost;
}

TEST_F(EngineCost, DropAndClearAreSmallSteps) {
  Family family = must(store().create_family("f", {.history = HistoryPolicy{}}));
  put_many(family, 0, 5'000, 1h);
  const EngineCalls clear = cost_of([&] { must(family.clear()); });
  EXPECT_GE(100u, clear.all()) << clear << ": more than a little of the garbage";
  put_many(family, 0, 5'000, 1h);
  const EngineCalls drop = cost_of([&] { must(store().drop_family("f")); });
  EXPECT_GE(100u, drop.all()) << drop << ": more than a little of the garbage";
}

TEST_F(EngineCost, ClearingAgainAndAgainDoesNotWalkOverWhatIsGone) {
  Family family = must(store().create_family("f"));
  for (int i = 0; i < 300; ++i) {
    const EngineCalls cost = cost_of([&] {
      must(family.put("key", "value", 1h));
      must(family.clear());
    });
    EXPECT_GE(10u, cost.walked_erased) << i << ": " << cost;
  }
  for (int i = 0; i < 300; ++i) {
    const EngineCalls cost = cost_of([&] {
      must(must(store().create_family("short")).put("key", "value"));
      must(store().drop_family("short"));
    });
    EXPECT_GE(10u, cost.walked_erased) << i << ": " << cost;
  }
}

// ---------------------------------------------------------------------------------- 12: opening is cheap

TEST_F(EngineCost, OpeningCostsTheSameHoweverManyKeysHaveLifetimes) {
  const TempDir dir;
  std::vector<uint64_t> costs;
  for (const int keys : {0, 100, 20'000}) {
    const std::string path = dir.file(std::to_string(keys));
    {
      Store writer = must(Store::open(path, options_));
      if (keys != 0) put_many(writer, 0, keys, 1s);
      must(writer.put("permanent", "value"));
      must(writer.checkpoint());
    }
    clock_.advance(10'000);  // all of them are due
    EngineCalls calls;
    auto engine = counting_engine(must(engine::open_local(path, {})), &calls);
    Store opened = must(open_on_engine(std::move(engine), options_));
    costs.push_back(calls.all());
    EXPECT_EQ("value", get(opened, "permanent"));
  }
  EXPECT_EQ(costs[0], costs[1]);
  EXPECT_EQ(costs[0], costs[2]);
  EXPECT_GE(30u, costs[0]);
}

// What the engine does before it can be counted: pages of the file that are looked at are faults of the process.
TEST_F(EngineCost, OpeningLooksAtAsFewPagesHoweverManyKeysThereAre) {
  const TempDir dir;
  const auto faults = [] {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt + usage.ru_majflt;
  };
  std::vector<int64_t> costs;
  for (const int keys : {1, 100'000}) {
    const std::string path = dir.file(std::to_string(keys));
    {
      Store writer = must(Store::open(path, options_));
      for (int from = 0; from < keys; from += 10'000) {
        WriteBatch batch;
        for (int i = from; i < std::min(keys, from + 10'000); ++i) batch.put(numbered(i), "value", 1h);
        must(writer.write(batch));
      }
      must(writer.checkpoint());
    }
    must(Store::open(path, options_));  // what the process itself needs for that is there now
    const int64_t before = faults();
    Store opened = must(Store::open(path, options_));
    costs.push_back(faults() - before);
    EXPECT_TRUE(exists(opened, numbered(0)));
  }
  const int64_t pages = 100'000 / 100;  // at least, and the kernel brings sixteen at a time
  EXPECT_GE(costs[0] + pages / 32, costs[1]) << costs[0];
}

}  // namespace
}  // namespace lapse
