// The lifetime contract, promise by promise: what is visible when (1, 2, 3), what a write does to a lifetime (5), and
// that families are isolated (9).
//
// The others: 4 lazy_removal_test.cc, 6 and 7 purge_test.cc, 8 and 12 engine_cost_test.cc, 10 reopen_test.cc,
// 11 clock_test.cc.

#include <atomic>

#include "test_stores.h"

namespace lapse {
namespace {

class Contract : public EveryStore {};
INSTANTIATE_STORE_TESTS(Contract);

// ------------------------------------------------------------ 1: visible if and only if now < deadline

TEST_P(Contract, KeyIsVisibleUntilJustBeforeItsDeadline) {
  must(store().put("key", "value", Lifetime::until(5'000)));
  for (const int64_t now : {1'000, 4'999}) {
    clock_.set(now);
    EXPECT_TRUE(visible(store(), "key")) << now;
  }
  for (const int64_t now : {5'000, 5'001, 1'000'000}) {
    clock_.set(now);
    EXPECT_FALSE(visible(store(), "key")) << now;
  }
}

TEST_P(Contract, PermanentKeyIsVisibleForever) {
  must(store().put("key", "value"));
  for (const int64_t now : {int64_t{0}, kStart, int64_t{253'402'300'800'000}, kNever - 1}) {
    clock_.set(now);
    EXPECT_TRUE(visible(store(), "key")) << now;
  }
}

TEST_P(Contract, TtlBecomesAnAbsoluteDeadline) {
  must(store().put("key", "value", 30s));
  EXPECT_EQ(31'000, deadline(store(), "key"));
  clock_.advance(10'000);
  EXPECT_EQ(31'000, deadline(store(), "key"));
  EXPECT_EQ(20s, ttl(store(), "key"));
}

TEST_P(Contract, FractionOfAMillisecondCountsAsAWholeOne) {
  must(store().put("key", "value", 1ns));
  EXPECT_EQ(1ms, ttl(store(), "key"));
  must(store().put("key", "value", 1'500us));
  EXPECT_EQ(2ms, ttl(store(), "key"));
}

TEST_P(Contract, PastDeadlineMakesKeyExpiredAtOnce) {
  must(store().put("key", "before"));
  must(store().put("key", "value", Lifetime::until(kStart)));
  EXPECT_FALSE(visible(store(), "key"));
  EXPECT_EQ(1u, purge(store())) << "it was stored, and due";
}

TEST_P(Contract, TtlThatOverflowsIsRefused) {
  EXPECT_CODE(kInvalidArgument, store().put("key", "value", kForever));
  EXPECT_CODE(kInvalidArgument, store().put("key", "value", std::chrono::milliseconds(kNever - kStart)));
  EXPECT_EQ("", contents(store()));
  EXPECT_OK(store().put("key", "value", std::chrono::milliseconds(kNever - 1 - kStart)));
  EXPECT_EQ(kNever - 1, deadline(store(), "key"));
}

// ------------------------------------------------------------------------ 2: one clock reading decides

// Goes on by a second whenever it is looked at.
class RestlessClock final : public Clock {
 public:
  int64_t now_ms() override { return (++readings_) * 1'000; }
  int readings() const { return readings_; }

 private:
  std::atomic<int> readings_{1};
};

class OneReading : public StoreTest {
 protected:
  OneReading() { options_.clock = &restless_; }

  void expect_one_reading(const char* what, const std::function<Status()>& call) {
    const int before = restless_.readings();
    EXPECT_TRUE(is_ok(call())) << what;
    EXPECT_EQ(1, restless_.readings() - before) << what;
  }

  RestlessClock restless_;
};

#define EXPECT_ONE_READING(call) expect_one_reading(#call, [&] { return internal::to_status(call); })

TEST_F(OneReading, PerRead) {
  must(store().multi_put(std::vector<KeyValue>{{"a", "1"}, {"b", "2"}, {"c", "3"}}, 10h));
  const std::vector<std::string_view> asked = {"a", "b", "c", "d"};
  EXPECT_ONE_READING(store().get("a"));
  EXPECT_ONE_READING(store().get_entry("a"));
  EXPECT_ONE_READING(store().multi_get(asked));
  EXPECT_ONE_READING(store().exists("a"));
  EXPECT_ONE_READING(store().ttl("a"));
  EXPECT_ONE_READING(store().deadline_of("a"));
  EXPECT_ONE_READING(store().expiring(0, kNever));
  EXPECT_ONE_READING(store().forecast(1h, 24));
  EXPECT_ONE_READING(store().count());
  EXPECT_ONE_READING(store().estimated_count());
  EXPECT_ONE_READING(store().lapsed("a"));
  Family past = this->past();
  must(past.put("a", "1"));
  EXPECT_ONE_READING(past.get_at("a", 1'000));
  EXPECT_ONE_READING(past.get_revision("a", 1));
  EXPECT_ONE_READING(past.history("a"));
  EXPECT_ONE_READING(store().snapshot_at(1'000));
}

TEST_F(OneReading, PerWrite) {
  Family past = this->past();
  EXPECT_ONE_READING(past.put("a", "1", 10h));
  EXPECT_ONE_READING(past.put("a", "2"));
  EXPECT_ONE_READING(past.multi_put(std::vector<KeyValue>{{"b", "2"}, {"c", "3"}}, 10h));
  EXPECT_ONE_READING(past.put_if_absent("a", "1"));
  EXPECT_ONE_READING(past.compare_and_set("a", "2", "3", 10h));
  EXPECT_ONE_READING(past.get_and_set("a", "4", 10h));
  EXPECT_ONE_READING(past.increment("a", 1));
  EXPECT_ONE_READING(past.append("a", "1"));
  EXPECT_ONE_READING(past.touch("a", 20h, {.if_left_below = 1h}));
  EXPECT_ONE_READING(past.expire("a", 30h));
  EXPECT_ONE_READING(past.persist("a"));
  EXPECT_ONE_READING(past.erase("a"));
  EXPECT_ONE_READING(past.restore("a", 5'000));
  EXPECT_ONE_READING(past.expire_at("a", 3'600'000));
  EXPECT_ONE_READING(past.get_and_erase("a"));
  EXPECT_ONE_READING(past.compare_and_erase("a", "1"));
  EXPECT_ONE_READING(past.compare_and_set_revision("a", 1, "2"));
  EXPECT_ONE_READING(past.compare_and_erase_revision("a", 1));
  EXPECT_ONE_READING(past.erase_prefix("a"));
  EXPECT_ONE_READING(past.erase_range("a", "b"));
  EXPECT_ONE_READING(past.purge_history());
  EXPECT_ONE_READING(past.clear());
}

TEST_F(OneReading, PerBatchOfWhatIsDoneInBatches) {
  Family past = this->past();
  put_numbered(past, 0, 300, "value");
  const int before = restless_.readings();
  EXPECT_EQ(300u, must(past.erase_prefix("")));
  EXPECT_EQ(2, restless_.readings() - before);
  const auto end_of = [&](int i) { return must(past.history(numbered(i))).at(0).ended_at_ms; };
  EXPECT_EQ(end_of(0), end_of(255));
  EXPECT_EQ(end_of(0) + 1'000, end_of(256));
}

TEST_F(OneReading, PerTransaction) {
  expect_one_reading("a transaction", [&]() -> Status {
    return store().update([&](Transaction& transaction) -> Status {
      LAPSE_TRY(transaction.put("a", "1", 10s));
      LAPSE_TRY(transaction.put("b", "2", 10s));
      EXPECT_EQ(deadline(transaction, "a"), deadline(transaction, "b"));
      for (int i = 0; i < 20; ++i) EXPECT_EQ(10s, ttl(transaction, "a"));
      EXPECT_EQ("a b", keys(transaction));
      return Status();
    });
  });
}

TEST_F(OneReading, PerSnapshot) {
  must(store().put("a", "1", 10s));
  expect_one_reading("a snapshot", [&]() -> Status {
    return store().view([&](const Snapshot& snapshot) -> Status {
      const auto left = ttl(snapshot, "a");
      for (int i = 0; i < 20; ++i) EXPECT_EQ(left, ttl(snapshot, "a"));
      EXPECT_EQ("a", keys(snapshot));
      EXPECT_EQ(1u, count(snapshot));
      return Status();
    });
  });
}

TEST_F(OneReading, PerIterator) {
  for (int i = 0; i < 20; ++i) must(store().put(numbered(i), "value", Lifetime::until(60'000)));
  expect_one_reading("an iterator", [&]() -> Status {
    Iterator iterator = must(store().iterate());
    int seen = 0;
    for (; iterator.valid(); iterator.next()) ++seen;
    EXPECT_EQ(20, seen);
    return iterator.status();
  });
}

TEST_P(Contract, SnapshotJudgesByTheTimeItWasTaken) {
  must(store().put("key", "value", 1s));
  const Snapshot before = must(store().snapshot());
  clock_.advance(1'000);
  const Snapshot after = must(store().snapshot());
  EXPECT_EQ(kStart, before.now_ms());
  EXPECT_TRUE(visible(before, "key"));
  EXPECT_FALSE(visible(after, "key"));
  EXPECT_EQ(1u, purge(store()));
  EXPECT_TRUE(visible(before, "key"));
}

TEST_P(Contract, IteratorJudgesByTheTimeItWasMade) {
  for (const char* key : {"a", "b", "c"}) must(store().put(key, "value", 1s));
  Iterator iterator = must(store().iterate());
  clock_.advance(1'000);
  EXPECT_EQ(3u, purge(store()));
  int seen = 0;
  for (; iterator.valid(); iterator.next()) ++seen;
  EXPECT_EQ(3, seen);
}

TEST_P(Contract, TransactionJudgesByTheTimeItBegan) {
  must(store().put("key", "value", 1s));
  Transaction transaction = must(store().begin());
  clock_.advance(1'000);
  EXPECT_TRUE(visible(transaction, "key"));
  EXPECT_EQ(kStart, transaction.now_ms());
  must(transaction.put("other", "value", 1s));
  EXPECT_EQ(kStart + 1'000, deadline(transaction, "other"));
  must(transaction.commit());
  EXPECT_FALSE(visible(store(), "other"));
}

// ------------------------------------------------------------------- 3: everything follows 1, purged or not

TEST_P(Contract, EveryReaderHidesAnExpiredKeyPurgedOrNot) {
  const Family past = this->past();
  const Family plain = family("plain");
  for (Family family : {past, plain}) {
    must(family.put("a", "1"));
    must(family.put("b", "2", 1s));
    must(family.put("c", "3"));
  }
  clock_.advance(1'000);
  for (const bool purged : {false, true}) {
    if (purged) {
      EXPECT_EQ(2u, must(store().purge_all_expired()).removed);
    }
    for (const Family& family : {past, plain}) {
      EXPECT_FALSE(visible(store(), family, "b")) << purged;
      Transaction transaction = must(store().begin());
      EXPECT_FALSE(visible(transaction.in(family), "b")) << purged;
      const Snapshot snapshot = must(store().snapshot());
      EXPECT_EQ("a=1 c=3", contents(snapshot.in(family)));
      EXPECT_EQ("c=3 a=1", reversed_contents(snapshot.in(family)));
      EXPECT_EQ(2u, count(snapshot.in(family)));
    }
    const Snapshot snapshot = must(store().snapshot());
    EXPECT_EQ(std::nullopt, get_at(snapshot.in(past), "b", 2'000));
    EXPECT_EQ("2", get_at(snapshot.in(past), "b", 1'999));
    EXPECT_EQ("2[1000,2000)expired", history(snapshot.in(past), "b"));
  }
}

TEST_P(Contract, WritesTakeAnExpiredKeyForAbsent) {
  auto expired = [&](std::string_view key) {
    must(store().put(key, "7", Lifetime::until(kStart - 1)));
    return key;
  };
  EXPECT_TRUE(must(store().put_if_absent(expired("a"), "new")));
  EXPECT_FALSE(must(store().compare_and_set(expired("b"), "7", "new")));
  EXPECT_FALSE(must(store().compare_and_erase(expired("c"), "7")));
  EXPECT_EQ(std::nullopt, must(store().get_and_set(expired("d"), "new")));
  EXPECT_EQ(std::nullopt, must(store().get_and_erase(expired("e"))));
  EXPECT_EQ(1, must(store().increment(expired("f"), 1)).value);
  EXPECT_EQ(3u, must(store().append(expired("g"), "new")));
  EXPECT_FALSE(must(store().erase(expired("h"))));
  EXPECT_EQ(std::nullopt, must(store().touch(expired("i"), 1h)));
  EXPECT_FALSE(must(store().expire(expired("j"), 1h)));
  EXPECT_FALSE(must(store().persist(expired("k"))));
  EXPECT_EQ(0u, must(store().erase_prefix(expired("l"))));
  EXPECT_EQ("a=new d=new f=1 g=new", contents(store()));
  EXPECT_EQ(kForever, ttl(store(), "a"));
  EXPECT_EQ(kForever, ttl(store(), "g"));
  EXPECT_OK(store().verify());
}

// --------------------------------------------------------------- 5: what a write does to the lifetime

TEST_P(Contract, PlainPutMakesKeyPermanent) {
  must(store().put("key", "value", 1s));
  must(store().put("key", "value"));
  EXPECT_EQ(kNever, deadline(store(), "key"));
  EXPECT_EQ("", expiring(store()));
}

TEST_P(Contract, PutWithTtlReplacesTheDeadline) {
  must(store().put("key", "value", 10s));
  for (const auto ttl : {1s, 100s}) {
    must(store().put("key", "value", ttl));
    EXPECT_EQ("key@" + std::to_string(kStart + ttl / 1ms), expiring(store()));
  }
}

TEST_P(Contract, DeadlinesOneByOneGoAsFarAsIsWanted) {
  for (const auto& [key, ttl] : {std::pair("c", 3s), std::pair("a", 1s), std::pair("b", 2s)})
    must(store().put(key, "value", ttl));
  for (size_t wanted = 1; wanted <= 3; ++wanted) {
    std::string seen;
    must(store().for_each_expiring(0, kNever, [&](const Expiring& one) {
      seen += one.key;
      return seen.size() < wanted;
    }));
    EXPECT_EQ(std::string("abc").substr(0, wanted), seen);
  }
}

TEST_P(Contract, KeepKeepsTheDeadline) {
  must(store().put("short", "1", 10s));
  must(store().put("permanent", "1"));
  clock_.advance(5'000);
  must(store().put("short", "2", Lifetime::keep()));
  must(store().put("permanent", "2", Lifetime::keep()));
  EXPECT_EQ("permanent=2 short=2", contents(store()));
  EXPECT_EQ("short@11000", expiring(store()));
}

TEST_P(Contract, KeepOfAnAbsentOrExpiredKeyIsTheDefault) {
  Family family = this->family("defaulted", {.default_ttl = 1h});
  must(family.put("expired", "1", 1s));
  clock_.advance(1'000);
  must(family.put("expired", "2", Lifetime::keep()));
  must(family.put("absent", "2", Lifetime::keep()));
  EXPECT_EQ(1h, ttl(family, "expired"));
  EXPECT_EQ(1h, ttl(family, "absent"));
  must(store().put("absent", "2", Lifetime::keep()));
  EXPECT_EQ(kForever, ttl(store(), "absent"));
}

TEST_P(Contract, NoStaleEntryRemovesALiveKey) {
  // Each of these leaves the deadline of 2'000 behind, in one way or another.
  const std::vector<std::function<void(std::string_view)>> ways = {
      [&](std::string_view key) { must(store().put(key, "alive")); },
      [&](std::string_view key) { must(store().put(key, "alive", 1h)); },
      [&](std::string_view key) { must(store().persist(key)); },
      [&](std::string_view key) { must(store().expire(key, 1h)); },
      [&](std::string_view key) { must(store().touch(key, 1h)); },
      [&](std::string_view key) { must(store().get_and_set(key, "alive")); },
      [&](std::string_view key) { must(store().compare_and_set(key, "value", "alive", 1h)); },
      [&](std::string_view key) {
        must(store().erase(key));
        must(store().put(key, "alive"));
      },
      [&](std::string_view key) {
        must(store().get_and_erase(key));
        must(store().put_if_absent(key, "alive"));
      },
      [&](std::string_view key) {
        must(store().erase_prefix(key));
        must(store().append(key, "alive"));
      },
      [&](std::string_view key) {
        must(store().update([&](Transaction& transaction) {
          LAPSE_TRY(transaction.put(key, "1", 2s));
          LAPSE_TRY(transaction.erase(key));
          return transaction.put(key, "alive");
        }));
      },
  };
  for (size_t i = 0; i < ways.size(); ++i) {
    must(store().put(numbered(static_cast<int>(i)), "value", 1s));
    ways[i](numbered(static_cast<int>(i)));
  }
  EXPECT_OK(store().verify());
  clock_.advance(10'000);
  EXPECT_EQ(0u, purge(store()));
  EXPECT_EQ(ways.size(), count(store()));
  clock_.advance(3'600'000);
  EXPECT_EQ(4u, purge(store()));
  EXPECT_EQ(ways.size() - 4, count(store()));
}

TEST_P(Contract, ClearForgetsEveryDeadline) {
  must(store().put("key", "value", 1s));
  must(store().clear());
  must(store().put("key", "alive"));
  clock_.advance(1'000);
  EXPECT_EQ(0u, purge(store()));
  EXPECT_EQ("key=alive", contents(store()));
}

// ---------------------------------------------------------------------------- 9: families are isolated

TEST_P(Contract, PurgingOneFamilyTouchesNoOther) {
  Family a = family("a");
  Family b = family("b");
  for (Keyspace* keyspace :
       {static_cast<Keyspace*>(&store()), static_cast<Keyspace*>(&a), static_cast<Keyspace*>(&b)}) {
    must(keyspace->put("key", "value", 1s));
  }
  clock_.advance(1'000);
  EXPECT_EQ(1u, purge(a));
  clock_.set(kStart);
  EXPECT_EQ("", contents(a));
  EXPECT_EQ("key=value", contents(b));
  EXPECT_EQ("key=value", contents(store()));
}

TEST_P(Contract, DroppingAFamilyDropsItsDeadlinesAndHistory) {
  Family past = this->past();
  must(past.put("key", "first", 1s));
  must(past.put("key", "second", 2s));
  must(store().drop_family("past"));
  past = this->past();
  clock_.advance(2'000);
  EXPECT_EQ("", history(past, "key"));
  EXPECT_EQ("", expiring(past));
  EXPECT_EQ(std::nullopt, get_at(past, "key", 1'500));
  EXPECT_EQ(0u, must(store().purge_all_expired()).removed);
  EXPECT_OK(store().verify());
}

TEST_P(Contract, NamesThatAreReservedEmptyOrTooLongAreRefused) {
  for (const std::string& name :
       {std::string(), std::string("__"), std::string("__x"), std::string(256, 'x')}) {
    EXPECT_CODE(kInvalidArgument, store().create_family(name)) << name;
    EXPECT_CODE(kInvalidArgument, store().family_or_create(name)) << name;
  }
  EXPECT_OK(store().create_family(std::string(255, 'x')));
  EXPECT_OK(store().create_family("_x"));
  EXPECT_OK(store().create_family("x__"));
}

}  // namespace
}  // namespace lapse
