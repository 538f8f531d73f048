// Every operation on lifetimes: touch, expire, persist, ttl, expiring, forecast; in every place.

#include <semaphore>
#include <thread>

#include "test_places.h"

namespace lapse {
namespace {

class LifetimeOperations : public EveryPlace {
 protected:
  void put_three() {
    must(here().put("permanent", "value"));
    must(here().put("short", "value", 1h));
    must(here().put("expired", "value", 1s));
    pass(1s);
  }
  static constexpr int64_t kNow = kStart + 1'000;  // after put_three
};
INSTANTIATE_PLACE_TESTS(LifetimeOperations);

// Calls that have to wait for another transaction.
class WhileItWaits : public StoreTest {
 protected:
  WhileItWaits() {
    options_.keep_waiting = [this] { return waits_.release(), true; };
    options_.sweep_per_write = 0;
  }
  // Makes `call`, and meanwhile `happens`.
  void run(const std::function<void()>& call, const std::function<void()>& happens) {
    Transaction other = must(store().begin());
    std::thread waiting(call);
    waits_.acquire();
    happens();
    must(other.commit());
    waiting.join();
  }
  std::counting_semaphore<> waits_{0};
};

TEST_P(LifetimeOperations, TtlAndDeadline) {
  put_three();
  EXPECT_EQ(kForever, ttl(here(), "permanent"));
  EXPECT_EQ(kNever, deadline(here(), "permanent"));
  EXPECT_EQ(3'599s, ttl(here(), "short"));
  EXPECT_EQ(kStart + 3'600'000, deadline(here(), "short"));
  for (const char* key : {"expired", "absent"}) {
    EXPECT_EQ(std::nullopt, ttl(here(), key));
    EXPECT_EQ(std::nullopt, must(here().deadline_of(key)));
  }
}

TEST_P(LifetimeOperations, LapsedTellsExpiredFromAbsentUntilItIsRemoved) {
  put_three();
  for (const char* key : {"permanent", "short", "absent"}) EXPECT_FALSE(must(here().lapsed(key))) << key;
  EXPECT_TRUE(must(here().lapsed("expired")));
  EXPECT_TRUE(must(here().lapsed("expired"))) << "it removes nothing";
  must(here().purge_expired());
  EXPECT_FALSE(must(here().lapsed("expired")));
}

// ------------------------------------------------------------------------------------------------- touch

TEST_P(LifetimeOperations, TouchReadsAndRenews) {
  put_three();
  const Entry entry = must(here().touch("short", 2h)).value();
  EXPECT_EQ("value", entry.value);
  EXPECT_EQ(2h, entry.left);
  EXPECT_EQ(kNow + 7'200'000, entry.deadline_ms);
  EXPECT_EQ(2h, ttl(here(), "short"));
  must(here().touch("short", 1min));
  EXPECT_EQ(1min, ttl(here(), "short")) << "also to sooner";
  EXPECT_EQ("short@62000", expiring(here()));
}

TEST_P(LifetimeOperations, TouchLeavesAPermanentKeyPermanent) {
  put_three();
  const Entry entry = must(here().touch("permanent", 1min)).value();
  EXPECT_EQ("value", entry.value);
  EXPECT_EQ(kForever, entry.left);
  EXPECT_EQ(kForever, ttl(here(), "permanent"));
}

TEST_P(LifetimeOperations, TouchOfWhatIsNotThere) {
  put_three();
  EXPECT_FALSE(must(here().touch("expired", 1min)));
  EXPECT_FALSE(must(here().touch("absent", 1min)));
  EXPECT_FALSE(exists(here(), "expired"));
  EXPECT_FALSE(exists(here(), "absent"));
}

TEST_P(LifetimeOperations, TouchOnlyIfLittleIsLeft) {
  must(here().put("key", "value", 10s));
  const TouchOptions below{.if_left_below = 5s};
  pass(5s);
  EXPECT_EQ(5s, must(here().touch("key", 10s, below))->left) << "5 s are not less than 5 s";
  pass(1ms);
  EXPECT_EQ(10s, must(here().touch("key", 10s, below))->left);
}

TEST_P(LifetimeOperations, TouchNeverGoesPastItsCap) {
  must(here().put("key", "value", 10s));
  const TouchOptions capped{.not_past_ms = kStart + 25'000};
  EXPECT_EQ(20s, must(here().touch("key", 20s, capped))->left);
  pass(10s);
  EXPECT_EQ(15s, must(here().touch("key", 20s, capped))->left);
  EXPECT_EQ(kStart + 25'000, deadline(here(), "key"));
  pass(15s);
  EXPECT_FALSE(must(here().touch("key", 20s, capped)));
}

// Whoever looked while it waited saw the key expire.
TEST_F(WhileItWaits, ATouchBringsNoExpiredKeyBack) {
  Family past = this->past();
  for (Family family : {past, this->family("plain")}) {
    must(family.put("key", "value", 10s));
    run([&] { EXPECT_EQ(std::nullopt, must(family.touch("key", 1h))); },
        [&] {
          clock_.advance(10'000);
          EXPECT_EQ(std::nullopt, get(family, "key"));
        });
    EXPECT_EQ(std::nullopt, get(family, "key"));
  }
  EXPECT_EQ(std::nullopt, get_at(past, "key", kStart + 10'000));
}

TEST_F(WhileItWaits, AnEraseOfManyKeysErasesNoneThatExpires) {
  Family past = this->past();
  const std::function<uint64_t()> erases[] = {[&] { return must(past.erase_prefix("k")); },
                                              [&] { return must(past.erase_range("k", "l")); }};
  for (const auto& erase : erases) {
    must(past.put("key", "value"));
    must(past.put("brief", "value", 4s));
    run([&] { EXPECT_EQ(1u, erase()); }, [&] { clock_.advance(8'000); });
  }
  EXPECT_EQ("value[9000,17000)erased value[1000,9000)erased", history(past, "key"));
  EXPECT_EQ("value[9000,13000)expired value[1000,5000)expired", history(past, "brief"));
}

TEST_F(WhileItWaits, APurgeAlsoRemovesWhatExpires) {
  const std::function<PurgeResult()> purges[] = {
      [&] { return must(store().purge_expired({.limit = 2})); },
      [&] { return must(store().purge_all_expired({.limit = 2})); }};
  for (const auto& purge : purges) {
    put_numbered(store(), 0, 3, "value", 4s);
    PurgeResult result;
    run([&] { result = purge(); }, [&] { clock_.advance(8'000); });
    EXPECT_EQ(2u, result.removed);
    EXPECT_TRUE(result.more_due);
  }
}

TEST_P(LifetimeOperations, TouchThatRenewsNothingWritesNothing) {
  must(here().put("permanent", "value"));
  must(here().put("key", "value", 10s));
  commit();
  const uint64_t before = store().stats().last_revision;
  pass(0s);
  must(here().touch("permanent", 1min));
  must(here().touch("key", 1min, {.if_left_below = 5s}));
  must(here().touch("absent", 1min));
  commit();
  EXPECT_EQ(before, store().stats().last_revision);
}

// ------------------------------------------------------------------------------------------------ expire

TEST_P(LifetimeOperations, ExpireChangesTheDeadlineNotTheValue) {
  put_three();
  EXPECT_TRUE(must(here().expire("permanent", 1min)));
  EXPECT_TRUE(must(here().expire("short", 2min)));
  EXPECT_FALSE(must(here().expire("expired", 1min)));
  EXPECT_FALSE(must(here().expire("absent", 1min)));
  EXPECT_EQ("permanent=value short=value", contents(here()));
  EXPECT_EQ("permanent@62000 short@122000", expiring(here()));
}

TEST_P(LifetimeOperations, ExpireAtAMoment) {
  put_three();
  EXPECT_TRUE(must(here().expire_at("permanent", kNow + 1)));
  EXPECT_FALSE(must(here().expire_at("absent", kNow + 1)));
  EXPECT_EQ(1ms, ttl(here(), "permanent"));
  EXPECT_TRUE(must(here().expire_at("short", kNever)));
  EXPECT_EQ(kForever, ttl(here(), "short")) << "kNever is for ever";
}

TEST_P(LifetimeOperations, ExpireAtThePastEndsTheKeyNow) {
  put_three();
  EXPECT_TRUE(must(here().expire_at("permanent", 5)));
  EXPECT_TRUE(must(here().expire_at("short", kNow)));
  EXPECT_EQ("", contents(here()));
  EXPECT_FALSE(must(here().erase("permanent")));
  if (has_history()) {
    EXPECT_EQ("value[1000,2000)expired", history(here(), "permanent")) << "it was there until now";
    EXPECT_EQ("value", get_at(here(), "permanent", kNow - 1));
    EXPECT_EQ(std::nullopt, get_at(here(), "permanent", kNow));
  }
}

TEST_P(LifetimeOperations, ExpireOnlyIf) {
  struct Case {
    const char* key;  // short: 1 h
    Only only;
    std::chrono::milliseconds ttl;
    bool done;
  };
  const Case cases[] = {
      {"permanent", Only::kAlways, 2h, true},   {"short", Only::kAlways, 2h, true},
      {"permanent", Only::kIfNone, 2h, true},   {"short", Only::kIfNone, 2h, false},
      {"permanent", Only::kIfAny, 2h, false},   {"short", Only::kIfAny, 2h, true},
      {"permanent", Only::kIfLater, 2h, false}, {"short", Only::kIfLater, 2h, true},
      {"short", Only::kIfLater, 1h, false},     {"short", Only::kIfLater, 30min, false},
      {"permanent", Only::kIfSooner, 2h, true}, {"short", Only::kIfSooner, 2h, false},
      {"short", Only::kIfSooner, 1h, false},    {"short", Only::kIfSooner, 30min, true},
  };
  for (const Case& c : cases) {
    must(here().put("permanent", "value"));
    must(here().put("short", "value", 1h));
    const int64_t before = deadline(here(), c.key);
    EXPECT_EQ(c.done, must(here().expire(c.key, c.ttl, c.only))) << c.key << static_cast<int>(c.only);
    EXPECT_EQ(c.done ? kStart + c.ttl.count() : before, deadline(here(), c.key))
        << c.key << static_cast<int>(c.only);
    EXPECT_FALSE(must(here().expire("absent", c.ttl, c.only)));
  }
}

TEST_P(LifetimeOperations, ExpireAtOnlyIf) {
  must(here().put("key", "value", Lifetime::until(10'000)));
  EXPECT_FALSE(must(here().expire_at("key", 10'000, Only::kIfLater)));
  EXPECT_FALSE(must(here().expire_at("key", 9'999, Only::kIfLater)));
  EXPECT_TRUE(must(here().expire_at("key", 10'001, Only::kIfLater)));
  EXPECT_FALSE(must(here().expire_at("key", 10'001, Only::kIfSooner)));
  EXPECT_TRUE(must(here().expire_at("key", 10'000, Only::kIfSooner)));
  EXPECT_EQ(10'000, deadline(here(), "key"));
}

TEST_P(LifetimeOperations, Persist) {
  put_three();
  EXPECT_TRUE(must(here().persist("short")));
  EXPECT_FALSE(must(here().persist("short"))) << "it is permanent now";
  EXPECT_FALSE(must(here().persist("permanent")));
  EXPECT_FALSE(must(here().persist("expired")));
  EXPECT_FALSE(must(here().persist("absent")));
  EXPECT_EQ("permanent=value short=value", contents(here()));
  EXPECT_EQ("", expiring(here()));
}

TEST_P(LifetimeOperations, ChangesOfLifetimeMakeNoRevision) {
  if (!has_history()) return;
  must(here().put("key", "value", 1h));
  pass(1s);
  const uint64_t revision = must(here().get_entry("key"))->revision;
  must(here().touch("key", 2h));
  must(here().expire("key", 3h));
  must(here().persist("key"));
  must(here().expire("key", 4h));
  EXPECT_EQ(revision, must(here().get_entry("key"))->revision);
  EXPECT_EQ("value[1000,)", history(here(), "key"));
  EXPECT_EQ(4h, ttl(here(), "key"));
}

// ----------------------------------------------------------------------------------- what is due when

TEST_P(LifetimeOperations, ExpiringListsTheSoonestFirst) {
  must(here().put("permanent", "value"));
  must(here().put("c", "value", 1s));
  must(here().put("b", "value", 3s));
  must(here().put("a", "value", 3s));
  must(here().put("d", "value", 2s));
  EXPECT_EQ("c@2000 d@3000 a@4000 b@4000", expiring(here()));
  EXPECT_EQ("d@3000", expiring(here(), 2'001, 4'000)) << "from inclusive, to exclusive";
  EXPECT_EQ("c@2000 d@3000", expiring(here(), 2'000, 4'000));
  EXPECT_EQ("", expiring(here(), 5'000, 6'000));
  EXPECT_EQ("", expiring(here(), 3'000, 3'000));
  const auto two = must(here().expiring(0, kNever, 2));
  ASSERT_EQ(2u, two.size());
  EXPECT_EQ("c", two[0].key);
  EXPECT_EQ("d", two[1].key);
  EXPECT_TRUE(must(here().expiring(0, kNever, 0)).empty());
}

TEST_P(LifetimeOperations, ExpiringLeavesOutWhatHasPassed) {
  must(here().put("a", "value", 1s));
  must(here().put("b", "value", 2s));
  pass(1s);
  EXPECT_EQ("b@3000", expiring(here()));
  pass(1s);
  EXPECT_EQ("", expiring(here()));
}

TEST_P(LifetimeOperations, ForecastCountsByStretchOfTime) {
  must(here().put("permanent", "value"));
  must(here().put("past", "value", Lifetime::until(kStart - 1)));
  for (const int64_t in_ms : {1, 999, 1'000, 1'999, 2'500, 10'000}) {
    must(here().put("in " + std::to_string(in_ms), "value", std::chrono::milliseconds(in_ms)));
  }
  EXPECT_EQ((std::vector<uint64_t>{2, 2, 1}), must(here().forecast(1s, 3)));
  EXPECT_EQ((std::vector<uint64_t>{6}), must(here().forecast(1h, 1)));
  EXPECT_EQ((std::vector<uint64_t>{0, 1, 0, 0}), must(here().forecast(1ms, 4)));
}

TEST_P(LifetimeOperations, ForecastReachesTheEndOfTime) {
  must(here().put("key", "value", Lifetime::until(kNever - 1)));
  const auto forecast = must(here().forecast(std::chrono::milliseconds(kNever / 2), 3));
  ASSERT_EQ(3u, forecast.size());
  EXPECT_EQ(1u, forecast[0] + forecast[1] + forecast[2]);
}

}  // namespace
}  // namespace lapse
