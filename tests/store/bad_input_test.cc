// Every public function's bad input: an error that says what was wrong with what, and nothing changed.

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "test_stores.h"

namespace lapse {
namespace {

using std::chrono::milliseconds;

const std::string kTooLongKey(kMaxKeyBytes + 1, 'k');
const std::string kLongestKey(kMaxKeyBytes, 'k');

// A value over the limit, of memory that nobody ever touches.
std::string_view too_large_value() {
  static const char* const memory = static_cast<const char*>(std::calloc(1, kMaxValueBytes + 1));
  return {memory, kMaxValueBytes + 1};
}

class BadInput : public StoreTest {
 protected:
  void SetUp() override {
    must(store().put("key", "value"));
    past_.emplace(past());
    must(past_->put("key", "value"));
    revision_ = store().stats().last_revision;
  }
  void TearDown() override {
    EXPECT_EQ("key=value", contents(store()));
    EXPECT_EQ("value[1000,)", history(*past_, "key"));
    EXPECT_EQ(revision_, store().stats().last_revision) << "nothing was written";
    past_.reset();
    StoreTest::TearDown();
  }

  std::optional<Family> past_;
  uint64_t revision_ = 0;
};

// ------------------------------------------------------------------------------------------------- keys

#define EXPECT_KEY_TOO_LONG(call) EXPECT_COMPLAINT(kTooLarge, call, "key", "65537", "65536")

TEST_F(BadInput, KeysThatAreTooLongToRead) {
  EXPECT_KEY_TOO_LONG(store().get(kTooLongKey));
  EXPECT_KEY_TOO_LONG(store().get_entry(kTooLongKey));
  EXPECT_KEY_TOO_LONG(store().multi_get(std::vector<std::string_view>{"key", kTooLongKey}));
  EXPECT_KEY_TOO_LONG(store().exists(kTooLongKey));
  EXPECT_KEY_TOO_LONG(store().ttl(kTooLongKey));
  EXPECT_KEY_TOO_LONG(store().deadline_of(kTooLongKey));
  EXPECT_KEY_TOO_LONG(store().lapsed(kTooLongKey));
  store().expect(std::vector<std::string_view>{kTooLongKey});  // no more than a hint
  EXPECT_KEY_TOO_LONG(past_->get_at(kTooLongKey, kStart));
  EXPECT_KEY_TOO_LONG(past_->get_revision(kTooLongKey, 1));
  EXPECT_KEY_TOO_LONG(past_->history(kTooLongKey));
}

TEST_F(BadInput, KeysThatAreTooLongToWrite) {
  EXPECT_KEY_TOO_LONG(store().put(kTooLongKey, "value"));
  EXPECT_KEY_TOO_LONG(store().put(kTooLongKey, "value", 1s));
  EXPECT_KEY_TOO_LONG(store().multi_put(std::vector<KeyValue>{{"a", "1"}, {kTooLongKey, "2"}}));
  EXPECT_KEY_TOO_LONG(store().put_if_absent(kTooLongKey, "value"));
  EXPECT_KEY_TOO_LONG(store().compare_and_set(kTooLongKey, "", "value"));
  EXPECT_KEY_TOO_LONG(store().compare_and_erase(kTooLongKey, ""));
  EXPECT_KEY_TOO_LONG(past_->compare_and_set_revision(kTooLongKey, 1, "value"));
  EXPECT_KEY_TOO_LONG(past_->compare_and_erase_revision(kTooLongKey, 1));
  EXPECT_KEY_TOO_LONG(store().get_and_set(kTooLongKey, "value"));
  EXPECT_KEY_TOO_LONG(store().get_and_erase(kTooLongKey));
  EXPECT_KEY_TOO_LONG(store().increment(kTooLongKey));
  EXPECT_KEY_TOO_LONG(store().append(kTooLongKey, "value"));
  EXPECT_KEY_TOO_LONG(store().erase(kTooLongKey));
  EXPECT_KEY_TOO_LONG(store().touch(kTooLongKey, 1s));
  EXPECT_KEY_TOO_LONG(store().expire(kTooLongKey, 1s));
  EXPECT_KEY_TOO_LONG(store().expire_at(kTooLongKey, 5'000));
  EXPECT_KEY_TOO_LONG(store().persist(kTooLongKey));
  EXPECT_KEY_TOO_LONG(past_->restore(kTooLongKey, kStart));
  EXPECT_KEY_TOO_LONG(store().erase_prefix(kTooLongKey));
  EXPECT_KEY_TOO_LONG(store().erase_range("a", kTooLongKey));
  EXPECT_KEY_TOO_LONG(store().erase_range(kTooLongKey, "z"));
  WriteBatch batch;
  batch.put("a", "1");
  batch.erase(kTooLongKey);
  EXPECT_KEY_TOO_LONG(store().write(batch));
}

TEST_F(BadInput, BoundsOfIteratorsMayBeOfAnyLength) {
  EXPECT_EQ("", keys(store(), {.prefix = kTooLongKey}));
  EXPECT_EQ("key", keys(store(), {.from = "a" + kTooLongKey, .to = "z" + kTooLongKey}));
  Iterator iterator = must(store().iterate());
  iterator.seek("a" + kTooLongKey);
  EXPECT_EQ("key", iterator.key());
}

TEST_F(BadInput, LongestKeyIsNotTooLong) {
  EXPECT_OK(past_->put(kLongestKey, "value", 1s));
  EXPECT_OK(past_->put(kLongestKey, "again", 1s));
  EXPECT_EQ("again", get(*past_, kLongestKey));
  must(past_->erase(kLongestKey));
  revision_ = store().stats().last_revision;
}

// ----------------------------------------------------------------------------------------------- values

TEST_F(BadInput, ValuesThatAreTooLarge) {
  const std::string size = std::to_string(kMaxValueBytes + 1);
  EXPECT_COMPLAINT(kTooLarge, store().put("key", too_large_value()), "value", size);
  EXPECT_COMPLAINT(kTooLarge, store().put_if_absent("new", too_large_value()), "value", size);
  EXPECT_COMPLAINT(kTooLarge, store().compare_and_set("key", "value", too_large_value()), "value", size);
  EXPECT_COMPLAINT(kTooLarge, store().get_and_set("key", too_large_value()), "value", size);
  EXPECT_COMPLAINT(kTooLarge, store().append("new", too_large_value()), "value", size);
  EXPECT_COMPLAINT(kTooLarge, store().append("key", too_large_value()), "value");
  EXPECT_COMPLAINT(kTooLarge, store().multi_put(std::vector<KeyValue>{{"a", "1"}, {"b", too_large_value()}}),
                   "value", size);
}

TEST_F(BadInput, IncrementOfText) { EXPECT_COMPLAINT(kInvalidArgument, store().increment("key"), "integer"); }

TEST_F(BadInput, IncrementWithinImpossibleBounds) {
  EXPECT_COMPLAINT(kInvalidArgument, store().increment("new", 1, {.min = 5, .max = 4}), "5", "4");
}

// -------------------------------------------------------------------------------------------- lifetimes
//
// (Every call that takes a lifetime meets every vector in lifetime_vectors_test.cc.)

TEST_F(BadInput, LifetimesOfNothing) {
  EXPECT_COMPLAINT(kInvalidArgument, store().put("key", "new", 0s), "TTL", "0");
  EXPECT_COMPLAINT(kInvalidArgument, store().put("key", "new", Lifetime::until(-5)), "deadline", "-5");
  EXPECT_COMPLAINT(kInvalidArgument, store().touch("key", -1ms), "TTL", "-1");
  EXPECT_COMPLAINT(kInvalidArgument, store().expire("key", 0ms), "TTL", "0");
  EXPECT_COMPLAINT(kInvalidArgument, store().expire_at("key", 0), "deadline", "0");
  EXPECT_COMPLAINT(kInvalidArgument, store().purge_expired({.budget = -1ms}), "budget", "-1");
  EXPECT_COMPLAINT(kInvalidArgument, store().purge_all_expired({.budget = -1ms}), "budget", "-1");
}

TEST_F(BadInput, RangesThatRunBackwards) {
  EXPECT_COMPLAINT(kInvalidArgument, store().erase_range("z", "a"), "z", "a");
  EXPECT_EQ(0u, must(store().erase_range("a", "a")));
}

TEST_F(BadInput, ForecastsOfNothing) {
  EXPECT_COMPLAINT(kInvalidArgument, store().forecast(0ms, 3), "0");
  EXPECT_COMPLAINT(kInvalidArgument, store().forecast(-1s, 3), "-1000");
  EXPECT_TRUE(must(store().forecast(1s, 0)).empty());
}

TEST_F(BadInput, ForecastsOfTooManyBuckets) {
  EXPECT_COMPLAINT(kInvalidArgument, store().forecast(1s, 1'000'001), "1000001", "1000000");
}

TEST_F(BadInput, FunctionsThatAreNone) {
  EXPECT_COMPLAINT(kInvalidArgument, store().update(nullptr), "update()", "function");
  EXPECT_COMPLAINT(kInvalidArgument, store().view(nullptr), "view()", "function");
  EXPECT_COMPLAINT(kInvalidArgument, store().for_each_expiring(0, kNever, nullptr), "for_each_expiring()",
                   "function");
  EXPECT_COMPLAINT(kInvalidArgument, past_->for_each_revision("key", nullptr), "for_each_revision()",
                   "function");
}

TEST_F(BadInput, ConditionsThatThereAreNot) {
  EXPECT_COMPLAINT(kInvalidArgument, store().expire("key", 1s, static_cast<Only>(77)), "only");
}

TEST_F(BadInput, ExpiringBetweenAnyTwoTimes) {
  EXPECT_TRUE(must(store().expiring(10, 5)).empty());
  EXPECT_TRUE(must(store().expiring(std::numeric_limits<int64_t>::min(), kNever)).empty());
  EXPECT_TRUE(must(store().expiring(kNever, std::numeric_limits<int64_t>::min())).empty());
}

// ---------------------------------------------------------------------------------------------- history

TEST_F(BadInput, HistoryWhereNoneIsKept) {
  EXPECT_COMPLAINT(kInvalidArgument, store().get_at("key", kStart), "history", "default");
  EXPECT_COMPLAINT(kInvalidArgument, store().get_revision("key", 1), "history", "default");
  EXPECT_COMPLAINT(kInvalidArgument, store().history("key"), "history", "default");
  EXPECT_COMPLAINT(kInvalidArgument, store().restore("key", kStart), "history", "default");
}

TEST_F(BadInput, RevisionsWhereThereAreNone) {
  EXPECT_COMPLAINT(kInvalidArgument, store().compare_and_set_revision("key", 1, "new"), "revision",
                   "default");
  EXPECT_COMPLAINT(kInvalidArgument, store().compare_and_erase_revision("key", 1), "revision", "default");
}

TEST_F(BadInput, TimesInTheFuture) {
  EXPECT_COMPLAINT(kInvalidArgument, past_->get_at("key", 1'001), "future", "1001");
  EXPECT_COMPLAINT(kInvalidArgument, past_->restore("key", 1'001), "future", "1001");
  EXPECT_COMPLAINT(kInvalidArgument, store().snapshot_at(1'001), "future", "1001");
}

TEST_F(BadInput, TimesBefore1970) {
  EXPECT_COMPLAINT(kInvalidArgument, past_->get_at("key", -1), "-1");
  EXPECT_COMPLAINT(kInvalidArgument, past_->restore("key", -1), "-1");
  EXPECT_COMPLAINT(kInvalidArgument, store().snapshot_at(-1), "-1");
}

TEST_F(BadInput, PastOfAFamilyWithoutHistory) {
  const Snapshot then = must(store().snapshot_at(kStart));
  EXPECT_COMPLAINT(kInvalidArgument, then.get("key"), "history", "default");
  EXPECT_COMPLAINT(kInvalidArgument, then.iterate(), "history", "default");
  EXPECT_COMPLAINT(kInvalidArgument, then.count(), "history", "default");
  EXPECT_COMPLAINT(kInvalidArgument, then.exists("key"), "history", "default");
}

// --------------------------------------------------------------------------------------------- families

TEST_F(BadInput, FamilyNames) {
  for (const std::string& name : {std::string(), std::string("__x"), std::string(256, 'n')}) {
    EXPECT_COMPLAINT(kInvalidArgument, store().create_family(name), "name") << name;
    EXPECT_COMPLAINT(kInvalidArgument, store().family_or_create(name), "name") << name;
    EXPECT_FALSE(store().family(name).ok()) << name;
    EXPECT_FALSE(store().drop_family(name).ok()) << name;
    EXPECT_FALSE(store().set_family_options(name, {}).ok()) << name;
    EXPECT_FALSE(store().swap_families(name, "past").ok()) << name;
    EXPECT_FALSE(store().swap_families("past", name).ok()) << name;
  }
  EXPECT_COMPLAINT(kInvalidArgument, store().create_family("__x"), "__");
  EXPECT_COMPLAINT(kInvalidArgument, store().create_family(std::string(256, 'n')), "255");
}

TEST_F(BadInput, FamilyPolicies) {
  const std::vector<std::pair<FamilyOptions, std::string>> bad = {
      {{.default_ttl = -1ms}, "default_ttl"}, {{.default_ttl = kForever}, "default_ttl"},
      {{.max_ttl = -1ms}, "max_ttl"},         {{.jitter_percent = -1}, "jitter"},
      {{.jitter_percent = 101}, "jitter"},    {{.history = HistoryPolicy{.keep_for = -1ms}}, "keep_for"},
  };
  for (const auto& [options, word] : bad) {
    EXPECT_COMPLAINT(kInvalidArgument, store().create_family("f", options), word);
    EXPECT_COMPLAINT(kInvalidArgument, store().family_or_create("f", options), word);
    EXPECT_COMPLAINT(kInvalidArgument, store().set_family_options("past", options), word);
    Options with = options_;
    with.default_family = options;
    EXPECT_COMPLAINT(kInvalidArgument, Store::open_in_memory(with), word);
  }
  EXPECT_CODE(kNotFound, store().family("f"));
}

TEST_F(BadInput, DroppedFamilies) {
  Family gone = family("gone");
  must(store().drop_family("gone"));
  EXPECT_COMPLAINT(kNotFound, gone.get("key"), "gone");
  EXPECT_COMPLAINT(kNotFound, gone.put("key", "value"), "gone");
  Transaction transaction = must(store().begin());
  EXPECT_COMPLAINT(kNotFound, transaction.in(gone).put("key", "value"), "gone");
  revision_ = store().stats().last_revision;
}

// ------------------------------------------------------------------------------------------ transactions

TEST_F(BadInput, TransactionsThatAreOver) {
  Transaction transaction = must(store().begin());
  transaction.rollback();
  EXPECT_COMPLAINT(kInvalidArgument, transaction.put("key", "value"), "transaction");
  EXPECT_COMPLAINT(kInvalidArgument, transaction.get("key"), "transaction");
  EXPECT_COMPLAINT(kInvalidArgument, transaction.commit(), "transaction");
}

TEST_F(BadInput, LifetimesOfNoKeys) {
  EXPECT_COMPLAINT(kInvalidArgument, store().multi_put({}, Lifetime(0ms)), "TTL");
}

TEST_F(BadInput, SavepointsOfNowhere) {
  Transaction transaction = must(store().begin());
  EXPECT_COMPLAINT(kInvalidArgument, transaction.rollback_to(Savepoint{.writes = 1'000}), "savepoint");
  must(transaction.put("key", "value"));
  EXPECT_COMPLAINT(kInvalidArgument, transaction.rollback_to(Savepoint{.writes = 1}), "savepoint");
}

TEST_F(BadInput, TransactionsThatAreTooLarge) {
  Options small;
  small.max_transaction_bytes = 10'000;
  Store limited = must(Store::open_in_memory(small));
  EXPECT_COMPLAINT(kTooLarge, limited.put("key", std::string(20'000, 'v')), "transaction");
  Transaction transaction = must(limited.begin());
  must(transaction.put("a", std::string(5'000, 'v'), 1h));
  EXPECT_CODE(kTooLarge, transaction.put("b", std::string(5'000, 'v'), 1h));
  EXPECT_EQ("a", keys(transaction)) << "as it was before that call";
  must(transaction.put("c", "small", 1h));
  must(transaction.commit());
  EXPECT_EQ("a c", keys(limited));
  EXPECT_OK(limited.verify());
}

// ---------------------------------------------------------------------------------------------- opening

TEST_F(BadInput, OpeningWhatIsNotThere) {
  Options existing;
  existing.create_if_missing = false;
  EXPECT_COMPLAINT(kNotFound, Store::open(dir_.file("absent.db"), existing), "absent.db");
  EXPECT_COMPLAINT(kNotFound, Store::open(dir_.file("no/where.db")), "/no");
  Options read_only;
  read_only.read_only = true;
  EXPECT_COMPLAINT(kNotFound, Store::open(dir_.file("absent.db"), read_only), "absent.db");
  EXPECT_FALSE(std::filesystem::exists(dir_.file("absent.db")));
}

TEST_F(BadInput, OpeningWhatIsNoStore) {
  const std::string text(20'000, 'x');
  std::ofstream(dir_.file("text")) << text;
  EXPECT_COMPLAINT(kInvalidArgument, Store::open(dir_.file("text")), "text");
  std::ifstream in(dir_.file("text"));
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(in), {})) << "the file is untouched";
  EXPECT_FALSE(Store::open(dir_.path()).ok()) << "a directory";
  EXPECT_FALSE(Store::open("").ok());
}

TEST_F(BadInput, OpeningAFileOfSnkvSaysWhatItIs) {
  const std::string content = std::string("SQLite format 3\0", 16) + std::string(8176, '\1');
  std::ofstream(dir_.file("snkv.db"), std::ios::binary) << content;
  EXPECT_COMPLAINT(kInvalidArgument, Store::open(dir_.file("snkv.db")), "which is what SNKV writes");
  std::ifstream in(dir_.file("snkv.db"), std::ios::binary);
  EXPECT_EQ(content, std::string(std::istreambuf_iterator<char>(in), {})) << "the file is untouched";
}

TEST_F(BadInput, APathWithANulIsNotCutShort) {
  const std::string path = dir_.file("cut") + std::string("\0short.db", 9);
  EXPECT_COMPLAINT(kInvalidArgument, Store::open(path), "NUL");
  EXPECT_COMPLAINT(kInvalidArgument, store().compact_to(path), "NUL");
  EXPECT_FALSE(std::filesystem::exists(dir_.file("cut")));
}

TEST_F(BadInput, OptionsThatMakeNoSense) {
  auto open_with = [&](auto change) {
    Options options;
    change(options);
    return Store::open(dir_.file("odd.db"), options).status();
  };
  EXPECT_COMPLAINT(kInvalidArgument, open_with([](Options& o) { o.buffer_bytes = 0; }), "buffer_bytes");
  EXPECT_COMPLAINT(kInvalidArgument, open_with([](Options& o) { o.max_transaction_bytes = 8UL << 30; }),
                   "max_transaction_bytes");
  EXPECT_COMPLAINT(kInvalidArgument, open_with([](Options& o) { o.sync_interval = -1ms; }), "sync_interval");
  EXPECT_COMPLAINT(kInvalidArgument, open_with([](Options& o) { o.busy_timeout = -1ms; }), "busy_timeout");
  EXPECT_COMPLAINT(kInvalidArgument, open_with([](Options& o) { o.max_transaction_bytes = 0; }),
                   "max_transaction_bytes");
  EXPECT_COMPLAINT(kInvalidArgument,
                   open_with([](Options& o) { o.durability = static_cast<Durability>(77); }), "durability");
  EXPECT_COMPLAINT(kInvalidArgument,
                   open_with([](Options& o) { o.clock_policy = static_cast<ClockPolicy>(77); }),
                   "clock_policy");
  EXPECT_FALSE(std::filesystem::exists(dir_.file("odd.db")));
}

TEST_F(BadInput, OptionsThatMakeNoSenseInMemory) {
  auto open_with = [&](auto change) {
    Options options;
    change(options);
    return Store::open_in_memory(options).status();
  };
  EXPECT_COMPLAINT(kInvalidArgument, open_with([](Options& o) { o.buffer_bytes = 0; }), "buffer_bytes");
  EXPECT_COMPLAINT(kInvalidArgument, open_with([](Options& o) { o.max_transaction_bytes = 0; }),
                   "max_transaction_bytes");
}

TEST_F(BadInput, TouchWithLimitsThatMakeNoSense) {
  for (const int64_t not_past_ms : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()})
    EXPECT_COMPLAINT(kInvalidArgument, store().touch("key", 1h, {.not_past_ms = not_past_ms}), "not_past_ms",
                     std::to_string(not_past_ms));
  EXPECT_COMPLAINT(kInvalidArgument, store().touch("key", 1h, {.if_left_below = -1ms}), "if_left_below",
                   "-1");
  EXPECT_COMPLAINT(kInvalidArgument, store().touch("absent", 1h, {.not_past_ms = 0}), "not_past_ms");
}

TEST_F(BadInput, WaitingForANegativeTime) {
  EXPECT_COMPLAINT(kInvalidArgument, store().begin(-1ms), "begin()", "-1 ms");
  EXPECT_COMPLAINT(kInvalidArgument, store().begin(std::chrono::milliseconds::min()), "negative");
  EXPECT_TRUE(store().begin(0ms).ok());
}

TEST_F(BadInput, OpeningWhatAnotherProcessHas) {
  Child holder([&](const Channel& parent) {
    Store held = must(Store::open(dir_.file("held.db")));
    parent.send("open");
    parent.receive();
  });
  ASSERT_EQ("open", holder->receive());
  EXPECT_COMPLAINT(kBusy, Store::open(dir_.file("held.db")), std::to_string(holder.pid()));
}

TEST_F(BadInput, WhatOnlyThePresentHasAskedOfThePast) {
  const Snapshot then = must(store().snapshot_at(kStart));
  const Reader past = then.in(*past_);
  EXPECT_COMPLAINT(kInvalidArgument, past.lapsed("key"), "lapsed()");
  EXPECT_COMPLAINT(kInvalidArgument, past.expiring(0, kNever), "expiring()");
  EXPECT_COMPLAINT(kInvalidArgument, past.for_each_expiring(0, kNever, [](const Expiring&) { return true; }),
                   "expiring()");
  EXPECT_COMPLAINT(kInvalidArgument, past.forecast(1h, 1), "forecast()");
  EXPECT_COMPLAINT(kInvalidArgument, past.estimated_count(), "estimated_count()");
}

TEST_F(BadInput, AFamilyOfAnotherStore) {
  Store other = must(Store::open_in_memory());
  const Family foreign = must(other.create_family("theirs"));
  Transaction transaction = must(store().begin());
  EXPECT_COMPLAINT(kInvalidArgument, transaction.in(foreign).put("key", "value"), "theirs", "another store");
  const Snapshot snapshot = must(store().snapshot());
  EXPECT_COMPLAINT(kInvalidArgument, snapshot.in(foreign).get("key"), "theirs", "another store");
}

TEST_F(BadInput, CompactingOntoAFileThatIsThere) {
  std::ofstream(dir_.file("copy.db")) << "mine";
  EXPECT_COMPLAINT(kInvalidArgument, store().compact_to(dir_.file("copy.db")), "copy.db");
  EXPECT_EQ(4u, std::filesystem::file_size(dir_.file("copy.db")));
  EXPECT_FALSE(store().compact_to(dir_.file("no/where.db")).ok());
  EXPECT_COMPLAINT(kInvalidArgument, store().compact_to(""), "empty");
}

}  // namespace
}  // namespace lapse
