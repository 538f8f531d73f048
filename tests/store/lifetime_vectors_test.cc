// The vectors that every TTL input must meet, in every call that takes one; and the last moment of a key, the
// deadline and the moment after, in every operation that can see a key.

#include <limits>

#include "test_stores.h"

namespace lapse {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kNow = 1'700'000'000'000;  // November 2023
constexpr int64_t kYear2038 = 2'147'483'648'000;
constexpr int64_t kYear9999 = 253'402'300'799'999;
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

struct Call {
  std::string name;
  std::function<Status(Store&, Family&, Lifetime)> run;  // leaves "key" with that lifetime, or fails
};
void PrintTo(const Call& call, std::ostream* out) { *out << call.name; }

Status done(const Result<bool>& result) {
  EXPECT_TRUE(!result.ok() || *result);
  return result.status();
}

std::vector<Call> calls_that_take_a_lifetime() {
  const std::vector<KeyValue> entries = {{"key", "new"}, {"key2", "new"}};
  return {
      {"Put", [](Store&, Family& f, Lifetime l) { return f.put("key", "new", l); }},
      {"MultiPut", [=](Store&, Family& f, Lifetime l) { return f.multi_put(entries, l); }},
      {"PutIfAbsent",
       [](Store&, Family& f, Lifetime l) {
         must(f.erase("key"));
         return done(f.put_if_absent("key", "new", l));
       }},
      {"CompareAndSet",
       [](Store&, Family& f, Lifetime l) { return done(f.compare_and_set("key", "7", "new", l)); }},
      {"CompareAndSetRevision",
       [](Store&, Family& f, Lifetime l) {
         return done(f.compare_and_set_revision("key", must(f.get_entry("key"))->revision, "new", l));
       }},
      {"GetAndSet", [](Store&, Family& f, Lifetime l) { return f.get_and_set("key", "new", l).status(); }},
      {"Increment",
       [](Store&, Family& f, Lifetime l) {
         must(f.erase("key"));
         return f.increment("key", 1, {.lifetime = l}).status();
       }},
      {"Append",
       [](Store&, Family& f, Lifetime l) {
         must(f.erase("key"));
         return f.append("key", "new", l).status();
       }},
      {"Restore", [](Store&, Family& f, Lifetime l) { return done(f.restore("key", kNow, l)); }},
      {"TransactionPut",
       [](Store& store, Family& f, Lifetime l) {
         return store.update(
             [&](Transaction& transaction) { return transaction.in(f).put("key", "new", l); });
       }},
      {"WriteBatch",
       [](Store& store, Family& f, Lifetime l) {
         WriteBatch batch;
         batch.put(f, "key", "new", l);
         return store.write(batch);
       }},
  };
}

class LifetimeVectors : public StoreTest, public testing::WithParamInterface<Call> {
 protected:
  LifetimeVectors() { clock_.set(kNow); }

  void SetUp() override {
    family_.emplace(past());
    must(family_->put("key", "7"));
  }
  Status call(Lifetime lifetime) { return GetParam().run(store(), *family_, lifetime); }

