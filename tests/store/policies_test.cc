// What a family's policies do: default, maximum and required TTLs, jitter, counts, revisions.

#include <set>

#include "test_stores.h"

namespace lapse {
namespace {

class Policies : public EveryStore {};
INSTANTIATE_STORE_TESTS(Policies);

// ------------------------------------------------------------------------------------------ default TTL

TEST_P(Policies, DefaultTtlIsGivenToKeysWrittenWithoutALifetime) {
  Family family = this->family("f", {.default_ttl = 1min});
  must(family.put("put", "1"));
  must(family.multi_put(std::vector<KeyValue>{{"multi", "1"}}));
  must(family.put_if_absent("absent", "1"));
  must(family.get_and_set("set", "1"));
  must(family.increment("count"));
  must(family.append("append", "1"));
  must(family.put("short", "1", 1s));
  must(family.put("until", "1", Lifetime::until(5'000)));
  must(family.put("forever", "1", Lifetime::forever()));
  EXPECT_EQ("short@2000 until@5000 absent@61000 append@61000 count@61000 multi@61000 put@61000 set@61000",
            expiring(family));
  EXPECT_EQ(kForever, ttl(family, "forever"));
}

TEST_P(Policies, DefaultTtlIsGivenAnewByEachPlainPut) {
  Family family = this->family("f", {.default_ttl = 1min});
  must(family.put("key", "1"));
  clock_.advance(30'000);
  must(family.put("key", "2"));
  EXPECT_EQ(1min, ttl(family, "key"));
}

TEST_P(Policies, DefaultTtlOfTheDefaultFamily) {
  options_.default_family.default_ttl = 1min;
  must(store().put("key", "value"));
  EXPECT_EQ(1min, ttl(store(), "key"));
  reopen();
  must(store().put("other", "value"));
  EXPECT_EQ(1min, ttl(store(), "other"));
}

TEST_P(Policies, PersistGoesBeyondTheDefault) {
  Family family = this->family("f", {.default_ttl = 1min});
  must(family.put("key", "value"));
  EXPECT_TRUE(must(family.persist("key")));
  EXPECT_EQ(kForever, ttl(family, "key"));
}

// ------------------------------------------------------------------------------------------ maximum TTL

TEST_P(Policies, MaximumTtlCutsEveryLifetime) {
  Family family = this->family("f", {.max_ttl = 1min});
  must(family.put("permanent", "1"));
  must(family.put("forever", "1", Lifetime::forever()));
  must(family.put("long", "1", 1h));
  must(family.put("until", "1", Lifetime::until(10'000'000)));
  must(family.put("never", "1", Lifetime::until(kNever)));
  must(family.put("exact", "1", 1min));
  must(family.put("short", "1", 1s));
  for (const char* key : {"permanent", "forever", "long", "until", "never", "exact"}) {
    EXPECT_EQ(1min, ttl(family, key)) << key;
  }
  EXPECT_EQ(1s, ttl(family, "short"));
}

TEST_P(Policies, MaximumTtlCutsChangesOfLifetime) {
  Family family = this->family("f", {.max_ttl = 1min});
  must(family.put("key", "1", 1s));
  EXPECT_TRUE(must(family.expire("key", 1h)));
  EXPECT_EQ(1min, ttl(family, "key"));
  EXPECT_TRUE(must(family.expire_at("key", kNever - 1)));
  EXPECT_EQ(1min, ttl(family, "key"));
  clock_.advance(10'000);
  EXPECT_EQ(1min, must(family.touch("key", 1h))->left) << "from its latest change on";
  clock_.advance(10'000);
  EXPECT_TRUE(must(family.persist("key")));
  EXPECT_EQ(1min, ttl(family, "key"));
}

TEST_P(Policies, MaximumTtlCutsTheDefault) {
  Family family = this->family("f", {.default_ttl = 1min, .max_ttl = 1min});
  must(family.put("key", "value"));
  EXPECT_EQ(1min, ttl(family, "key"));
}

TEST_P(Policies, LifetimesThatKeysHaveStayWhenPoliciesChange) {
  Family family = this->family("f");
  must(family.put("permanent", "value"));
  must(family.put("long", "value", 1h));
  must(store().set_family_options("f", {.default_ttl = 1s, .max_ttl = 1min}));
  EXPECT_EQ(kForever, ttl(family, "permanent"));
  EXPECT_EQ(1h, ttl(family, "long"));
  must(family.put("new", "value"));
  EXPECT_EQ(1s, ttl(family, "new"));
  must(family.put("long", "value", 1h));
  EXPECT_EQ(1min, ttl(family, "long"));
}

// ----------------------------------------------------------------------------------------- required TTL

TEST_P(Policies, RequiredTtlRefusesPermanentKeys) {
  Family family = this->family("f", {.require_ttl = true});
  EXPECT_COMPLAINT(kInvalidArgument, family.put("key", "value"), "f", "TTL");
  EXPECT_CODE(kInvalidArgument, family.put("key", "value", Lifetime::forever()));
  EXPECT_CODE(kInvalidArgument, family.put("key", "value", Lifetime::until(kNever)));
  EXPECT_CODE(kInvalidArgument, family.put("key", "value", Lifetime::keep()));
  EXPECT_CODE(kInvalidArgument, family.put_if_absent("key", "value"));
  EXPECT_CODE(kInvalidArgument, family.increment("key"));
  EXPECT_CODE(kInvalidArgument, family.append("key", "value"));
  EXPECT_CODE(kInvalidArgument, family.multi_put(std::vector<KeyValue>{{"key", "value"}}));
  EXPECT_EQ("", contents(family));
  EXPECT_OK(family.put("key", "value", 1min));
  EXPECT_OK(family.put("key", "again", Lifetime::keep()));
  EXPECT_OK(family.append("key", "!"));
  EXPECT_CODE(kInvalidArgument, family.persist("key"));
  EXPECT_CODE(kInvalidArgument, family.expire_at("key", kNever));
  EXPECT_EQ("key=again!", contents(family));
  EXPECT_EQ(1min, ttl(family, "key"));
}

TEST_P(Policies, RequiredTtlIsMetByADefault) {
  Family defaulted = family("defaulted", {.default_ttl = 1min, .require_ttl = true});
  EXPECT_OK(defaulted.put("key", "value"));
  EXPECT_CODE(kInvalidArgument, defaulted.put("key", "value", Lifetime::forever()));
}

TEST_P(Policies, RequiredTtlFailsInATransactionWithoutHarm) {
  const Family family = this->family("f", {.require_ttl = true});
  must(store().update([&](Transaction& transaction) {
    LAPSE_TRY(transaction.in(family).put("a", "1", 1min));
    EXPECT_CODE(kInvalidArgument, transaction.in(family).put("b", "2"));
    return transaction.in(family).put("c", "3", 1min);
  }));
  EXPECT_EQ("a c", keys(family));
}

// ----------------------------------------------------------------------------------------------- jitter

TEST_P(Policies, JitterSpreadsTtlsEitherWay) {
  Family family = this->family("f", {.jitter_percent = 10});
  std::set<int64_t> deadlines;
  int64_t sum = 0;
  put_numbered(family, 0, 1'000, "value", 1'000s);
  for (int i = 0; i < 1'000; ++i) {
    const int64_t left = ttl(family, numbered(i))->count();
    EXPECT_LE(900'000, left);
    EXPECT_GE(1'100'000, left);
    deadlines.insert(left);
    sum += left;
  }
  EXPECT_LT(900u, deadlines.size()) << "they are spread";
  EXPECT_NEAR(1'000'000, static_cast<double>(sum) / 1'000, 10'000) << "around what was asked for";
  EXPECT_GT(950'000, *deadlines.begin());
  EXPECT_LT(1'050'000, *deadlines.rbegin());
}

TEST_P(Policies, JitterLeavesAbsoluteDeadlinesAndPermanentKeysAsTheyAre) {
  Family family = this->family("f", {.jitter_percent = 50});
  for (int i = 0; i < 20; ++i) {
    must(family.put("until", "value", Lifetime::until(1'000'000)));
    EXPECT_EQ(1'000'000, deadline(family, "until"));
    must(family.expire_at("until", 2'000'000));
    EXPECT_EQ(2'000'000, deadline(family, "until"));
    must(family.put("permanent", "value"));
    EXPECT_EQ(kForever, ttl(family, "permanent"));
  }
}

TEST_P(Policies, JitterOfTheLargestKindLeavesAtLeastAMillisecond) {
  Family family = this->family("f", {.max_ttl = 1s, .jitter_percent = 100});
  for (int i = 0; i < 200; ++i) {
    must(family.put("key", "value", 1ms));
    EXPECT_LE(1ms, ttl(family, "key"));
    EXPECT_GE(2ms, ttl(family, "key"));
    must(family.put("key", "value", 1s));
    EXPECT_GE(1s, ttl(family, "key")) << "the maximum is one";
  }
}

TEST_P(Policies, JitterDoesNotOverflow) {
  Family family = this->family("f", {.jitter_percent = 100});
  for (int i = 0; i < 50; ++i) {
    must(family.put("key", "value", std::chrono::milliseconds(kNever - kStart - 1)));
    EXPECT_LT(kStart, deadline(family, "key"));
    EXPECT_GT(kNever, deadline(family, "key"));
    EXPECT_CODE(kInvalidArgument, family.put("key", "value", std::chrono::milliseconds(kNever - kStart)))
        << "beyond the end of time, though it might be made shorter";
  }
}

TEST_P(Policies, JitterSpreadsWhatTheMaximumCuts) {
  Family family = this->family("f", {.max_ttl = 1'000s, .jitter_percent = 50});
  std::set<int64_t> left;
  const Lifetime lifetimes[] = {2'000s, 1'000s, Lifetime::forever(), Lifetime::until(kNever - 1)};
  for (int i = 0; i < 400; ++i) {
    must(family.put("key", "value", lifetimes[i % 4]));
    left.insert(ttl(family, "key")->count());
  }
  EXPECT_LT(350u, left.size()) << "they do not die together";
  EXPECT_LE(500'000, *left.begin());
  EXPECT_GE(1'000'000, *left.rbegin());
}

TEST_P(Policies, JitterVariesDefaultTouchAndExpireToo) {
  Family family = this->family("f", {.default_ttl = 1'000s, .jitter_percent = 10});
  std::set<int64_t> defaults;
  std::set<int64_t> touches;
  std::set<int64_t> expires;
  for (int i = 0; i < 50; ++i) {
    must(family.put("key", "value"));
    defaults.insert(deadline(family, "key"));
    must(family.touch("key", 1'000s));
    touches.insert(deadline(family, "key"));
    must(family.expire("key", 1'000s));
    expires.insert(deadline(family, "key"));
  }
  for (const auto& set : {defaults, touches, expires}) {
    EXPECT_LT(20u, set.size());
    EXPECT_LE(kStart + 900'000, *set.begin());
    EXPECT_GE(kStart + 1'100'000, *set.rbegin());
  }
}

// ---------------------------------------------------------------------------------------------- counted

TEST_P(Policies, CountedFamilyCountsExactly) {
  Family family = this->family("f", {.counted = true});
  for (int i = 0; i < 10; ++i) must(family.put(numbered(i), "value"));
  for (int i = 5; i < 15; ++i) must(family.put(numbered(i), "again", 1s));
  EXPECT_EQ(15u, count(family));
  EXPECT_EQ(15u, must(family.estimated_count()));
  must(family.erase(numbered(0)));
  must(family.erase("absent"));
  EXPECT_EQ(14u, count(family));
  clock_.advance(1'000);
  EXPECT_EQ(4u, count(family)) << "what is due counts no more";
  EXPECT_EQ(14u, must(family.estimated_count())) << "until it is removed";
  EXPECT_EQ(10u, purge(family));
  EXPECT_EQ(4u, must(family.estimated_count()));
  reopen();
  family = must(store().family("f"));
  EXPECT_EQ(4u, count(family));
  must(family.clear());
  EXPECT_EQ(0u, count(family));
  EXPECT_EQ(0u, must(family.estimated_count()));
  EXPECT_OK(store().verify());
}

TEST_P(Policies, CountedFamilyCountsWithinTransactions) {
  Family family = this->family("f", {.counted = true});
  must(family.put("a", "1"));
  Transaction transaction = must(store().begin());
  Family mine = transaction.in(family);
  must(mine.put("b", "2"));
  const Savepoint savepoint = transaction.savepoint();
  must(mine.put("c", "3"));
  must(mine.erase("a"));
  EXPECT_EQ(2u, count(mine));
  must(transaction.rollback_to(savepoint));
  EXPECT_EQ(2u, count(mine));
  EXPECT_EQ(1u, count(family)) << "others see nothing of it";
  must(transaction.commit());
  EXPECT_EQ(2u, count(family));
  EXPECT_OK(store().verify());
}

TEST_P(Policies, CountingCanBeTurnedOnAndOff) {
  Family family = this->family("f");
  for (int i = 0; i < 10; ++i) must(family.put(numbered(i), "value", i < 3 ? Lifetime(1s) : Lifetime()));
  clock_.advance(1'000);
  must(store().set_family_options("f", {.counted = true}));
  EXPECT_EQ(7u, count(family));
  must(family.put("new", "value"));
  EXPECT_EQ(8u, count(family));
  EXPECT_OK(store().verify());
  must(store().set_family_options("f", {}));
  must(family.put("newer", "value"));
  EXPECT_EQ(9u, count(family));
  must(store().set_family_options("f", {.counted = true}));
  EXPECT_EQ(9u, count(family));
  EXPECT_OK(store().verify());
}

// -------------------------------------------------------------------------------------------- revisions

TEST_P(Policies, RevisionIsTheNumberOfTheCommit) {
  Family family = this->family("f", {.revisions = true});
  uint64_t last = 0;
  for (int i = 0; i < 5; ++i) {
    must(family.put("key", "value"));
    const Entry entry = must(family.get_entry("key")).value();
    EXPECT_LT(last, entry.revision);
    EXPECT_EQ(store().stats().last_revision, entry.revision);
    EXPECT_EQ(kStart, entry.written_at_ms);
    last = entry.revision;
  }
}

TEST_P(Policies, RevisionIsSharedByAllThatATransactionWrote) {
  const Family family = this->family("f", {.revisions = true});
  Transaction transaction = must(store().begin());
  must(transaction.in(family).put("a", "1"));
  must(transaction.in(family).put("b", "2"));
  EXPECT_EQ(transaction.revision(), must(transaction.in(family).get_entry("a"))->revision);
  const uint64_t promised = transaction.revision();
  EXPECT_EQ(promised, must(transaction.commit()));
  EXPECT_EQ(promised, must(family.get_entry("a"))->revision);
  EXPECT_EQ(promised, must(family.get_entry("b"))->revision);
}

TEST_P(Policies, CompareByRevision) {
  Family family = this->family("f", {.revisions = true});
  must(family.put("key", "first"));
  const uint64_t first = must(family.get_entry("key"))->revision;
  EXPECT_FALSE(must(family.compare_and_set_revision("key", first + 1, "second")));
  EXPECT_FALSE(must(family.compare_and_set_revision("absent", 0, "second")));
  EXPECT_TRUE(must(family.compare_and_set_revision("key", first, "second", 1h)));
  EXPECT_EQ(1h, ttl(family, "key"));
  EXPECT_FALSE(must(family.compare_and_set_revision("key", first, "third"))) << "it is another one now";
  EXPECT_FALSE(must(family.compare_and_erase_revision("key", first)));
  EXPECT_TRUE(must(family.compare_and_erase_revision("key", must(family.get_entry("key"))->revision)));
  EXPECT_FALSE(exists(family, "key"));
}

TEST_P(Policies, RevisionsAreNeverUsedAgain) {
  Family family = this->family("f", {.revisions = true});
  must(family.put("key", "value"));
  const uint64_t first = must(family.get_entry("key"))->revision;
  must(family.erase("key"));
  reopen();
  family = must(store().family("f"));
  must(family.put("key", "value"));
  EXPECT_LT(first, must(family.get_entry("key"))->revision);
  const TempDir dir;
  must(store().compact_to(dir.file("copy.db")));
  Store copy = must(Store::open(dir.file("copy.db"), options_));
  Family copied = must(copy.family("f"));
  EXPECT_EQ(must(family.get_entry("key"))->revision, must(copied.get_entry("key"))->revision);
  must(copied.put("other", "value"));
  EXPECT_LT(must(copied.get_entry("key"))->revision, must(copied.get_entry("other"))->revision);
}

TEST_P(Policies, RowsGetRevisionsWhenTheyAreNextWritten) {
  Family family = this->family("f");
  must(family.put("old", "value", 1h));
  must(family.put("older", "value"));
  must(store().set_family_options("f", {.revisions = true}));
  EXPECT_EQ(0u, must(family.get_entry("old"))->revision);
  must(family.put("old", "new", 1h));
  EXPECT_LT(0u, must(family.get_entry("old"))->revision);
  EXPECT_EQ("old=new older=value", contents(family));
  must(store().set_family_options("f", {}));
  EXPECT_EQ("old=new older=value", contents(family));
  EXPECT_EQ(1h, ttl(family, "old"));
  EXPECT_OK(store().verify());
}

TEST_P(Policies, AreStoredWithTheFamily) {
  const FamilyOptions all = {.counted = true,
                             .revisions = true,
                             .default_ttl = 1min,
                             .max_ttl = 1h,
                             .require_ttl = true,
                             .jitter_percent = 7,
                             .history = HistoryPolicy{.keep_last = 3, .keep_for = 24h}};
  family("f", all);
  family("plain");
  reopen();
  EXPECT_EQ(all, must(must(store().family("f")).family_options()));
  EXPECT_EQ(FamilyOptions(), must(must(store().family("plain")).family_options()));
  EXPECT_EQ(FamilyOptions(), must(store().family_options()));
  must(store().set_family_options("plain", all));
  reopen();
  EXPECT_EQ(all, must(must(store().family("plain")).family_options()));
}

}  // namespace
}  // namespace lapse
