// The engine contract: what the store above leans on, beside reading and writing.

#include "test_engines.h"

namespace lapse::engine {
namespace {

using AsideConformance = EngineTest;
INSTANTIATE_ENGINE_TESTS(AsideConformance);

TEST_P(AsideConformance, CommitWithoutWaitingIsACommitOrNothing) {
  Map expected;
  for (int i = 0; i < 200; ++i) {
    auto transaction = must(engine_->begin());
    must(transaction->put(numbered(i), "value"));
    const Result<uint64_t> sequence = transaction->commit_without_waiting();
    if (sequence.ok()) {
      expected[numbered(i)] = "value";
    } else {
      ASSERT_TRUE(has_code(StatusCode::kBusy, sequence.status()));
      EXPECT_EQ("value", must(transaction->get(numbered(i))).value());  // still open
      transaction.reset();
      put(*engine_, "another", "commit");  // makes room
      expected["another"] = "commit";
    }
  }
  put(*engine_, "last", "commit");  // at full, makes those before it visible
  expected["last"] = "commit";
  EXPECT_TRUE(holds(*engine_, expected));
}

TEST_P(AsideConformance, CommitWithoutWaitingEndsTheTransaction) {
  auto transaction = must(engine_->begin());
  must(transaction->put("key", "value"));
  if (!transaction->commit_without_waiting().ok()) return;  // had to wait, and is still open
  EXPECT_CODE(kInvalidArgument, transaction->put("key", "other"));
  EXPECT_CODE(kInvalidArgument, transaction->commit_without_waiting());
  EXPECT_OK(engine_->begin());
}

TEST_P(AsideConformance, CommitWithoutWaitingOfNothingTakesNoNumber) {
  const uint64_t before = put(*engine_, "key", "value");
  auto transaction = must(engine_->begin());
  EXPECT_EQ(before, must(transaction->commit_without_waiting()));
  EXPECT_EQ(before + 1, put(*engine_, "key", "other"));
}

TEST_P(AsideConformance, AnUnsyncedCommitIsThereForTransactionsAtOnce) {
  Map expected;
  for (int i = 0; i < 200; ++i) {
    auto transaction = must(engine_->begin());
    must(transaction->put(numbered(i), "value"));
    const uint64_t sequence = must(transaction->commit_unsynced());
    expected[numbered(i)] = "value";
    EXPECT_EQ("value", must(must(engine_->begin())->get(numbered(i))).value());
    EXPECT_LE(must(engine_->snapshot())->sequence(), sequence);
  }
  EXPECT_TRUE(holds(*must(engine_->begin()), expected));
}

TEST_P(AsideConformance, AnUnsyncedCommitIsThereForAllWhenItIsDurable) {
  for (const bool by_a_later_commit : {false, true}) {
    auto transaction = must(engine_->begin());
    must(transaction->put("key", by_a_later_commit ? "second" : "first"));
    const uint64_t sequence = must(transaction->commit_unsynced());
    if (by_a_later_commit) {
      put(*engine_, "another", "commit");
    } else {
      must(engine_->wait_durable(sequence));
    }
    EXPECT_EQ(by_a_later_commit ? "second" : "first", must(must(engine_->snapshot())->get("key")).value());
    EXPECT_GE(must(engine_->snapshot())->sequence(), sequence);
  }
}

TEST_P(AsideConformance, AnUnsyncedCommitEndsTheTransaction) {
  auto transaction = must(engine_->begin());
  must(transaction->put("key", "value"));
  must(transaction->commit_unsynced());
  EXPECT_CODE(kInvalidArgument, transaction->put("key", "other"));
  EXPECT_CODE(kInvalidArgument, transaction->commit_unsynced());
  EXPECT_OK(engine_->begin());
}

TEST_P(AsideConformance, AnUnsyncedCommitOfNothingTakesNoNumber) {
  const uint64_t before = put(*engine_, "key", "value");
  EXPECT_EQ(before, must(must(engine_->begin())->commit_unsynced()));
  EXPECT_EQ(before + 1, put(*engine_, "key", "other"));
}

TEST_P(AsideConformance, SharedStateIsMadeOnce) {
  int made = 0;
  const auto make = [&made] { return std::make_shared<int>(++made); };
  const std::shared_ptr<void> first = engine_->shared_state(make);
  EXPECT_EQ(first, engine_->shared_state(make));
  EXPECT_EQ(1, made);
}

TEST_P(AsideConformance, KeysThatAreExpectedAreReadAsEver) {
  Map contents;
  for (int i = 0; i < 300; ++i) contents[numbered(i)] = "value";
  contents[""] = "of the empty key";
  contents[std::string(600, 'k')] = "of a long key";
  contents[std::string(kMaxKeyBytes, 'k')] = "of the longest";
  put_all(*engine_, contents);
  must(engine_->checkpoint());
  put(*engine_, numbered(7), "other");
  contents[numbered(7)] = "other";
  std::vector<std::string> keys{"absent", numbered(1), std::string(kMaxKeyBytes + 1, 'k'), "absent"};
  for (const auto& [key, value] : contents) keys.push_back(key);
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const auto snapshot = must(engine_->snapshot());
  snapshot->expect({});
  snapshot->expect(views);
  EXPECT_TRUE(holds(*snapshot, contents));
  auto transaction = must(engine_->begin());
  must(transaction->put(numbered(1), "own"));
  transaction->expect(views);
  EXPECT_EQ("own", must(transaction->get(numbered(1))).value());
  must(transaction->commit());
  transaction->expect(views);  // is no error after the end either
  EXPECT_EQ("child", in_child([&] {
              snapshot->expect(views);
              return "child";
            }));
}

// Whatever has been found ahead of time, each reader sees its own moment.
TEST_P(AsideConformance, WhatWasExpectedIsReadAsOfTheReadersMoment) {
  Map contents;
  for (int i = 0; i < 40; ++i) contents[numbered(i)] = "old";
  put_all(*engine_, contents);
  must(engine_->checkpoint());
  std::vector<std::string> keys;
  for (int i = 0; i < 60; ++i) keys.push_back(numbered(i));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const auto before = must(engine_->snapshot());
  before->expect(views);
  for (int i = 0; i < 60; i += 2) put(*engine_, numbered(i), "new");
  for (int i = 1; i < 40; i += 4) erase(*engine_, numbered(i));
  must(engine_->checkpoint());
  Map later = contents;
  for (int i = 0; i < 60; i += 2) later[numbered(i)] = "new";
  for (int i = 1; i < 40; i += 4) later.erase(numbered(i));
  const auto after = must(engine_->snapshot());
  EXPECT_TRUE(holds(*after, later));
  EXPECT_TRUE(holds(*before, contents));
  after->expect(views);
  before->expect(views);
  EXPECT_TRUE(holds(*after, later));
  EXPECT_TRUE(holds(*before, contents));
  for (const std::string& key : keys) {  // the absent ones, too
    EXPECT_EQ(later.contains(key), must(after->get(key)).has_value()) << key;
    EXPECT_EQ(contents.contains(key), must(before->get(key)).has_value()) << key;
  }
}

TEST_P(AsideConformance, FewEntriesAreEstimatedExactly) {
  for (int i = 0; i < 100; ++i) put(*engine_, numbered(i), "value");
  erase(*engine_, numbered(50));
  const auto snapshot = must(engine_->snapshot());
  EXPECT_EQ(99U, must(snapshot->estimate_entries("", "l")));
  EXPECT_EQ(19U, must(snapshot->estimate_entries(numbered(40), numbered(60))));
  EXPECT_EQ(0U, must(snapshot->estimate_entries(numbered(50), numbered(51))));
  EXPECT_EQ(0U, must(snapshot->estimate_entries("l", "m")));
  EXPECT_EQ(0U, must(snapshot->estimate_entries("z", "a")));
}

TEST_P(AsideConformance, ManyEntriesAreEstimatedAbout) {
  constexpr int kEntries = 4000;
  for (int base = 0; base < kEntries; base += 100) {
    Map some;
    for (int i = base; i < base + 100; ++i) some[numbered(i)] = "value";
    put_all(*engine_, some);
  }
  // A quarter overwritten, which changes nothing; a quarter erased.
  for (int base = 0; base < kEntries / 2; base += 100) {
    auto transaction = must(engine_->begin());
    for (int i = base; i < base + 100; ++i)
      must(i % 2 == 0 ? transaction->put(numbered(i), "other") : transaction->erase(numbered(i)));
    must(transaction->commit());
  }
  const auto snapshot = must(engine_->snapshot());
  const auto all = static_cast<double>(must(snapshot->estimate_entries("", "z")));
  EXPECT_NEAR(all, 0.75 * kEntries, 0.35 * kEntries);
  const auto half = static_cast<double>(must(snapshot->estimate_entries(numbered(kEntries / 2), "z")));
  EXPECT_NEAR(half, 0.5 * kEntries, 0.3 * kEntries);
}

// Those that were just erased are stepped over one by one, so not all of them are.
TEST_P(AsideConformance, FewEntriesAmongManyErasedOnesAreEstimatedAbout) {
  constexpr int kEntries = 6000;
  Map all;
  for (int i = 0; i < kEntries; ++i) all[numbered(i)] = "value";
  put_all(*engine_, all);
  auto transaction = must(engine_->begin());
  for (int i = 0; i < kEntries; ++i) must(transaction->erase(numbered(i)));
  must(transaction->commit());
  put(*engine_, "z", "value");
  EXPECT_NEAR(static_cast<double>(must(must(engine_->snapshot())->estimate_entries("", "zz"))), 1,
              0.35 * kEntries);
}

}  // namespace
}  // namespace lapse::engine
