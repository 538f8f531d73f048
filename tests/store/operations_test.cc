// Every operation on values: what it answers and does for a key that is there, absent, or expired; in every place.

#include "test_places.h"

namespace lapse {
namespace {

class Operations : public EveryPlace {
 protected:
  using Keys = std::vector<std::string_view>;

  // Three keys to work with: one that is there, one with a lifetime, one that has expired.
  void put_three(std::string_view value = "value") {
    must(here().put("there", value));
    must(here().put("short", value, 1h));
    must(here().put("expired", value, 1s));
    pass(1s);
  }
};
INSTANTIATE_PLACE_TESTS(Operations);

// ------------------------------------------------------------------------------------------------- reads

TEST_P(Operations, Get) {
  put_three();
  EXPECT_EQ("value", get(here(), "there"));
  EXPECT_EQ("value", get(here(), "short"));
  EXPECT_EQ(std::nullopt, get(here(), "expired"));
  EXPECT_EQ(std::nullopt, get(here(), "absent"));
  EXPECT_EQ(std::nullopt, get(here(), "")) << "the empty key is an ordinary one";
}

TEST_P(Operations, GetEntryHasValueAndTimeLeftInOneRead) {
  put_three();
  Entry entry = must(here().get_entry("short")).value();
  EXPECT_EQ("value", entry.value);
  EXPECT_EQ(kStart + 3'600'000, entry.deadline_ms);
  EXPECT_EQ(3'599s, entry.left);
  entry = must(here().get_entry("there")).value();
  EXPECT_EQ(kNever, entry.deadline_ms);
  EXPECT_EQ(kForever, entry.left);
  EXPECT_EQ(has_history() ? kStart : 0, entry.written_at_ms);
  EXPECT_EQ(has_history(), entry.revision != 0);
  EXPECT_FALSE(must(here().get_entry("expired")));
  EXPECT_FALSE(must(here().get_entry("absent")));
}

TEST_P(Operations, MultiGetAnswersInTheOrderAsked) {
  put_three();
  const auto found = must(here().multi_get(Keys{"short", "absent", "there", "expired", "there"}));
  EXPECT_EQ((std::vector<Value>{"value", std::nullopt, "value", std::nullopt, "value"}), found);
  EXPECT_TRUE(must(here().multi_get(Keys{})).empty());
}

TEST_P(Operations, Exists) {
  put_three();
  EXPECT_TRUE(exists(here(), "there"));
  EXPECT_TRUE(exists(here(), "short"));
  EXPECT_FALSE(exists(here(), "expired"));
  EXPECT_FALSE(exists(here(), "absent"));
}

TEST_P(Operations, CountIsExact) {
  EXPECT_EQ(0u, count(here()));
  put_three();
  EXPECT_EQ(2u, count(here()));
  must(here().put("there", "again"));
  must(here().put("expired", "again"));
  EXPECT_EQ(3u, count(here()));
  must(here().erase("there"));
  must(here().erase("there"));
  EXPECT_EQ(2u, count(here()));
  must(here().clear());
  EXPECT_EQ(0u, count(here()));
}

TEST_P(Operations, EstimatedCountIsNearTheCount) {
  for (int i = 0; i < 1'000; ++i)
    must(here().put(numbered(i), "value", i % 4 == 0 ? Lifetime(1h) : Lifetime()));
  commit();
  const uint64_t estimate = must(GetParam().in_family ? must(store().family("place")).estimated_count()
                                                      : store().estimated_count());
  EXPECT_LE(500u, estimate);
  EXPECT_GE(2'000u, estimate);
}

// ------------------------------------------------------------------------------------------------ writes

TEST_P(Operations, PutWritesWhateverWasThere) {
  put_three();
  for (const char* key : {"there", "short", "expired", "absent"}) must(here().put(key, "new"));
  EXPECT_EQ("absent=new expired=new short=new there=new", contents(here()));
  EXPECT_EQ("", expiring(here()));
}

TEST_P(Operations, PutOfAnyBytes) {
  const std::string bytes("\0\x01\xff\0", 4);
  for (const std::string& key :
       {std::string(), std::string("\0", 1), bytes, std::string(kMaxKeyBytes, 'k')}) {
    must(here().put(key, bytes, 1h));
    EXPECT_EQ(bytes, get(here(), key));
    must(here().put(key, ""));
    EXPECT_EQ("", get(here(), key));
  }
  EXPECT_EQ(4u, count(here()));
}

TEST_P(Operations, MultiPutGivesAllOneLifetime) {
  put_three();
  must(here().multi_put(std::vector<KeyValue>{{"there", "1"}, {"absent", "2"}, {"expired", "3"}}, 1min));
  EXPECT_EQ("absent=2 expired=3 short=value there=1", contents(here()));
  EXPECT_EQ("absent@62000 expired@62000 there@62000 short@3601000", expiring(here()));
  must(here().multi_put({}));
}

TEST_P(Operations, MultiPutIsAllOrNothing) {
  const std::string too_long(kMaxKeyBytes + 1, 'k');
  EXPECT_CODE(kTooLarge, here().multi_put(std::vector<KeyValue>{{"a", "1"}, {too_long, "2"}, {"c", "3"}}));
  EXPECT_EQ("", contents(here()));
}

TEST_P(Operations, MultiPutOfAKeyTwiceLeavesTheLast) {
  must(here().multi_put(std::vector<KeyValue>{{"a", "1"}, {"a", "2"}}));
  EXPECT_EQ("a=2", contents(here()));
}

TEST_P(Operations, PutIfAbsent) {
  put_three();
  EXPECT_FALSE(must(here().put_if_absent("there", "new", 1min)));
  EXPECT_FALSE(must(here().put_if_absent("short", "new", 1min)));
  EXPECT_TRUE(must(here().put_if_absent("expired", "new", 1min)));
  EXPECT_TRUE(must(here().put_if_absent("absent", "new")));
  EXPECT_EQ("absent=new expired=new short=value there=value", contents(here()));
  EXPECT_EQ("expired@62000 short@3601000", expiring(here()));
}

TEST_P(Operations, CompareAndSet) {
  put_three();
  EXPECT_FALSE(must(here().compare_and_set("there", "other", "new")));
  EXPECT_FALSE(must(here().compare_and_set("there", "", "new")));
  EXPECT_FALSE(must(here().compare_and_set("absent", "", "new")));
  EXPECT_FALSE(must(here().compare_and_set("expired", "value", "new")));
  EXPECT_EQ("short=value there=value", contents(here()));
  EXPECT_TRUE(must(here().compare_and_set("there", "value", "new", 1min)));
  EXPECT_TRUE(must(here().compare_and_set("short", "value", "new", Lifetime::keep())));
  EXPECT_EQ("short=new there=new", contents(here()));
  EXPECT_EQ("there@62000 short@3601000", expiring(here()));
}

TEST_P(Operations, CompareAndErase) {
  put_three();
  EXPECT_FALSE(must(here().compare_and_erase("there", "other")));
  EXPECT_FALSE(must(here().compare_and_erase("absent", "")));
  EXPECT_FALSE(must(here().compare_and_erase("expired", "value")));
  EXPECT_TRUE(must(here().compare_and_erase("short", "value")));
  EXPECT_EQ("there=value", contents(here()));
  EXPECT_EQ("", expiring(here()));
}

TEST_P(Operations, GetAndSet) {
  put_three();
  EXPECT_EQ("value", must(here().get_and_set("short", "new")));
  EXPECT_EQ(std::nullopt, must(here().get_and_set("expired", "new")));
  EXPECT_EQ(std::nullopt, must(here().get_and_set("absent", "new", 1min)));
  EXPECT_EQ("absent=new expired=new short=new there=value", contents(here()));
  EXPECT_EQ("absent@62000", expiring(here()));
}

TEST_P(Operations, GetAndErase) {
  put_three();
  EXPECT_EQ("value", must(here().get_and_erase("short")));
  EXPECT_EQ(std::nullopt, must(here().get_and_erase("short")));
  EXPECT_EQ(std::nullopt, must(here().get_and_erase("expired")));
  EXPECT_EQ(std::nullopt, must(here().get_and_erase("absent")));
  EXPECT_EQ("there=value", contents(here()));
  EXPECT_EQ("", expiring(here()));
}

TEST_P(Operations, Append) {
  put_three();
  EXPECT_EQ(8u, must(here().append("there", "+++", 1min)));
  EXPECT_EQ(8u, must(here().append("short", "+++")));
  EXPECT_EQ(3u, must(here().append("expired", "+++")));
  EXPECT_EQ(3u, must(here().append("absent", "+++", 1min)));
  EXPECT_EQ("absent=+++ expired=+++ short=value+++ there=value+++", contents(here()));
  EXPECT_EQ("absent@62000 short@3601000", expiring(here())) << "a key that is there keeps its lifetime";
}

TEST_P(Operations, Erase) {
  put_three();
  EXPECT_TRUE(must(here().erase("there")));
  EXPECT_TRUE(must(here().erase("short")));
  EXPECT_FALSE(must(here().erase("short")));
  EXPECT_FALSE(must(here().erase("expired")));
  EXPECT_FALSE(must(here().erase("absent")));
  EXPECT_EQ("", contents(here()));
  EXPECT_EQ("", expiring(here()));
}

// --------------------------------------------------------------------------------------------- increment

TEST_P(Operations, IncrementCountsFromZero) {
  put_three("10");
  EXPECT_EQ(11, must(here().increment("there")).value);
  EXPECT_EQ(5, must(here().increment("short", -5)).value);
  EXPECT_EQ(7, must(here().increment("expired", 7)).value);
  EXPECT_EQ(-3, must(here().increment("absent", -3)).value);
  EXPECT_EQ("absent=-3 expired=7 short=5 there=11", contents(here()));
}

TEST_P(Operations, IncrementSetsALifetimeOnlyAtCreation) {
  put_three("10");
  for (const char* key : {"there", "short", "expired", "absent"})
    must(here().increment(key, 1, {.lifetime = 1min}));
  EXPECT_EQ("absent@62000 expired@62000 short@3601000", expiring(here()));
  pass(30s);
  must(here().increment("absent", 1, {.lifetime = 1min}));
  EXPECT_EQ(30s, ttl(here(), "absent"));
}

TEST_P(Operations, IncrementStaysWithinItsBounds) {
  const IncrementOptions bounds{.lifetime = 1min, .min = 0, .max = 3};
  for (int i = 1; i <= 3; ++i) {
    const Increment counted = must(here().increment("calls", 1, bounds));
    EXPECT_TRUE(counted.applied);
    EXPECT_EQ(i, counted.value);
  }
  Increment counted = must(here().increment("calls", 1, bounds));
  EXPECT_FALSE(counted.applied);
  EXPECT_EQ(3, counted.value) << "what the key holds";
  counted = must(here().increment("calls", -4, bounds));
  EXPECT_FALSE(counted.applied);
  counted = must(here().increment("absent", -1, bounds));
  EXPECT_FALSE(counted.applied);
  EXPECT_EQ(0, counted.value);
  EXPECT_EQ("calls=3", contents(here()));
  pass(1min);
  EXPECT_EQ(1, must(here().increment("calls", 1, bounds)).value) << "a new minute";
}

TEST_P(Operations, IncrementRefusesWhatIsNoInteger) {
  for (const char* value : {"", "x", "1x", " 1", "1 ", "1.5", "+", "-", "9223372036854775808", "0x10"}) {
    must(here().put("key", value));
    EXPECT_COMPLAINT(kInvalidArgument, here().increment("key"), "integer") << value;
    EXPECT_EQ(value, get(here(), "key"));
  }
}

TEST_P(Operations, IncrementRefusesToLeave64Bits) {
  must(here().put("max", "9223372036854775807"));
  must(here().put("min", "-9223372036854775808"));
  EXPECT_CODE(kInvalidArgument, here().increment("max", 1));
  EXPECT_CODE(kInvalidArgument, here().increment("min", -1));
  EXPECT_CODE(kInvalidArgument, here().increment("min", std::numeric_limits<int64_t>::min()));
  EXPECT_EQ(-1, must(here().increment("max", std::numeric_limits<int64_t>::min())).value);
  EXPECT_EQ(-1, must(here().increment("min", std::numeric_limits<int64_t>::max())).value);
}

// ------------------------------------------------------------------------------------------------ ranges

TEST_P(Operations, ErasePrefix) {
  for (const char* key : {"a", "ab", "ab\xff", "abc", "ac", "b"}) must(here().put(key, "value"));
  must(here().put("abd", "value", 1s));
  pass(1s);
  EXPECT_EQ(3u, must(here().erase_prefix("ab"))) << "what had expired was not there";
  EXPECT_EQ("a ac b", keys(here()));
  EXPECT_EQ(0u, must(here().erase_prefix("x")));
  EXPECT_EQ(3u, must(here().erase_prefix("")));
  EXPECT_EQ("", keys(here()));
}

TEST_P(Operations, ErasePrefixOfHighBytes) {
  for (const char* key : {"\xfe", "\xff", "\xff\xff", "\xff\xff\xff"}) must(here().put(key, "value", 1h));
  EXPECT_EQ(2u, must(here().erase_prefix("\xff\xff")));
  EXPECT_EQ(2u, count(here()));
  EXPECT_EQ(2u, must(here().expiring(0, kNever)).size());
}

TEST_P(Operations, EraseRangeIsHalfOpen) {
  for (const char* key : {"a", "b", "c", "d"}) must(here().put(key, "value", 1h));
  EXPECT_EQ(2u, must(here().erase_range("b", "d")));
  EXPECT_EQ("a d", keys(here()));
  EXPECT_EQ(0u, must(here().erase_range("a", "a")));
  EXPECT_EQ("a d", keys(here()));
  EXPECT_EQ("a@3601000 d@3601000", expiring(here()));
}

TEST_P(Operations, EraseOfMoreThanABatch) {
  for (int i = 0; i < 1'500; ++i)
    must(here().put(numbered(i), "value", i % 2 == 0 ? Lifetime(1h) : Lifetime()));
  must(here().put("other", "value"));
  EXPECT_EQ(1'500u, must(here().erase_prefix("key")));
  EXPECT_EQ("other", keys(here()));
  EXPECT_EQ("", expiring(here()));
}

TEST_P(Operations, ClearForgetsEverything) {
  put_three();
  must(here().clear());
  EXPECT_EQ("", contents(here()));
  EXPECT_EQ("", expiring(here()));
  if (has_history()) {
    EXPECT_EQ("", history(here(), "there"));
  }
  must(here().put("there", "again", 1min));
  EXPECT_EQ("there=again", contents(here()));
  EXPECT_EQ("there@62000", expiring(here()));
}

}  // namespace
}  // namespace lapse