  std::optional<Family> family_;
};
INSTANTIATE_TEST_SUITE_P(Every, LifetimeVectors, testing::ValuesIn(calls_that_take_a_lifetime()),
                         [](const auto& each) { return each.param.name; });

TEST_P(LifetimeVectors, TtlsOfNothingOrLessAreRefused) {
  for (const int64_t ttl_ms : {int64_t{0}, int64_t{-1}, -(int64_t{1} << 31), -(int64_t{1} << 32), kMin}) {
    EXPECT_COMPLAINT(kInvalidArgument, call(milliseconds(ttl_ms)), "TTL", std::to_string(ttl_ms));
  }
}

TEST_P(LifetimeVectors, TtlsBeyondTheEndOfTimeAreRefused) {
  for (const int64_t ttl_ms : {kMax, kMax - 1, kMax - kNow}) {
    EXPECT_COMPLAINT(kInvalidArgument, call(milliseconds(ttl_ms)), "TTL", std::to_string(ttl_ms));
  }
  EXPECT_CODE(kInvalidArgument, call(std::chrono::hours(kMax)));
}

TEST_P(LifetimeVectors, TtlsOfEverySizeAreExact) {
  for (const int64_t ttl_ms : {int64_t{1}, int64_t{1} << 31, int64_t{1} << 32, kYear2038 - kNow,
                               kYear9999 - kNow, kYear2038, kYear9999, kMax - kNow - 1}) {
    must(family_->put("key", "7"));
    EXPECT_OK(call(milliseconds(ttl_ms)));
    EXPECT_EQ(kNow + ttl_ms, deadline(*family_, "key"));
    EXPECT_EQ(milliseconds(ttl_ms), ttl(*family_, "key"));
  }
}

TEST_P(LifetimeVectors, DeadlinesOfNothingOrLessAreRefused) {
  for (const int64_t deadline_ms : {int64_t{0}, int64_t{-1}, -(int64_t{1} << 32), kMin}) {
    EXPECT_COMPLAINT(kInvalidArgument, call(Lifetime::until(deadline_ms)), "deadline",
                     std::to_string(deadline_ms));
  }
}

TEST_P(LifetimeVectors, DeadlinesThatHavePassedMakeTheKeyExpired) {
  for (const int64_t deadline_ms : {int64_t{1}, int64_t{1} << 31, int64_t{1} << 32, kNow - 1, kNow}) {
    must(family_->put("key", "7"));
    EXPECT_OK(call(Lifetime::until(deadline_ms)));
    EXPECT_FALSE(visible(store(), *family_, "key")) << deadline_ms;
    EXPECT_LE(1u, purge(*family_)) << deadline_ms;
  }
  EXPECT_OK(store().verify());
}

TEST_P(LifetimeVectors, DeadlinesToComeAreExact) {
  for (const int64_t deadline_ms : {kNow + 1, kYear2038 - 1, kYear2038, kYear9999, kMax - 1}) {
    must(family_->put("key", "7"));
    EXPECT_OK(call(Lifetime::until(deadline_ms)));
    EXPECT_EQ(deadline_ms, deadline(*family_, "key"));
  }
  must(family_->put("key", "7"));
  EXPECT_OK(call(Lifetime::until(kMax)));
  EXPECT_EQ(kForever, ttl(*family_, "key")) << "kNever is for ever";
}

// -------------------------------------------------------------------- calls that change only the lifetime

class LifetimeChanges : public StoreTest {
 protected:
  LifetimeChanges() { clock_.set(kNow); }
  void SetUp() override { must(store().put("key", "value", 1h)); }
};

TEST_F(LifetimeChanges, ImpossibleTtlsAreRefused) {
  for (const int64_t ttl_ms : {int64_t{0}, int64_t{-1}, kMin, kMax, kMax - kNow}) {
    EXPECT_COMPLAINT(kInvalidArgument, store().expire("key", milliseconds(ttl_ms)), "TTL",
                     std::to_string(ttl_ms));
    EXPECT_COMPLAINT(kInvalidArgument, store().touch("key", milliseconds(ttl_ms)), "TTL",
                     std::to_string(ttl_ms));
  }
  // As milliseconds, these would be another number, which may be a good one.
  for (const std::chrono::hours ttl :
       {std::chrono::hours(kMax), std::chrono::hours((int64_t{1} << 57) + 1)}) {
    EXPECT_CODE(kInvalidArgument, store().expire("key", ttl));
    EXPECT_CODE(kInvalidArgument, store().touch("key", ttl));
  }
  EXPECT_EQ(1h, ttl(store(), "key"));
}

TEST_F(LifetimeChanges, FractionsOfAMillisecondCountAsAWholeOne) {
  EXPECT_TRUE(must(store().expire("key", 1'500us)));
  EXPECT_EQ(2ms, ttl(store(), "key"));
  EXPECT_EQ(1ms, must(store().touch("key", 1ns))->left);
}

TEST_F(LifetimeChanges, ImpossibleTtlsAreRefusedAlsoForAbsentKeys) {
  EXPECT_CODE(kInvalidArgument, store().expire("absent", 0ms));
  EXPECT_CODE(kInvalidArgument, store().touch("absent", 0ms));
  EXPECT_CODE(kInvalidArgument, store().increment("key", 1, {.lifetime = 0ms}));
  EXPECT_CODE(kInvalidArgument, store().put_if_absent("key", "new", 0ms));
  EXPECT_CODE(kInvalidArgument, store().compare_and_set("key", "other", "new", 0ms));
}

TEST_F(LifetimeChanges, TtlsOfEverySizeAreExact) {
  for (const int64_t ttl_ms :
       {int64_t{1}, int64_t{1} << 31, int64_t{1} << 32, kYear2038, kYear9999, kMax - kNow - 1}) {
    EXPECT_TRUE(must(store().expire("key", milliseconds(ttl_ms))));
    EXPECT_EQ(kNow + ttl_ms, deadline(store(), "key"));
    EXPECT_EQ(milliseconds(ttl_ms), must(store().touch("key", milliseconds(ttl_ms)))->left);
  }
}

TEST_F(LifetimeChanges, ExpireAt) {
  for (const int64_t deadline_ms : {kNow + 1, kYear2038, kYear9999, kMax - 1}) {
    EXPECT_TRUE(must(store().expire_at("key", deadline_ms)));
    EXPECT_EQ(deadline_ms, deadline(store(), "key"));
  }
  for (const int64_t deadline_ms : {int64_t{1}, int64_t{1} << 31, int64_t{1} << 32, kNow}) {
    must(store().put("key", "value"));
    EXPECT_TRUE(must(store().expire_at("key", deadline_ms)));
    EXPECT_FALSE(visible(store(), "key"));
  }
}

TEST_F(LifetimeChanges, TouchCapsOfEverySize) {
  for (const int64_t cap_ms : {kNow + 1, kYear2038, kYear9999, kMax - 1}) {
    EXPECT_EQ(
        cap_ms,
        must(store().touch("key", milliseconds(kMax - kNow - 1), {.not_past_ms = cap_ms}))->deadline_ms);
  }
}

// ------------------------------------------------------- deadline - 1, deadline, deadline + 1, everywhere

struct Sight {
  std::string name;
  std::function<bool(Store&, Family&)>
      sees;  // whether it takes "key", which holds "7", for a key that is there
};
void PrintTo(const Sight& sight, std::ostream* out) { *out << sight.name; }

constexpr int64_t kDeadline = kNow + 10'000;

uint64_t revision_of_key(const Family& family) { return must(family.history("key")).at(0).revision; }

std::vector<Sight> sights() {
  const std::vector<std::string_view> asked = {"key"};
  return {
      {"Get", [](Store&, Family& f) { return get(f, "key").has_value(); }},
      {"GetEntry", [](Store&, Family& f) { return must(f.get_entry("key")).has_value(); }},
      {"MultiGet", [=](Store&, Family& f) { return must(f.multi_get(asked))[0].has_value(); }},
      {"Exists", [](Store&, Family& f) { return exists(f, "key"); }},
      {"Ttl", [](Store&, Family& f) { return ttl(f, "key").has_value(); }},
      {"DeadlineOf", [](Store&, Family& f) { return deadline(f, "key") == kDeadline; }},
      {"Iterate", [](Store&, Family& f) { return keys(f) == "key other"; }},
      {"IterateBack", [](Store&, Family& f) { return keys(f, {.reverse = true}) == "other key"; }},
      {"IteratePrefix", [](Store&, Family& f) { return keys(f, {.prefix = "ke"}) == "key"; }},
      {"IterateRange", [](Store&, Family& f) { return keys(f, {.from = "key", .to = "l"}) == "key"; }},
      {"Seek",
       [](Store&, Family& f) {
         Iterator iterator = must(f.iterate());
         iterator.seek("key");
         return iterator.key() == "key";
       }},
      {"SeekBack",
       [](Store&, Family& f) {
         Iterator iterator = must(f.iterate({.reverse = true}));
         iterator.seek("key");
         return iterator.valid();
       }},
      {"Count", [](Store&, Family& f) { return count(f) == 2; }},
      {"Expiring", [](Store&, Family& f) { return !expiring(f).empty(); }},
      {"Forecast", [](Store&, Family& f) { return must(f.forecast(1h, 1))[0] == 1; }},
      {"History", [](Store&, Family& f) { return must(f.history("key"))[0].ending == Ending::kNone; }},
      {"GetRevision",
       [](Store&, Family& f) {
         return must(f.get_revision("key", revision_of_key(f)))->ending == Ending::kNone;
       }},
      {"GetAt", [](Store& store, Family& f) { return get_at(f, "key", store.now_ms()).has_value(); }},
      {"SnapshotAt",
       [](Store& store, Family& f) {
         const Snapshot snapshot = must(store.snapshot_at(store.now_ms()));
         EXPECT_EQ(exists(snapshot.in(f), "key"), keys(snapshot.in(f)) == "key other");
         return exists(snapshot.in(f), "key");
       }},
      {"Snapshot", [](Store& store, Family& f) { return visible(must(store.snapshot()).in(f), "key"); }},
      {"Transaction", [](Store& store, Family& f) { return visible(must(store.begin()).in(f), "key"); }},
      {"PutIfAbsent", [](Store&, Family& f) { return !must(f.put_if_absent("key", "new")); }},
      {"CompareAndSet", [](Store&, Family& f) { return must(f.compare_and_set("key", "7", "new")); }},
      {"CompareAndErase", [](Store&, Family& f) { return must(f.compare_and_erase("key", "7")); }},
      {"CompareAndSetRevision",
       [](Store&, Family& f) { return must(f.compare_and_set_revision("key", revision_of_key(f), "new")); }},
      {"CompareAndEraseRevision",
       [](Store&, Family& f) { return must(f.compare_and_erase_revision("key", revision_of_key(f))); }},
      {"GetAndSet", [](Store&, Family& f) { return must(f.get_and_set("key", "new")).has_value(); }},
      {"GetAndErase", [](Store&, Family& f) { return must(f.get_and_erase("key")).has_value(); }},
      {"Increment", [](Store&, Family& f) { return must(f.increment("key")).value == 8; }},
      {"Append", [](Store&, Family& f) { return must(f.append("key", "7")) == 2; }},
      {"Erase", [](Store&, Family& f) { return must(f.erase("key")); }},
      {"ErasePrefix", [](Store&, Family& f) { return must(f.erase_prefix("k")) == 1; }},
      {"EraseRange", [](Store&, Family& f) { return must(f.erase_range("k", "l")) == 1; }},
      {"Touch", [](Store&, Family& f) { return must(f.touch("key", 1h)).has_value(); }},
      {"Expire", [](Store&, Family& f) { return must(f.expire("key", 1h)); }},
      {"ExpireAt", [](Store&, Family& f) { return must(f.expire_at("key", kYear2038)); }},
      {"Persist", [](Store&, Family& f) { return must(f.persist("key")); }},
      {"KeepLifetime",
       [](Store&, Family& f) {
         must(f.put("key", "new", Lifetime::keep()));
         return deadline(f, "key") == kDeadline;
       }},
      {"Restore", [](Store& store, Family& f) { return must(f.restore("key", store.now_ms(), 1h)); }},
      {"Purge", [](Store&, Family& f) { return purge(f) == 0; }},
  };
}

class LastMoment : public StoreTest, public testing::WithParamInterface<Sight> {};
INSTANTIATE_TEST_SUITE_P(Every, LastMoment, testing::ValuesIn(sights()),
                         [](const auto& each) { return each.param.name; });

TEST_P(LastMoment, IsTheOneBeforeTheDeadline) {
  for (const int64_t offset_ms : {-1, 0, 1}) {
    for (const bool counted : {false, true}) {
      clock_.set(kNow);
      const std::string name = "at" + std::to_string(offset_ms) + (counted ? "counted" : "");
      Family family = this->family(name, {.counted = counted, .history = HistoryPolicy{}});
      must(family.put("key", "7", Lifetime::until(kDeadline)));
      must(family.put("other", "value"));
      clock_.set(kDeadline + offset_ms);
      EXPECT_EQ(offset_ms < 0, GetParam().sees(store(), family)) << "at the deadline + " << offset_ms;
    }
  }
  EXPECT_OK(store().verify());
}

}  // namespace
}  // namespace lapse
