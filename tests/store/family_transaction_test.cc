// Families made, dropped, exchanged and cleared inside a transaction: they take effect with it, and are undone with it.

#include <thread>

#include "test_stores.h"

namespace lapse {
namespace {

class FamilyTransactions : public EveryStore {
 protected:
  using Names = std::vector<std::string>;
  FamilyTransactions() { options_.sweep_per_write = 0; }
  Names names() { return must(store().list_families()); }
  // In another thread: one that has no transaction.
  static void elsewhere(const std::function<void()>& work) { std::thread(work).join(); }
};
INSTANTIATE_STORE_TESTS(FamilyTransactions);

// ----------------------------------------------------------------------------------------------- create

TEST_P(FamilyTransactions, AFamilyThatWasMadeIsUsableAtOnce) {
  must(store().update([&](Transaction& transaction) -> Status {
    Family made = must(transaction.create_family("made", {.default_ttl = 1min}));
    must(transaction.in(made).put("key", "value"));
    EXPECT_EQ("value", get(transaction.in(made), "key"));
    EXPECT_EQ(1min, ttl(transaction.in(made), "key"));
    EXPECT_EQ("value", get(transaction.in(must(transaction.family("made"))), "key"));
    EXPECT_EQ((Names{"default", "made"}), must(transaction.list_families()));
    EXPECT_COMPLAINT(kBusy, transaction.create_family("made"), "made");
    return {};
  }));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ((Names{"default", "made"}), names());
    EXPECT_EQ(1min, ttl(must(store().family("made")), "key"));
    EXPECT_OK(store().verify());
    reopen();
  }
}

TEST_P(FamilyTransactions, NobodyElseSeesItBeforeTheCommit) {
  const Snapshot before = must(store().snapshot());
  Transaction transaction = must(store().begin());
  Family made = must(transaction.create_family("made"));
  must(transaction.in(made).put("key", "value"));
  const auto check = [&] {
    EXPECT_COMPLAINT(kNotFound, store().family("made"), "made");
    EXPECT_EQ(Names{"default"}, names());
    EXPECT_CODE(kNotFound, made.get("key"));
    EXPECT_CODE(kNotFound, made.next_deadline());
    EXPECT_CODE(kNotFound, must(store().snapshot()).in(made).get("key"));
  };
  check();
  elsewhere(check);
  must(transaction.commit());
  EXPECT_EQ("value", get(made, "key")) << "the same handle";
  elsewhere([&] { EXPECT_EQ("value", get(must(store().family("made")), "key")); });
  EXPECT_CODE(kNotFound, before.in(made).get("key"));
}

TEST_P(FamilyTransactions, RolledBackItWasNeverThere) {
  std::optional<Family> made;
  {
    Transaction transaction = must(store().begin());
    made = must(transaction.create_family("made"));
    must(transaction.in(*made).put("key", "value", 1s));
  }
  const auto check = [&] {
    EXPECT_CODE(kNotFound, made->get("key"));
    EXPECT_CODE(kNotFound, made->put("key", "value"));
    EXPECT_CODE(kNotFound, must(store().begin()).in(*made).put("key", "value"));
  };
  check();
  EXPECT_EQ(Names{"default"}, names());
  Family again = family("made");
  must(again.put("other", "value"));
  check();
  must(store().update([&](Transaction& transaction) -> Status {
    must(transaction.create_family("more"));  // from now on it reads the catalog's rows
    EXPECT_CODE(kNotFound, transaction.in(*made).get("other"));
    return {};
  }));
  EXPECT_EQ("other", keys(again));
  EXPECT_OK(store().verify());
}

TEST_P(FamilyTransactions, MadeAgainAfterRollbackToItIsAnotherFamily) {
  Transaction transaction = must(store().begin());
  const Savepoint before = transaction.savepoint();
  Family first = must(transaction.create_family("made"));
  must(transaction.in(first).put("first", "value", 1s));
  must(transaction.rollback_to(before));
  EXPECT_EQ(Names{"default"}, must(transaction.list_families()));
  EXPECT_CODE(kNotFound, transaction.family("made"));
  EXPECT_CODE(kNotFound, transaction.in(first).get("first"));
  Family second = must(transaction.create_family("made"));
  EXPECT_EQ("", keys(transaction.in(second)));
  must(transaction.in(second).put("second", "value", 1s));
  EXPECT_CODE(kNotFound, transaction.in(first).put("first", "value"));
  must(transaction.commit());
  EXPECT_CODE(kNotFound, first.get("first"));
  EXPECT_EQ("second", keys(must(store().family("made"))));
  clock_.advance(1'000);
  EXPECT_EQ(1u, purge(second));
  EXPECT_EQ((Names{"default", "made"}), names());
  EXPECT_OK(store().verify());
}

TEST_P(FamilyTransactions, ACommitThatFailsMakesNone) {
  {
    Transaction transaction = must(store().begin());
    Family made = must(transaction.create_family("made"));
    must(store().close());
    EXPECT_CODE(kUnavailable, transaction.commit());
    EXPECT_CODE(kUnavailable, made.get("key"));
  }
  if (memory_) return;
  reopen();
  EXPECT_EQ(Names{"default"}, names());
}

// ------------------------------------------------------------------------------------------------- drop

TEST_P(FamilyTransactions, ADroppedFamilyIsGoneInsideAndThereOutside) {
  Family f = family("f");
  must(f.put("key", "value", 1h));
  Transaction transaction = must(store().begin());
  must(transaction.drop_family("f"));
  EXPECT_CODE(kNotFound, transaction.in(f).get("key"));
  EXPECT_CODE(kNotFound, transaction.in(f).put("key", "value"));
  EXPECT_CODE(kNotFound, transaction.family("f"));
  EXPECT_CODE(kNotFound, transaction.drop_family("f"));
  EXPECT_COMPLAINT(kInvalidArgument, transaction.drop_family("default"), "default");
  elsewhere([&] {
    EXPECT_EQ("value", get(f, "key"));
    EXPECT_EQ((Names{"default", "f"}), names());
  });
  must(transaction.commit());
  EXPECT_CODE(kNotFound, f.get("key"));
  EXPECT_EQ(Names{"default"}, names());
  must(store().put("reclaims", "value"));
  EXPECT_OK(store().verify());
}

TEST_P(FamilyTransactions, ADropThatIsUndoneLeavesEverything) {
  Family f = family("f", {.history = HistoryPolicy{}});
  must(f.put("key", "1", 1h));
  must(f.put("key", "2", 2h));
  for (const bool to_savepoint : {true, false}) {
    Transaction transaction = must(store().begin());
    const Savepoint before = transaction.savepoint();
    must(transaction.drop_family("f"));
    purge(transaction);  // which also reclaims
    if (to_savepoint) {
      must(transaction.rollback_to(before));
      EXPECT_EQ("2", get(transaction.in(f), "key"));
      must(transaction.commit());
    } else {
      transaction.rollback();
    }
    EXPECT_EQ("2", get(f, "key"));
    EXPECT_EQ(2u, must(f.history("key")).size());
    EXPECT_EQ("key@7201000", expiring(f));
    EXPECT_EQ(0u, purge(store()));
    EXPECT_OK(store().verify());
  }
}

TEST_P(FamilyTransactions, DroppedAndMadeAnewUnderItsName) {
  Family old = family("f");
  must(old.put("old", "value"));
  for (const bool commits : {false, true}) {
    Transaction transaction = must(store().begin());
    must(transaction.drop_family("f"));
    Family anew = must(transaction.create_family("f"));
    EXPECT_EQ("", keys(transaction.in(anew)));
    must(transaction.in(anew).put("new", "value"));
    EXPECT_CODE(kNotFound, transaction.in(old).get("old"));
    elsewhere([&] { EXPECT_EQ("old", keys(must(store().family("f")))); });
    EXPECT_EQ((Names{"default", "f"}), names());
    if (commits) {
      must(transaction.commit());
    } else {
      transaction.rollback();
    }
    EXPECT_EQ(commits ? "new" : "old", keys(must(store().family("f"))));
    EXPECT_EQ((Names{"default", "f"}), names());
    EXPECT_OK(store().verify());
  }
  EXPECT_CODE(kNotFound, old.get("old"));
  reopen();
  EXPECT_EQ("new", keys(must(store().family("f"))));
}

TEST_P(FamilyTransactions, MadeAndDroppedInOneLeavesNothing) {
  Transaction transaction = must(store().begin());
  Family brief = must(transaction.create_family("brief"));
  must(transaction.in(brief).put("key", "value", 1s));
  must(transaction.drop_family("brief"));
  EXPECT_CODE(kNotFound, transaction.in(brief).get("key"));
  must(transaction.commit());
  EXPECT_EQ(Names{"default"}, names());
  EXPECT_CODE(kNotFound, brief.get("key"));
  purge(store());
  EXPECT_OK(store().verify());
}

// ------------------------------------------------------------------------------------------------- swap

TEST_P(FamilyTransactions, SwappedInsideAndThereforeOutsideAtTheCommit) {
  Family a = family("a");
  Family b = family("b");
  must(a.put("in-a", "value", 1s));
  must(b.put("in-b", "value", 1h));
  for (const bool commits : {false, true}) {
    Transaction transaction = must(store().begin());
    must(transaction.swap_families("a", "b"));
    EXPECT_EQ("in-b", keys(transaction.in(a)));
    EXPECT_EQ("in-a", keys(transaction.in(b)));
    EXPECT_EQ(2'000, must(transaction.in(b).next_deadline()));
    elsewhere([&] {
      EXPECT_EQ("in-a", keys(a));
      EXPECT_EQ(2'000, must(a.next_deadline()));
    });
    if (commits) {
      must(transaction.commit());
    } else {
      transaction.rollback();
    }
    EXPECT_EQ(commits ? "in-b" : "in-a", keys(a));
  }
  clock_.advance(1'000);
  EXPECT_EQ(0u, purge(a));
  EXPECT_EQ(1u, purge(b));
  EXPECT_OK(store().verify());
  reopen();
  EXPECT_EQ("in-b", keys(must(store().family("a"))));
}

TEST_P(FamilyTransactions, AFamilyFilledAndSwappedInReplacesAnother) {
  Family live = family("live");
  must(live.put("old", "value"));
  must(store().update([&](Transaction& transaction) -> Status {
    LAPSE_TRY_ASSIGN(Family next, transaction.create_family("next"));
    LAPSE_TRY(transaction.in(next).put("new", "value"));
    LAPSE_TRY(transaction.swap_families("live", "next"));
    return transaction.drop_family("next");
  }));
  EXPECT_EQ("new", keys(live));
  EXPECT_EQ((Names{"default", "live"}), names());
  purge(store());
  EXPECT_OK(store().verify());
  reopen();
  EXPECT_EQ("new", keys(must(store().family("live"))));
}

// ------------------------------------------------------------------------------------------------ clear

TEST_P(FamilyTransactions, AClearIsUndoneByRollbackTo) {
  Family f = family("f", {.counted = true});
  must(f.put("due", "value", 1s));
  must(f.put("kept", "value"));
  Transaction transaction = must(store().begin());
  must(transaction.in(f).put("before", "value", 2s));
  const Savepoint before = transaction.savepoint();
  for (int round = 0; round < 2; ++round) {
    must(transaction.in(f).clear());
    EXPECT_EQ("", keys(transaction.in(f)));
    EXPECT_EQ(kNever, must(transaction.in(f).next_deadline()));
    must(transaction.in(f).put("after", "value", 5s));
    EXPECT_EQ(6'000, must(transaction.in(f).next_deadline()));
    EXPECT_EQ(1u, count(transaction.in(f)));
    elsewhere([&] { EXPECT_EQ("due kept", keys(f)); });
    must(transaction.rollback_to(before));
    EXPECT_EQ("before due kept", keys(transaction.in(f)));
    EXPECT_EQ(3u, count(transaction.in(f)));
    EXPECT_EQ(2'000, must(transaction.in(f).next_deadline()));
  }
  must(transaction.commit());
  EXPECT_EQ("before due kept", keys(f));
  clock_.advance(2'000);
  EXPECT_EQ(2u, purge(f));
  EXPECT_EQ("kept", keys(f));
  EXPECT_OK(store().verify());
}

// ------------------------------------------------------------------------------------ what is not allowed

TEST_P(FamilyTransactions, AnEndedOneChangesNothing) {
  Transaction transaction = must(store().begin());
  must(transaction.commit());
  EXPECT_COMPLAINT(kInvalidArgument, transaction.create_family("f"), "ended");
  EXPECT_COMPLAINT(kInvalidArgument, transaction.drop_family("f"), "ended");
  EXPECT_COMPLAINT(kInvalidArgument, transaction.swap_families("f", "g"), "ended");
  EXPECT_COMPLAINT(kInvalidArgument, transaction.family("f"), "ended");
  EXPECT_COMPLAINT(kInvalidArgument, transaction.list_families(), "ended");
}

TEST_P(FamilyTransactions, NamesAreCheckedAsOutside) {
  Transaction transaction = must(store().begin());
  EXPECT_COMPLAINT(kInvalidArgument, transaction.create_family(""), "name");
  EXPECT_COMPLAINT(kInvalidArgument, transaction.create_family("__f"), "__");
  EXPECT_COMPLAINT(kInvalidArgument, transaction.create_family("f", {.jitter_percent = 101}), "jitter");
  EXPECT_COMPLAINT(kNotFound, transaction.swap_families("default", "f"), "f");
  EXPECT_EQ(Names{"default"}, must(transaction.list_families()));
}

}  // namespace
}  // namespace lapse
