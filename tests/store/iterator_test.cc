// Iterators: directions, bounds, seeks, what they skip, and that they stay with their moment.

#include "test_stores.h"

namespace lapse {
namespace {

class Iterators : public EveryStore {
 protected:
  void put_keys(Keyspace& keyspace, const std::vector<std::string>& keys) {
    for (const std::string& key : keys) must(keyspace.put(key, "value of " + key));
  }
  std::string at(const Iterator& iterator) { return iterator.valid() ? std::string(iterator.key()) : "end"; }
};
INSTANTIATE_STORE_TESTS(Iterators);

TEST_P(Iterators, OverNothing) {
  Iterator iterator = must(store().iterate());
  EXPECT_FALSE(iterator.valid());
  EXPECT_OK(iterator.status());
  iterator.first();
  EXPECT_FALSE(iterator.valid());
  iterator.last();
  EXPECT_FALSE(iterator.valid());
  iterator.seek("a");
  EXPECT_FALSE(iterator.valid());
  EXPECT_OK(iterator.status());
}

TEST_P(Iterators, ForwardAndBack) {
  put_keys(store(), {"b", "a", "c"});
  EXPECT_EQ("a b c", keys(store()));
  EXPECT_EQ("c b a", keys(store(), {.reverse = true}));
}

TEST_P(Iterators, ShowKeyValueDeadlineAndRevision) {
  Family past = this->past();
  must(past.put("a", "1", 1h));
  must(past.put("b", "2"));
  Iterator iterator = must(past.iterate());
  EXPECT_EQ("a", iterator.key());
  EXPECT_EQ("1", iterator.value());
  EXPECT_EQ(kStart + 3'600'000, iterator.deadline_ms());
  EXPECT_EQ(must(past.get_entry("a"))->revision, iterator.revision());
  iterator.next();
  EXPECT_EQ("b", iterator.key());
  EXPECT_EQ(kNever, iterator.deadline_ms());
  must(store().put("plain", "value"));
  EXPECT_EQ(0u, must(store().iterate()).revision());
}

TEST_P(Iterators, KeysAreInByteOrder) {
  const std::vector<std::string> ordered = {
      "", std::string("\0", 1), std::string("\0\xff", 2), "A", "a", "aa", "b", "\xff"};
  for (auto key = ordered.rbegin(); key != ordered.rend(); ++key) must(store().put(*key, "value"));
  Iterator iterator = must(store().iterate());
  for (const std::string& key : ordered) {
    ASSERT_TRUE(iterator.valid());
    EXPECT_EQ(key, iterator.key());
    iterator.next();
  }
  EXPECT_FALSE(iterator.valid());
}

TEST_P(Iterators, Prefix) {
  put_keys(store(), {"a", "ab", "ab\xff", "abc", "ac", "b"});
  EXPECT_EQ("ab abc ab\\xff", keys(store(), {.prefix = "ab"}));
  EXPECT_EQ("ab\\xff abc ab", keys(store(), {.prefix = "ab", .reverse = true}));
  EXPECT_EQ("", keys(store(), {.prefix = "x"}));
  EXPECT_EQ("", keys(store(), {.prefix = "x", .reverse = true}));
}

TEST_P(Iterators, PrefixOfHighBytes) {
  put_keys(store(), {"\xfe", "\xff", "\xff\xff", "\xff\xff\xff"});
  EXPECT_EQ("\\xff\\xff \\xff\\xff\\xff", keys(store(), {.prefix = "\xff\xff"}));
  EXPECT_EQ("\\xff\\xff\\xff \\xff\\xff", keys(store(), {.prefix = "\xff\xff", .reverse = true}));
}

TEST_P(Iterators, RangeIsHalfOpen) {
  put_keys(store(), {"a", "b", "c", "d"});
  EXPECT_EQ("b c", keys(store(), {.from = "b", .to = "d"}));
  EXPECT_EQ("c b", keys(store(), {.from = "b", .to = "d", .reverse = true}));
  EXPECT_EQ("b c d", keys(store(), {.from = "aa"}));
  EXPECT_EQ("a b", keys(store(), {.to = "bb"}));
  EXPECT_EQ("", keys(store(), {.from = "b", .to = "b"}));
  EXPECT_EQ("", keys(store(), {.from = "c", .to = "b"}));
  EXPECT_EQ("", keys(store(), {.to = ""}));
}

TEST_P(Iterators, PrefixAndRangeLimitTogether) {
  put_keys(store(), {"a1", "b1", "b2", "b3", "c1"});
  EXPECT_EQ("b2 b3", keys(store(), {.prefix = "b", .from = "b2"}));
  EXPECT_EQ("b1", keys(store(), {.prefix = "b", .from = "a", .to = "b2"}));
  EXPECT_EQ("b3 b2 b1", keys(store(), {.prefix = "b", .from = "a", .to = "d", .reverse = true}));
  EXPECT_EQ("", keys(store(), {.prefix = "b", .from = "c"}));
}

TEST_P(Iterators, NeverLeaveTheirFamily) {
  Family a = family("a");
  Family b = family("b");
  Family c = family("c");
  put_keys(a, {"1", "\xff\xff"});
  put_keys(c, {"", "1"});
  EXPECT_EQ("", keys(b));
  EXPECT_EQ("", keys(b, {.reverse = true}));
  put_keys(b, {"5"});
  Iterator iterator = must(b.iterate());
  iterator.prev();
  EXPECT_FALSE(iterator.valid());
  iterator.last();
  EXPECT_EQ("5", at(iterator));
  iterator.next();
  EXPECT_FALSE(iterator.valid());
  iterator.seek("6");
  EXPECT_FALSE(iterator.valid());
}

TEST_P(Iterators, NextAndPrevAreEachOthersOpposites) {
  put_keys(store(), {"a", "b", "c"});
  for (const bool reverse : {false, true}) {
    Iterator iterator = must(store().iterate({.reverse = reverse}));
    const std::string first = reverse ? "c" : "a";
    const std::string last = reverse ? "a" : "c";
    EXPECT_EQ(first, at(iterator));
    iterator.next();
    EXPECT_EQ("b", at(iterator));
    iterator.prev();
    EXPECT_EQ(first, at(iterator));
    iterator.last();
    EXPECT_EQ(last, at(iterator));
    iterator.prev();
    EXPECT_EQ("b", at(iterator));
    iterator.first();
    EXPECT_EQ(first, at(iterator));
    iterator.prev();
    EXPECT_EQ("end", at(iterator));
    iterator.first();
    EXPECT_EQ(first, at(iterator)) << "from anywhere";
  }
}

TEST_P(Iterators, SeekGoesToTheFirstKeyAtOrBeyondInItsDirection) {
  put_keys(store(), {"b", "d", "f"});
  Iterator forward = must(store().iterate());
  for (const auto& [sought, found] : std::vector<std::pair<std::string, std::string>>{
           {"", "b"}, {"b", "b"}, {"c", "d"}, {"f", "f"}, {"g", "end"}, {"a", "b"}}) {
    forward.seek(sought);
    EXPECT_EQ(found, at(forward)) << sought;
  }
  Iterator back = must(store().iterate({.reverse = true}));
  for (const auto& [sought, found] : std::vector<std::pair<std::string, std::string>>{
           {"z", "f"}, {"f", "f"}, {"e", "d"}, {"b", "b"}, {"a", "end"}, {"c", "b"}}) {
    back.seek(sought);
    EXPECT_EQ(found, at(back)) << sought;
  }
}

TEST_P(Iterators, SeekStaysWithinTheBounds) {
  put_keys(store(), {"a", "b", "c", "d"});
  Iterator forward = must(store().iterate({.from = "b", .to = "d"}));
  forward.seek("a");
  EXPECT_EQ("b", at(forward));
  forward.seek("d");
  EXPECT_EQ("end", at(forward));
  Iterator back = must(store().iterate({.from = "b", .to = "d", .reverse = true}));
  back.seek("z");
  EXPECT_EQ("c", at(back));
  back.seek("d");
  EXPECT_EQ("c", at(back));
  back.seek("a");
  EXPECT_EQ("end", at(back));
}

TEST_P(Iterators, SkipExpiredKeysInEveryMove) {
  for (int i = 0; i < 50; ++i) {
    must(store().put(numbered(i), "value", i % 10 == 5 ? Lifetime() : Lifetime(1s)));
  }
  clock_.advance(1'000);
  const Snapshot snapshot = must(store().snapshot());
  EXPECT_EQ("key00005 key00015 key00025 key00035 key00045", keys(snapshot));
  EXPECT_EQ("key00045 key00035 key00025 key00015 key00005", keys(snapshot, {.reverse = true}));
  Iterator iterator = must(snapshot.iterate());
  iterator.last();
  EXPECT_EQ("key00045", at(iterator));
  iterator.prev();
  EXPECT_EQ("key00035", at(iterator));
  iterator.seek(numbered(6));
  EXPECT_EQ("key00015", at(iterator));
  Iterator back = must(snapshot.iterate({.reverse = true}));
  back.seek(numbered(14));
  EXPECT_EQ("key00005", at(back));
}

TEST_P(Iterators, SeeTheStoreAsOfTheirCreation) {
  put_keys(store(), {"a", "b", "c"});
  Iterator iterator = must(store().iterate());
  must(store().put("aa", "new"));
  must(store().put("b", "new"));
  must(store().erase("c"));
  must(store().put("d", "new"));
  iterator.next();
  EXPECT_EQ("b", at(iterator));
  EXPECT_EQ("value of b", iterator.value());
  iterator.next();
  EXPECT_EQ("c", at(iterator));
  iterator.next();
  EXPECT_EQ("end", at(iterator));
  iterator.last();
  EXPECT_EQ("c", at(iterator));
}

TEST_P(Iterators, OutliveAClearAndADrop) {
  Family family = this->family("f");
  put_keys(family, {"a", "b"});
  Iterator over_cleared = must(family.iterate());
  must(family.clear());
  put_keys(family, {"c"});
  Iterator over_dropped = must(family.iterate());
  must(store().drop_family("f"));
  for (int i = 0; i < 50; ++i) must(store().put(numbered(i), "reclaims"));
  EXPECT_EQ("a", at(over_cleared));
  over_cleared.next();
  EXPECT_EQ("b", at(over_cleared));
  EXPECT_EQ("c", at(over_dropped));
}

TEST_P(Iterators, OverATransactionSeeItsWritesUpToTheirLatestMove) {
  put_keys(store(), {"a", "c"});
  Transaction transaction = must(store().begin());
  Iterator iterator = must(transaction.iterate());
  EXPECT_EQ("a", at(iterator));
  must(transaction.put("b", "new"));
  must(transaction.erase("c"));
  must(transaction.put("d", "new", 1h));
  iterator.next();
  EXPECT_EQ("b", at(iterator));
  iterator.next();
  EXPECT_EQ("d", at(iterator));
  EXPECT_EQ(kStart + 3'600'000, iterator.deadline_ms());
  iterator.next();
  EXPECT_EQ("end", at(iterator));
}

TEST_P(Iterators, EraseWhileIteratingATransaction) {
  for (int i = 0; i < 20; ++i) must(store().put(numbered(i), "value", 1h));
  must(store().update([&](Transaction& transaction) {
    LAPSE_TRY_ASSIGN(Iterator iterator, transaction.iterate());
    for (; iterator.valid(); iterator.next()) {
      const std::string key(iterator.key());
      LAPSE_TRY(transaction.erase(key));
    }
    return iterator.status();
  }));
  EXPECT_EQ("", keys(store()));
  EXPECT_EQ("", expiring(store()));
}

TEST_P(Iterators, LongKeysInOrder) {
  const std::string common(600, 'x');
  const std::vector<std::string> ordered = {common,       common + std::string("\0", 1),
                                            common + "a", common + std::string(5'000, 'a'),
                                            common + "b", std::string(kMaxKeyBytes, 'y')};
  for (const std::string& key : ordered) must(store().put(key, "value", 1h));
  Iterator iterator = must(store().iterate({.prefix = "x"}));
  for (size_t i = 0; i + 1 < ordered.size(); ++i, iterator.next()) {
    ASSERT_TRUE(iterator.valid());
    EXPECT_TRUE(iterator.key() == ordered[i]) << i;
  }
  EXPECT_FALSE(iterator.valid());
  EXPECT_EQ(ordered.size(), must(store().expiring(0, kNever)).size());
}

}  // namespace
}  // namespace lapse
