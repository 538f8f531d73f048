// Column families: created, opened, listed, dropped, cleared, swapped; handles that outlive them.

#include "test_stores.h"

namespace lapse {
namespace {

class Families : public EveryStore {
 protected:
  using Names = std::vector<std::string>;
  Names names() { return must(store().list_families()); }
};
INSTANTIATE_STORE_TESTS(Families);

// A handle is one of something: there is none that would have to be looked at before it is used.
static_assert(!std::is_default_constructible_v<Family> && !std::is_default_constructible_v<Keyspace> &&
              !std::is_default_constructible_v<Snapshot> && !std::is_default_constructible_v<Store>);

TEST_P(Families, AreCreatedOpenedAndListed) {
  EXPECT_EQ(Names{"default"}, names());
  Family b = family("b");
  Family a = family("a");
  EXPECT_EQ((Names{"a", "b", "default"}), names());
  must(a.put("key", "in a"));
  EXPECT_EQ("in a", get(must(store().family("a")), "key"));
  EXPECT_EQ("a", a.family_name());
  EXPECT_EQ("default", store().family_name());
  reopen();
  EXPECT_EQ((Names{"a", "b", "default"}), names());
  EXPECT_EQ("in a", get(must(store().family("a")), "key"));
}

TEST_P(Families, CreatingOneThatIsThereIsBusy) {
  family("f", {.default_ttl = 1min});
  EXPECT_COMPLAINT(kBusy, store().create_family("f"), "f");
  EXPECT_COMPLAINT(kBusy, store().create_family("default"), "default");
  EXPECT_EQ(1min, must(must(store().family("f")).family_options()).default_ttl);
}

TEST_P(Families, OpeningOneThatIsNotThereIsNotFound) {
  EXPECT_COMPLAINT(kNotFound, store().family("f"), "f");
  EXPECT_COMPLAINT(kNotFound, store().drop_family("f"), "f");
  EXPECT_COMPLAINT(kNotFound, store().set_family_options("f", {}), "f");
  EXPECT_COMPLAINT(kNotFound, store().swap_families("default", "f"), "f");
  EXPECT_COMPLAINT(kNotFound, store().swap_families("f", "f"), "f");
}

TEST_P(Families, OpenOrCreate) {
  Family first = must(store().family_or_create("f", {.default_ttl = 1min}));
  must(first.put("key", "value"));
  Family second = must(store().family_or_create("f", {.default_ttl = 1h}));
  EXPECT_EQ("value", get(second, "key"));
  EXPECT_EQ(1min, must(second.family_options()).default_ttl) << "it has its own options already";
  EXPECT_OK(store().family_or_create("default"));
}

TEST_P(Families, TheDefaultOneIsTheStoreItself) {
  Family family = must(store().family("default"));
  must(family.put("key", "value", 1h));
  EXPECT_EQ("key=value", contents(store()));
  must(store().put("other", "value"));
  EXPECT_EQ("key other", keys(family));
  EXPECT_COMPLAINT(kInvalidArgument, store().drop_family("default"), "default");
}

TEST_P(Families, HandlesAreReferences) {
  Family a = family("f");
  const Family copy = a;
  must(a.put("key", "value"));
  EXPECT_EQ("value", get(copy, "key"));
}

TEST_P(Families, ManyOfThem) {
  for (int i = 0; i < 200; ++i) must(family(numbered(i)).put("key", std::to_string(i), 1h));
  reopen();
  EXPECT_EQ(201u, names().size());
  for (int i = 0; i < 200; i += 7) {
    EXPECT_EQ("key=" + std::to_string(i), contents(must(store().family(numbered(i)))));
  }
}

TEST_P(Families, NamesOfAnyBytes) {
  const std::string odd("\0\xff /.", 5);
  must(family(odd).put("key", "value"));
  must(family(std::string(255, 'n')).put("key", "other"));
  reopen();
  EXPECT_EQ("value", get(must(store().family(odd)), "key"));
  EXPECT_EQ("other", get(must(store().family(std::string(255, 'n'))), "key"));
}

// --------------------------------------------------------------------------------------- drop and clear

TEST_P(Families, HandlesOfADroppedOneAnswerNotFound) {
  Family old = family("f");
  must(old.put("key", "value", 1h));
  must(store().drop_family("f"));
  EXPECT_CODE(kNotFound, old.get("key"));
  EXPECT_CODE(kNotFound, old.put("key", "value"));
  EXPECT_CODE(kNotFound, old.iterate());
  EXPECT_CODE(kNotFound, old.count());
  EXPECT_CODE(kNotFound, old.purge_expired());
  EXPECT_CODE(kNotFound, old.clear());
  EXPECT_CODE(kNotFound, old.family_options());
  Family next = family("f");
  EXPECT_CODE(kNotFound, old.get("key")) << "also if another is created under its name";
  EXPECT_CODE(kNotFound, old.put("key", "value"));
  EXPECT_EQ("", contents(next));
  EXPECT_EQ((Names{"default", "f"}), names());
}

TEST_P(Families, MadeLaterAreNotTakenForADroppedOneByASnapshot) {
  std::optional<Family> dropped = family("dropped");
  must(dropped->put("key", "value"));
  const Snapshot snapshot = must(store().snapshot());
  EXPECT_EQ("value", get(snapshot.in(*dropped), "key"));
  must(store().drop_family("dropped"));
  dropped.reset();  // its memory may be used again, and most likely is, by the next one
  for (int i = 0; i < 10; ++i) {
    const Family later = family(numbered(i));
    EXPECT_COMPLAINT(kNotFound, snapshot.in(later).get("key"), "younger than this snapshot");
  }
}

TEST_P(Families, DroppedWithAThousandKeysLeaveNothingBehind) {
  Family family = this->family("f", {.history = HistoryPolicy{}});
  put_numbered(family, 0, 1'000, "value", 1s);
  put_numbered(family, 0, 500, "again", 2s);
  must(store().drop_family("f"));
  EXPECT_EQ(Names{"default"}, names());
  clock_.advance(10'000);
  EXPECT_EQ(0u, must(store().purge_all_expired()).removed);
  for (int i = 0; i < 20; ++i) must(store().put(numbered(i), "value"));  // reclaims, a little at a time
  must(store().purge_all_expired());
  EXPECT_OK(store().verify());
  reopen();
  EXPECT_EQ(Names{"default"}, names());
  EXPECT_OK(store().verify());
}

TEST_P(Families, ClearedStayWithTheirPolicies) {
  Family family = this->family("f", {.counted = true, .default_ttl = 1min});
  put_numbered(family, 0, 1'000, "value");
  must(family.clear());
  EXPECT_EQ("", contents(family));
  EXPECT_EQ("", expiring(family));
  EXPECT_EQ(0u, count(family));
  must(family.put("key", "value"));
  EXPECT_EQ(1min, ttl(family, "key"));
  reopen();
  family = must(store().family("f"));
  EXPECT_EQ("key", keys(family));
  EXPECT_OK(store().verify());
}

TEST_P(Families, ClearingOneTouchesNoOther) {
  Family a = family("a");
  Family b = family("b");
  for (Family* family : {&a, &b}) must(family->put("key", "value", 1h));
  must(store().put("key", "value", 1h));
  must(a.clear());
  must(store().clear());
  EXPECT_EQ("", contents(a));
  EXPECT_EQ("", contents(store()));
  EXPECT_EQ("key=value", contents(b));
  EXPECT_EQ("key@3601000", expiring(b));
}

// ------------------------------------------------------------------------------------------------- swap

TEST_P(Families, SwappedExchangeContentsAndPolicies) {
  Family a = family("a", {.default_ttl = 1min});
  Family b = family("b", {.history = HistoryPolicy{.keep_last = 3}});
  must(a.put("in a", "1"));
  must(b.put("in b", "1"));
  clock_.advance(1'000);
  must(b.put("in b", "2"));
  must(store().swap_families("a", "b"));
  for (int round = 0; round < 2; ++round) {
    a = must(store().family("a"));
    b = must(store().family("b"));
    EXPECT_EQ("in\\x20b=2", contents(a));
    EXPECT_EQ("2[2000,) 1[1000,2000)overwritten", history(a, "in b"));
    EXPECT_EQ("in\\x20a=1", contents(b));
    EXPECT_EQ(1min, must(b.family_options()).default_ttl);
    EXPECT_EQ(59s, ttl(b, "in a"));
    EXPECT_EQ("a", a.family_name());
    reopen();
  }
}

TEST_P(Families, SwappedWithTheDefaultOne) {
  Family f = family("f");
  must(f.put("in f", "1"));
  must(store().put("in default", "1"));
  must(store().swap_families("default", "f"));
  EXPECT_EQ("in\\x20f", keys(store()));
  EXPECT_EQ("in\\x20default", keys(must(store().family("f"))));
  reopen();
  EXPECT_EQ("in\\x20f", keys(store()));
}

TEST_P(Families, SwappedWithThemselvesStayAsTheyAre) {
  Family f = family("f");
  must(f.put("key", "value"));
  const Status status = store().swap_families("f", "f");
  EXPECT_TRUE(status.ok() || status.code() == StatusCode::kInvalidArgument);
  EXPECT_EQ("key", keys(must(store().family("f"))));
}

// ------------------------------------------------------------------------------- several stores, one file

TEST_P(Families, AreSharedByStoresOnOneFile) {
  if (memory_) return;
  Family family = this->family("f");
  Store second = must(Store::open(path(), options_));
  Family same = must(second.family("f"));
  must(same.put("key", "value", 1h));
  EXPECT_EQ("value", get(family, "key"));
  must(second.create_family("g"));
  EXPECT_OK(store().family("g"));
  must(second.drop_family("f"));
  EXPECT_CODE(kNotFound, family.get("key"));
  must(second.set_family_options("g", {.default_ttl = 1min}));
  Family g = must(store().family("g"));
  must(g.put("key", "value"));
  EXPECT_EQ(1min, ttl(g, "key"));
}

}  // namespace
}  // namespace lapse
