// History: what a key held then, what ended it, whole scans of the past, restoring, trimming.

#include <map>

#include "test_stores.h"

namespace lapse {
namespace {

class HistoryTest : public EveryStore {
 protected:
  // Sets the clock and writes.
  void put_at(Family& family, int64_t at_ms, std::string_view key, std::string_view value,
              Lifetime lifetime = {}) {
    clock_.set(at_ms);
    must(family.put(key, value, lifetime));
  }
  void erase_at(Family& family, int64_t at_ms, std::string_view key) {
    clock_.set(at_ms);
    must(family.erase(key));
  }
};
INSTANTIATE_STORE_TESTS(HistoryTest);

// --------------------------------------------------------------------------------- the vectors

TEST_P(HistoryTest, SetAt1WithTtl10At2SetAt20) {
  clock_.set(1);
  Family past = this->past();
  put_at(past, 1, "key", "first");
  put_at(past, 2, "key", "second", 10ms);
  put_at(past, 20, "key", "third");
  clock_.set(40);
  EXPECT_EQ("first", get_at(past, "key", 1));
  EXPECT_EQ("second", get_at(past, "key", 2));
  EXPECT_EQ("second", get_at(past, "key", 3));
  EXPECT_EQ("second", get_at(past, "key", 11));
  EXPECT_EQ(std::nullopt, get_at(past, "key", 12));
  EXPECT_EQ(std::nullopt, get_at(past, "key", 19));
  EXPECT_EQ("third", get_at(past, "key", 20));
  EXPECT_EQ("third", get_at(past, "key", 40));
  EXPECT_EQ("third[20,) second[2,12)expired first[1,2)overwritten", history(past, "key"));
}

TEST_P(HistoryTest, Ttl10At1ThenTtl5At2) {
  clock_.set(1);
  Family past = this->past();
  put_at(past, 1, "key", "first", 10ms);
  put_at(past, 2, "key", "second", 5ms);
  clock_.set(20);
  EXPECT_EQ("first", get_at(past, "key", 1));
  EXPECT_EQ("second", get_at(past, "key", 6));
  EXPECT_EQ(std::nullopt, get_at(past, "key", 7));
  EXPECT_EQ(std::nullopt, get_at(past, "key", 11));
}

TEST_P(HistoryTest, TrimmingTo5KeepsTheNewest5) {
  clock_.set(1);
  Family past = this->past({.keep_last = 5});
  for (int i = 1; i <= 12; ++i) put_at(past, i, "key", std::to_string(i));
  EXPECT_EQ("12[12,) 11[11,12)overwritten 10[10,11)overwritten 9[9,10)overwritten 8[8,9)overwritten",
            history(past, "key"));
  EXPECT_EQ("8", get_at(past, "key", 8));
  EXPECT_EQ(std::nullopt, get_at(past, "key", 7));
}

// --------------------------------------------------------------------------------------- what ended it

TEST_P(HistoryTest, OneByOneItGoesAsFarAsIsWanted) {
  clock_.set(1);
  Family past = this->past();
  for (int i = 1; i <= 3; ++i) put_at(past, i, "key", std::to_string(i));
  for (size_t wanted = 1; wanted <= 3; ++wanted) {
    std::string seen;
    must(past.for_each_revision("key", [&](const Revision& revision) {
      seen += revision.value;
      return seen.size() < wanted;
    }));
    EXPECT_EQ(std::string("321").substr(0, wanted), seen);
  }
  must(past.for_each_revision("absent", [](const Revision&) -> bool { throw std::logic_error("none"); }));
}

TEST_P(HistoryTest, SaysWhatEndedEachRevision) {
  Family past = this->past();
  put_at(past, 1'000, "key", "a");
  put_at(past, 2'000, "key", "b", 500ms);
  put_at(past, 3'000, "key", "c");
  erase_at(past, 4'000, "key");
  put_at(past, 5'000, "key", "d", 1h);
  EXPECT_EQ("d[5000,) c[3000,4000)erased b[2000,2500)expired a[1000,2000)overwritten", history(past, "key"));
  const auto revisions = must(past.history("key"));
  EXPECT_EQ(5'000 + 3'600'000, revisions[0].deadline_ms);
  EXPECT_EQ(kNever, revisions[1].deadline_ms);
  EXPECT_EQ(2'500, revisions[2].deadline_ms);
  for (size_t i = 1; i < revisions.size(); ++i) EXPECT_GT(revisions[i - 1].revision, revisions[i].revision);
}

TEST_P(HistoryTest, AnExpiryIsDatedAtItsDeadlineHoweverLateThePurge) {
  Family past = this->past();
  for (const char* key : {"purged", "read", "overwritten", "untouched"}) must(past.put(key, "value", 1s));
  must(past.expire("overwritten", 1s));
  clock_.advance(3'600'000);
  EXPECT_EQ(std::nullopt, get(past, "read"));
  must(past.put("overwritten", "again"));
  EXPECT_EQ("value[1000,2000)expired", history(past, "untouched")) << "not removed yet";
  EXPECT_LE(2u, purge(past));
  for (const char* key : {"purged", "read", "untouched"}) {
    EXPECT_EQ("value[1000,2000)expired", history(past, key)) << key;
  }
  EXPECT_EQ("again[3601000,) value[1000,2000)expired", history(past, "overwritten"));
  for (const char* key : {"purged", "read", "overwritten", "untouched"}) {
    EXPECT_EQ("value", get_at(past, key, 1'999)) << key;
    EXPECT_EQ(std::nullopt, get_at(past, key, 2'000)) << key;
  }
}

TEST_P(HistoryTest, EraseOfAnExpiredKeyDoesNotRedateIt) {
  Family past = this->past();
  must(past.put("key", "value", 1s));
  clock_.advance(5'000);
  EXPECT_FALSE(must(past.erase("key")));
  EXPECT_EQ("value[1000,2000)expired", history(past, "key"));
}

TEST_P(HistoryTest, WhatWasErasedBeforeItsDeadlineEndedThen) {
  Family past = this->past();
  must(past.put("key", "value", 10s));
  erase_at(past, 2'000, "key");
  clock_.set(60'000);
  EXPECT_EQ("value[1000,2000)erased", history(past, "key"));
  EXPECT_EQ(std::nullopt, get_at(past, "key", 5'000));
  EXPECT_EQ(0u, purge(past));
}

// Dates stand still at 3100 meanwhile, so a lifetime that is given now may end before them.
TEST_P(HistoryTest, NothingEndsBeforeItWasWrittenBecauseTheClockWentBack) {
  Family past = this->past();
  put_at(past, 3'000, "due by date", "1", 70ms);
  put_at(past, 3'100, "other", "value");
  EXPECT_EQ(std::nullopt, get_at(past, "due by date", 3'090));
  for (const char* key : {"overwritten", "erased"}) put_at(past, 3'040, key, "1", 20ms);
  EXPECT_EQ("1", get(past, "overwritten"));
  for (const char* key : {"overwritten", "due by date"}) put_at(past, 3'041, key, "2");
  erase_at(past, 3'041, "erased");
  EXPECT_EQ("2[3100,) 1[3100,3100)overwritten", history(past, "overwritten"));
  EXPECT_EQ("1[3100,3100)erased", history(past, "erased"));
  EXPECT_EQ("2[3100,) 1[3000,3070)expired", history(past, "due by date"));
  EXPECT_EQ(std::nullopt, get_at(past, "due by date", 3'090)) << "as before the clock went back";
  put_at(past, 3'040, "twice", "1", 20ms);
  put_at(past, 3'200, "other", "value");
  put_at(past, 3'041, "twice", "2");
  EXPECT_EQ("2[3200,) 1[3100,3100)overwritten", history(past, "twice")) << "the clock went back twice";
  EXPECT_EQ(std::nullopt, get_at(past, "twice", 3'150));
  EXPECT_OK(store().verify());
}

TEST_P(HistoryTest, ErasePrefixAndRangeAreRemembered) {
  Family past = this->past();
  for (const char* key : {"a1", "a2", "b1"}) must(past.put(key, "value", 1h));
  clock_.advance(1'000);
  EXPECT_EQ(2u, must(past.erase_prefix("a")));
  EXPECT_EQ(1u, must(past.erase_range("b", "c")));
  for (const char* key : {"a1", "a2", "b1"}) EXPECT_EQ("value[1000,2000)erased", history(past, key));
}

TEST_P(HistoryTest, LifetimesChangedLaterCountAsTheyAreNow) {
  Family past = this->past();
  must(past.put("key", "value", 1s));
  clock_.advance(500);
  must(past.expire("key", 10s));
  clock_.advance(4'500);
  EXPECT_EQ("value", get_at(past, "key", 4'000));
  must(past.expire("key", 1s));
  clock_.advance(10'000);
  EXPECT_EQ("value[1000,7000)expired", history(past, "key"));
}

TEST_P(HistoryTest, RevisionWithADeadlineInThePastWasNeverVisible) {
  Family past = this->past();
  must(past.put("key", "first"));
  clock_.advance(1'000);
  must(past.put("key", "dead", Lifetime::until(500)));
  clock_.advance(1'000);
  EXPECT_EQ("first", get_at(past, "key", 1'500));
  EXPECT_EQ(std::nullopt, get_at(past, "key", 2'000));
  EXPECT_EQ(std::nullopt, get_at(past, "key", 600));
  EXPECT_EQ(1u, purge(past));
  EXPECT_EQ("first", get_at(past, "key", 1'500));
  EXPECT_EQ(std::nullopt, get_at(past, "key", 2'000));
  EXPECT_OK(store().verify());
}

// -------------------------------------------------------------------------------------------- revisions

TEST_P(HistoryTest, GetRevisionFindsWhatACommitWrote) {
  Family past = this->past();
  std::vector<uint64_t> revisions;
  for (const char* value : {"a", "b", "c"}) {
    must(past.put("key", value, 1h));
    revisions.push_back(must(past.get_entry("key"))->revision);
    clock_.advance(1'000);
  }
  EXPECT_EQ("a[1000,2000)overwritten", to_string(must(past.get_revision("key", revisions[0])).value()));
  EXPECT_EQ("c[3000,)", to_string(must(past.get_revision("key", revisions[2])).value()));
  EXPECT_FALSE(must(past.get_revision("key", revisions[2] + 1)));
  EXPECT_FALSE(must(past.get_revision("other", revisions[0])));
  must(past.erase("key"));
  EXPECT_EQ("c[3000,4000)erased", to_string(must(past.get_revision("key", revisions[2])).value()));
}

TEST_P(HistoryTest, GetRevisionFindsWhatHasExpired) {
  Family past = this->past();
  must(past.put("key", "value", 1s));
  const uint64_t revision = must(past.get_entry("key"))->revision;
  clock_.advance(5'000);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ("value[1000,2000)expired", to_string(must(past.get_revision("key", revision)).value()));
    purge(past);
  }
}

TEST_P(HistoryTest, OfAKeyThatNeverWas) {
  const Family past = this->past();
  EXPECT_EQ("", history(past, "key"));
  EXPECT_EQ(std::nullopt, get_at(past, "key", kStart));
  EXPECT_FALSE(must(past.get_revision("key", 1)));
}

TEST_P(HistoryTest, KeysOfAnyBytesAreKeptApart) {
  Family past = this->past();
  const std::vector<std::string> keys = {"",
                                         std::string("\0", 1),
                                         std::string("\0\0", 2),
                                         std::string("\0\x01", 2),
                                         std::string("\0\xff", 2),
                                         "a",
                                         std::string("a\0", 2),
                                         std::string("a\0\x01", 3),
                                         std::string("a\0\xff", 3),
                                         "ab",
                                         std::string(kMaxKeyBytes, '\0')};
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < keys.size(); ++i)
      must(past.put(keys[i], std::to_string(i) + "." + std::to_string(round)));
    clock_.advance(1'000);
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string n = std::to_string(i);
    EXPECT_EQ(n + ".2[3000,) " + n + ".1[2000,3000)overwritten " + n + ".0[1000,2000)overwritten",
              history(past, keys[i]));
  }
}

// ------------------------------------------------------------------------------------------ whole scans

TEST_P(HistoryTest, SnapshotOfThePastShowsEveryKeyAsItWas) {
  Family past = this->past();
  put_at(past, 1'000, "a", "1");
  put_at(past, 1'000, "b", "1", 1s);
  put_at(past, 1'500, "c", "1");
  put_at(past, 2'500, "a", "2");
  erase_at(past, 3'000, "c");
  put_at(past, 3'500, "d", "1");
  clock_.set(10'000);
  const std::vector<std::pair<int64_t, std::string>> moments = {
      {999, ""},          {1'000, "a=1 b=1"},  {1'500, "a=1 b=1 c=1"}, {1'999, "a=1 b=1 c=1"},
      {2'000, "a=1 c=1"}, {2'500, "a=2 c=1"},  {2'999, "a=2 c=1"},     {3'000, "a=2"},
      {3'500, "a=2 d=1"}, {10'000, "a=2 d=1"},
  };
  for (int round = 0; round < 2; ++round) {
    for (const auto& [at_ms, expected] : moments) {
      const Snapshot snapshot = must(store().snapshot_at(at_ms));
      const Reader then = snapshot.in(past);
      EXPECT_EQ(at_ms, snapshot.now_ms());
      EXPECT_EQ(expected, contents(then)) << at_ms;
      EXPECT_EQ(turned(expected), reversed_contents(then)) << at_ms;
      EXPECT_EQ(how_many(expected), count(then)) << at_ms;
      for (const char* key : {"a", "b", "c", "d"})
        EXPECT_EQ(get_at(past, key, at_ms), get(then, key)) << key << at_ms;
    }
    purge(past);
  }
}

TEST_P(HistoryTest, SnapshotOfThePastCanBeSearched) {
  Family past = this->past();
  put_numbered(past, 0, 100, "old");
  clock_.advance(1'000);
  for (int i = 0; i < 100; i += 2) must(past.erase(numbered(i)));
  for (int i = 1; i < 100; i += 2) must(past.put(numbered(i), "new"));
  put_numbered(past, 100, 150, "new");
  const Snapshot snapshot = must(store().snapshot_at(1'500));
  const Reader then = snapshot.in(past);
  EXPECT_EQ("key00041=old key00042=old", contents(then, {.from = numbered(41), .to = numbered(43)}));
  EXPECT_EQ("key00042=old key00041=old",
            contents(then, {.from = numbered(41), .to = numbered(43), .reverse = true}));
  EXPECT_EQ(10u, how_many(keys(then, {.prefix = "key0005"})));
  Iterator iterator = must(then.iterate());
  iterator.seek(numbered(98));
  EXPECT_EQ(numbered(98), iterator.key());
  iterator.next();
  EXPECT_EQ(numbered(99), iterator.key());
  iterator.next();
  EXPECT_FALSE(iterator.valid());
  iterator.last();
  EXPECT_EQ(numbered(99), iterator.key());
  iterator.prev();
  EXPECT_EQ(numbered(98), iterator.key());
}

TEST_P(HistoryTest, SnapshotOfThePastHasItsLifetimesThen) {
  Family past = this->past();
  must(past.put("key", "value", 10s));
  clock_.advance(5'000);
  must(past.put("key", "permanent"));
  const Snapshot snapshot = must(store().snapshot_at(3'000));
  EXPECT_EQ(8s, ttl(snapshot.in(past), "key"));
  EXPECT_EQ(11'000, deadline(snapshot.in(past), "key"));
  EXPECT_EQ("value", must(snapshot.in(past).get_entry("key"))->value);
}

TEST_P(HistoryTest, SnapshotOfThePastStaysAsItWas) {
  Family past = this->past({.keep_last = 2});
  put_at(past, 1'000, "key", "a");
  put_at(past, 2'000, "key", "b");
  const Snapshot snapshot = must(store().snapshot_at(1'500));
  put_at(past, 3'000, "key", "c");
  put_at(past, 4'000, "key", "d");
  EXPECT_EQ("key=a", contents(snapshot.in(past)));
  EXPECT_EQ(std::nullopt, get_at(past, "key", 1'500)) << "trimmed since";
}

TEST_P(HistoryTest, SnapshotOfThePastHasTheHistoryOfThen) {
  Family past = this->past();
  put_at(past, 1'000, "key", "a");
  put_at(past, 2'000, "key", "b", 5s);
  put_at(past, 3'000, "key", "c");
  const uint64_t c = must(past.get_entry("key"))->revision;
  clock_.set(4'000);
  EXPECT_TRUE(must(past.erase("key")));
  for (const auto& [at_ms, expected] : std::map<int64_t, std::string>{
           {999, ""},
           {1'000, "a[1000,)"},
           {2'500, "b[2000,) a[1000,2000)overwritten"},
           {3'999, "c[3000,) b[2000,3000)overwritten a[1000,2000)overwritten"},
           {4'000, "c[3000,4000)erased b[2000,3000)overwritten a[1000,2000)overwritten"}}) {
    const Snapshot snapshot = must(store().snapshot_at(at_ms));
    const Reader then = snapshot.in(past);
    EXPECT_EQ(expected, history(then, "key")) << at_ms;
    const std::optional<Revision> revision = must(then.get_revision("key", c));
    EXPECT_EQ(at_ms >= 3'000, revision.has_value()) << at_ms;
    if (!revision) continue;
    EXPECT_EQ(at_ms < 4'000 ? kNever : 4'000, revision->ended_at_ms) << at_ms;
  }
}

TEST_P(HistoryTest, SnapshotOfThePastCannotBeEstimated) {
  Family past = this->past();
  put_at(past, 1'000, "key", "a");
  put_at(past, 2'000, "other", "b");
  const Snapshot snapshot = must(store().snapshot_at(1'500));
  EXPECT_COMPLAINT(kInvalidArgument, snapshot.in(past).estimated_count(), "estimated_count()", "past");
  EXPECT_EQ(1u, count(snapshot.in(past)));
}

TEST_P(HistoryTest, FamiliesWithoutHistoryHaveNoPast) {
  must(store().put("key", "value"));
  const Snapshot snapshot = must(store().snapshot_at(kStart));
  EXPECT_CODE(kInvalidArgument, snapshot.get("key"));
  EXPECT_CODE(kInvalidArgument, snapshot.iterate());
  EXPECT_CODE(kInvalidArgument, store().get_at("key", kStart));
  EXPECT_CODE(kInvalidArgument, store().history("key"));
  EXPECT_CODE(kInvalidArgument, store().get_revision("key", 1));
  EXPECT_CODE(kInvalidArgument, store().restore("key", kStart));
}

TEST_P(HistoryTest, TheFutureIsRefused) {
  Family past = this->past();
  must(past.put("key", "value"));
  EXPECT_CODE(kInvalidArgument, past.get_at("key", kStart + 1));
  EXPECT_CODE(kInvalidArgument, past.get_at("key", kNever));
  EXPECT_CODE(kInvalidArgument, past.restore("key", kStart + 1));
  EXPECT_CODE(kInvalidArgument, store().snapshot_at(kStart + 1));
  EXPECT_OK(past.get_at("key", kStart));
  EXPECT_OK(past.get_at("key", 0));
}

// ---------------------------------------------------------------------------------------------- restore

TEST_P(HistoryTest, ASnapshotRefusesItsOwnFuture) {
  Family past = this->past();
  put_at(past, 1'000, "key", "a");
  const Snapshot snapshot = must(store().snapshot());
  put_at(past, 1'500, "key", "b");
  EXPECT_EQ("a", get_at(snapshot.in(past), "key", 1'000));
  EXPECT_CODE(kInvalidArgument, snapshot.in(past).get_at("key", 1'001));
  EXPECT_CODE(kInvalidArgument, snapshot.in(past).get_at("key", 1'500));
  EXPECT_EQ("b", get_at(past, "key", 1'500));
}

TEST_P(HistoryTest, ASnapshotReachesToItsNewestRevisionWhileTheClockIsBehind) {
  Family past = this->past();
  put_at(past, 1'000, "key", "a");
  clock_.set(500);
  const Snapshot snapshot = must(store().snapshot());
  put_at(past, 2'000, "key", "b");
  EXPECT_EQ("a", get_at(snapshot.in(past), "key", 1'000));
  EXPECT_CODE(kInvalidArgument, snapshot.in(past).get_at("key", 1'001));
}

TEST_P(HistoryTest, RestoreUndoesAnErase) {
  Family past = this->past();
  must(past.put("key", "value"));
  clock_.advance(1'000);
  must(past.erase("key"));
  clock_.advance(1'000);
  EXPECT_TRUE(must(past.restore("key", 1'999)));
  EXPECT_EQ("value[3000,) value[1000,2000)erased", history(past, "key")) << "as a new revision";
}

TEST_P(HistoryTest, RestoreGoesBack) {
  Family past = this->past();
  put_at(past, 1'000, "key", "good", 1h);
  put_at(past, 2'000, "key", "bad");
  clock_.set(3'000);
  EXPECT_TRUE(must(past.restore("key", 1'500, 1min)));
  EXPECT_EQ("good", get(past, "key"));
  EXPECT_EQ(1min, ttl(past, "key"));
  EXPECT_EQ("good[3000,) bad[2000,3000)overwritten good[1000,2000)overwritten", history(past, "key"));
}

TEST_P(HistoryTest, RestoreOfNothingChangesNothing) {
  Family past = this->past();
  must(past.put("key", "value", 1s));
  clock_.advance(2'000);
  must(past.put("key", "present"));
  const uint64_t before = store().stats().last_revision;
  EXPECT_FALSE(must(past.restore("key", 2'500))) << "it had expired then";
  EXPECT_FALSE(must(past.restore("key", 500)));
  EXPECT_FALSE(must(past.restore("absent", 1'000)));
  EXPECT_EQ("present", get(past, "key"));
  EXPECT_EQ(before, store().stats().last_revision);
}

// --------------------------------------------------------------------------------------------- trimming

TEST_P(HistoryTest, KeepLastCountsThePresentRevision) {
  Family past = this->past({.keep_last = 2});
  put_at(past, 1'000, "key", "a");
  put_at(past, 2'000, "key", "b");
  put_at(past, 3'000, "key", "c");
  EXPECT_EQ("c[3000,) b[2000,3000)overwritten", history(past, "key"));
  erase_at(past, 4'000, "key");
  EXPECT_EQ("c[3000,4000)erased b[2000,3000)overwritten", history(past, "key"));
  put_at(past, 5'000, "key", "d");
  EXPECT_EQ("d[5000,) c[3000,4000)erased", history(past, "key"));
  EXPECT_EQ(0u, must(past.purge_history()));
}

TEST_P(HistoryTest, KeepLastOneKeepsOnlyThePresent) {
  Family past = this->past({.keep_last = 1});
  put_at(past, 1'000, "key", "a");
  put_at(past, 2'000, "key", "b");
  EXPECT_EQ("b[2000,)", history(past, "key"));
  erase_at(past, 3'000, "key");
  EXPECT_EQ("b[2000,3000)erased", history(past, "key"));
}

// What a transaction writes and erases again was never there, so nothing has to make room for it.
TEST_P(HistoryTest, AValueThatIsErasedByItsTransactionDisplacesNone) {
  for (const uint32_t keep_last : {1, 2, 3}) {
    Family past = this->past({.keep_last = keep_last});
    for (const char* key : {"erased", "put", "erased, put", "put, erased, put", "rolled back, put"}) {
      for (int i = 1; i <= 3; ++i) must(past.put(key, std::to_string(i), 1h));
    }
    clock_.advance(1'000);
    EXPECT_TRUE(must(past.erase("erased")));
    must(store().update([&](Transaction& transaction) -> Status {
      Keyspace family = transaction.in(past);
      const auto put = [&](const char* key) { must(family.put(key, "unseen")); };
      const auto erase = [&](const char* key) { EXPECT_TRUE(must(family.erase(key))); };
      put("put");
      put("put");
      erase("put");
      erase("erased, put");
      put("erased, put");
      erase("erased, put");
      put("put, erased, put");
      erase("put, erased, put");
      put("put, erased, put");
      erase("put, erased, put");
      const Savepoint before = transaction.savepoint();
      put("rolled back, put");
      must(transaction.rollback_to(before));
      put("rolled back, put");
      EXPECT_EQ(keep_last, must(family.history("rolled back, put")).size());
      erase("rolled back, put");
      return {};
    }));
    const std::string expected = history(past, "erased");
    for (const char* key : {"put", "erased, put", "put, erased, put", "rolled back, put"}) {
      EXPECT_EQ(expected, history(past, key)) << key;
      EXPECT_EQ("3", get_at(past, key, clock_.now_ms() - 1)) << key;
      must(past.put(key, "next"));
      EXPECT_EQ(keep_last, must(past.history(key)).size()) << key;
    }
    EXPECT_OK(store().verify());
    must(store().drop_family("past"));
  }
}

// It was erased long before, and is erased still.
TEST_P(HistoryTest, AValueThatIsErasedByItsTransactionLeavesWhatWasErasedBefore) {
  clock_.set(1);
  Family past = this->past({.keep_last = 2});
  for (int i = 1; i <= 2; ++i) put_at(past, i, "key", std::to_string(i));
  erase_at(past, 3, "key");
  const std::string before = history(past, "key");
  clock_.set(4);
  must(store().update([&](Transaction& transaction) -> Status {
    LAPSE_TRY(transaction.in(past).put("key", "unseen"));
    return transaction.in(past).erase("key").status();
  }));
  EXPECT_EQ(before, history(past, "key"));
  put_at(past, 5, "key", "3");
  EXPECT_EQ("3[5,) 2[2,3)erased", history(past, "key"));
}

TEST_P(HistoryTest, KeepForCountsFromTheEndOfARevision) {
  Family past = this->past({.keep_for = 10s});
  put_at(past, 1'000, "key", "a");
  put_at(past, 20'000, "key", "b");
  put_at(past, 30'000, "key", "c");
  EXPECT_EQ("c[30000,) b[20000,30000)overwritten a[1000,20000)overwritten", history(past, "key"))
      << "a ended 10 s ago, not longer";
  put_at(past, 30'001, "key", "d");
  EXPECT_EQ("d[30001,) c[30000,30001)overwritten b[20000,30000)overwritten", history(past, "key"));
}

TEST_P(HistoryTest, BothLimitsHold) {
  Family past = this->past({.keep_last = 3, .keep_for = 10s});
  for (int i = 1; i <= 5; ++i) put_at(past, i * 1'000, "key", std::to_string(i));
  EXPECT_EQ("5[5000,) 4[4000,5000)overwritten 3[3000,4000)overwritten", history(past, "key"));
  put_at(past, 14'500, "key", "6");
  EXPECT_EQ("6[14500,) 5[5000,14500)overwritten 4[4000,5000)overwritten", history(past, "key"));
  put_at(past, 20'000, "key", "7");
  EXPECT_EQ("7[20000,) 6[14500,20000)overwritten 5[5000,14500)overwritten", history(past, "key"));
  put_at(past, 40'000, "key", "8");
  EXPECT_EQ("8[40000,) 7[20000,40000)overwritten", history(past, "key"));
}

// With a deadline that had passed when it was put, a revision ended before the one ahead of it.
TEST_P(HistoryTest, KeepForNeverTakesOneOutOfTheMiddle) {
  Family past = this->past({.keep_last = 3, .keep_for = 50ms});
  put_at(past, 1'000, "key", "a");
  clock_.set(1'010);
  must(past.put("key", "b", Lifetime::until(500)));
  put_at(past, 1'020, "key", "c");
  EXPECT_EQ("c[1020,) b[1010,500)expired a[1000,1010)overwritten", history(past, "key"));
  clock_.set(1'030);
  Transaction transaction = must(store().begin());
  must(transaction.in(past).put("key", "d"));
  must(transaction.in(past).erase("key"));
  must(transaction.commit());
  EXPECT_EQ("c[1020,1030)erased b[1010,500)expired a[1000,1010)overwritten", history(past, "key"));
  EXPECT_OK(store().verify());
  clock_.set(1'061);
  EXPECT_EQ(2u, must(past.purge_history()));
  EXPECT_OK(store().verify());
}

TEST_P(HistoryTest, PurgeHistoryTrimsWhatNobodyWrites) {
  Family past = this->past({.keep_for = 10s});
  put_numbered(past, 0, 400, "old");
  put_numbered(past, 0, 400, "new");
  clock_.advance(10'000);
  EXPECT_EQ(0u, must(past.purge_history()));
  clock_.advance(1);
  EXPECT_EQ(400u, must(past.purge_history()));
  EXPECT_EQ(0u, must(past.purge_history()));
  EXPECT_EQ("new[1000,)", history(past, numbered(7)));
  EXPECT_EQ(400u, count(past));
  EXPECT_OK(store().verify());
}

TEST_P(HistoryTest, PurgeHistoryGoesOnThroughManyKeys) {
  Family past = this->past();
  for (const char* value : {"a", "b"}) put_numbered(past, 0, 3'000, value);
  EXPECT_EQ(0u, must(past.purge_history()));
  must(store().set_family_options("past", {.history = HistoryPolicy{.keep_last = 1}}));
  EXPECT_EQ(3'000u, must(past.purge_history()));
  EXPECT_EQ("b[1000,)", history(past, numbered(2'999)));
}

TEST_P(HistoryTest, PurgeHistoryFindsRoomWhateverTheSizeOfWhatStays) {
  options_.max_transaction_bytes = 150'000;
  Family past = this->past();
  for (const char* key : {"a", "b", "c"}) {
    for (int i = 0; i < 69; ++i) must(past.put(key, "small"));
    must(past.put(key, std::string(60'000, 'v')));
  }
  must(store().set_family_options("past", {.history = HistoryPolicy{.keep_last = 1}}));
  EXPECT_EQ(207u, must(past.purge_history()));
  for (const char* key : {"a", "b", "c"}) EXPECT_EQ(1u, must(past.history(key)).size());
  EXPECT_OK(store().verify());
}

TEST_P(HistoryTest, PurgeHistoryTakesAsManyRevisionsATransactionAsItHasRoomFor) {
  options_.max_transaction_bytes = 20'000;
  Family past = this->past();
  const std::string key(100, 'k');
  for (int i = 0; i < 300; ++i) must(past.put(key, "value"));
  must(store().set_family_options("past", {.history = HistoryPolicy{.keep_last = 1}}));
  EXPECT_EQ(299u, must(past.purge_history()));
  EXPECT_EQ(1u, must(past.history(key)).size());
  EXPECT_OK(past.put(key, "other"));
  EXPECT_OK(store().verify());
}

TEST_P(HistoryTest, PurgeHistoryFollowsANewPolicy) {
  Family past = this->past();
  for (int i = 1; i <= 5; ++i) put_at(past, i * 1'000, "key", std::to_string(i));
  must(store().set_family_options("past", {.history = HistoryPolicy{.keep_last = 2}}));
  EXPECT_EQ(3u, must(past.purge_history()));
  EXPECT_EQ("5[5000,) 4[4000,5000)overwritten", history(past, "key"));
}

TEST_P(HistoryTest, PurgeHistoryRemovesWhatWasTurnedOff) {
  Family past = this->past();
  for (int i = 1; i <= 5; ++i) put_at(past, i * 1'000, "key", std::to_string(i));
  erase_at(past, 6'000, "key");
  put_at(past, 7'000, "key", "last", 1h);
  must(store().set_family_options("past", {}));
  EXPECT_CODE(kInvalidArgument, past.history("key"));
  EXPECT_EQ("last", get(past, "key"));
  EXPECT_EQ(5u, must(past.purge_history()));
  EXPECT_EQ(1h, ttl(past, "key"));
  EXPECT_OK(store().verify());
}

TEST_P(HistoryTest, TurnedOnLaterBeginsWithWhatIsThere) {
  Family family = this->family("f");
  must(family.put("key", "before", 1h));
  must(family.put("idle", "before"));
  clock_.advance(1'000);
  must(store().set_family_options("f", {.history = HistoryPolicy{}}));
  must(family.put("key", "after"));
  const auto revisions = must(family.history("key"));
  ASSERT_EQ(2u, revisions.size());
  EXPECT_EQ("after[2000,)", to_string(revisions[0]));
  EXPECT_EQ("before", revisions[1].value);
  EXPECT_EQ(0u, revisions[1].revision) << "it was written before the family had history";
  EXPECT_EQ(2'000, revisions[1].ended_at_ms);
  EXPECT_EQ(1u, must(family.history("idle")).size());
  EXPECT_OK(store().verify());
}

TEST_P(HistoryTest, ClearForgetsHistory) {
  Family past = this->past();
  put_at(past, 1'000, "key", "a");
  put_at(past, 2'000, "key", "b");
  must(past.clear());
  EXPECT_EQ("", history(past, "key"));
  EXPECT_EQ(std::nullopt, get_at(past, "key", 1'500));
  put_at(past, 3'000, "key", "c");
  EXPECT_EQ("c[3000,)", history(past, "key"));
}

// What is left of it has a gap behind it, so it goes.
TEST_P(HistoryTest, TurnedOffAndOnItBeginsAnew) {
  clock_.set(1);
  Family past = this->past({.keep_last = 3});
  for (int i = 1; i <= 4; ++i) put_at(past, i, "key", std::to_string(i));
  put_at(past, 4, "erased", "value");
  erase_at(past, 5, "erased");
  must(store().set_family_options("past", {}));
  put_at(past, 6, "key", "unseen");
  must(store().set_family_options("past", {.history = HistoryPolicy{.keep_last = 3}}));
  EXPECT_EQ("", history(past, "erased"));
  EXPECT_EQ("unseen[0,)", history(past, "key"));
  for (int i = 7; i <= 8; ++i) put_at(past, i, "key", std::to_string(i));
  EXPECT_EQ("8[8,) 7[7,8)overwritten unseen[0,7)overwritten", history(past, "key"));
  put_at(past, 9, "key", "9");
  EXPECT_EQ("9[9,) 8[8,9)overwritten 7[7,8)overwritten", history(past, "key"));
  EXPECT_OK(store().verify());
}

TEST_P(HistoryTest, TurnedOffAndOnItKnowsTheDatesOfFamiliesWithRevisions) {
  clock_.set(1);
  Family past = this->past({.keep_last = 3});
  for (int i = 1; i <= 4; ++i) put_at(past, i, "key", std::to_string(i));
  must(store().set_family_options("past", {.revisions = true}));
  put_at(past, 6, "key", "unseen");
  must(store().set_family_options("past", {.history = HistoryPolicy{.keep_last = 3}}));
  put_at(past, 7, "key", "7");
  EXPECT_EQ("7[7,) unseen[6,7)overwritten", history(past, "key"));
  EXPECT_OK(store().verify());
}

TEST_P(HistoryTest, SurvivesAReopen) {
  Family past = this->past({.keep_last = 3});
  for (int i = 1; i <= 5; ++i) put_at(past, i * 1'000, "key", std::to_string(i), 500ms);
  const std::string before = history(past, "key");
  reopen();
  past = must(store().family("past"));
  EXPECT_EQ(before, history(past, "key"));
  EXPECT_EQ("4", get_at(past, "key", 4'499));
  EXPECT_EQ(std::nullopt, get_at(past, "key", 4'500));
}

}  // namespace
}  // namespace lapse
