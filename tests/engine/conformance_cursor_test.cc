// The engine contract: cursors over snapshots and transactions.

#include "test_engines.h"

namespace lapse::engine {
namespace {

class CursorConformance : public EngineTest {
 protected:
  // a, c, e … in the tree; the even ones again, or instead, in the buffer: f erased, h overwritten.
  Map fill_layers() {
    Map expected{{"a", "1"}, {"c", "1"}, {"e", "1"}, {"f", "1"}, {"h", "1"}, {"i", "1"}};
    put_all(*engine_, expected);
    must(engine_->checkpoint());
    auto transaction = must(engine_->begin());
    for (const char* key : {"b", "d", "g", "h", "j"}) {
      must(transaction->put(key, "2"));
      expected[key] = "2";
    }
    must(transaction->erase("f"));
    expected.erase("f");
    must(transaction->commit());
    return expected;
  }
};
INSTANTIATE_ENGINE_TESTS(CursorConformance);

std::string text(const Map& map, Map::const_iterator at) {
  return at == map.end() ? "end" : abbreviate(at->first) + "=" + abbreviate(at->second);
}

// Next and previous entry; a step over either edge ends the walk, as it does for a cursor.
Map::const_iterator after_it(const Map&, Map::const_iterator at) { return std::next(at); }
Map::const_iterator before_it(const Map& map, Map::const_iterator at) {
  return at == map.begin() ? map.end() : std::prev(at);
}

// From every entry of `map`: each sequence of three moves, compared with the map step by step.
void expect_every_turn(const Reader& reader, const Map& map, const Range& range = {}) {
  auto cursor = reader.cursor(range);
  for (auto start = map.begin(); start != map.end(); ++start) {
    for (int turns = 0; turns < 8; ++turns) {
      auto at = start;
      ASSERT_EQ(text(map, at), after(cursor->seek(at->first), *cursor));
      for (int step = 0; step < 3 && at != map.end(); ++step) {
        const bool forward = turns >> step & 1;
        at = forward ? after_it(map, at) : before_it(map, at);
        ASSERT_EQ(text(map, at), after(forward ? cursor->next() : cursor->prev(), *cursor))
            << "from " << abbreviate(start->first) << ", turns " << turns << ", step " << step;
      }
    }
  }
}

TEST_P(CursorConformance, IsBornWithoutAPosition) {
  put(*engine_, "key", "value");
  auto snapshot = must(engine_->snapshot());
  EXPECT_FALSE(snapshot->cursor()->valid());
  auto transaction = must(engine_->begin());
  EXPECT_FALSE(transaction->cursor()->valid());
}

TEST_P(CursorConformance, FindsNothingInAnEmptyStore) {
  auto transaction = must(engine_->begin());
  auto snapshot = must(engine_->snapshot());
  for (const Reader* reader :
       {static_cast<const Reader*>(transaction.get()), static_cast<const Reader*>(snapshot.get())}) {
    auto cursor = reader->cursor();
    EXPECT_EQ("end", after(cursor->first(), *cursor));
    EXPECT_EQ("end", after(cursor->last(), *cursor));
    EXPECT_EQ("end", after(cursor->seek(""), *cursor));
    EXPECT_EQ("end", after(cursor->seek("key"), *cursor));
  }
}

TEST_P(CursorConformance, WalksBothWays) {
  fill_layers();
  auto snapshot = must(engine_->snapshot());
  auto cursor = snapshot->cursor();
  EXPECT_EQ("a=1", after(cursor->first(), *cursor));
  EXPECT_EQ("b=2", after(cursor->next(), *cursor));
  EXPECT_EQ("c=1", after(cursor->next(), *cursor));
  EXPECT_EQ("j=2", after(cursor->last(), *cursor));
  EXPECT_EQ("i=1", after(cursor->prev(), *cursor));
  EXPECT_EQ("h=2", after(cursor->prev(), *cursor));
  EXPECT_EQ("g=2", after(cursor->prev(), *cursor));
  EXPECT_EQ("e=1", after(cursor->prev(), *cursor));
}

TEST_P(CursorConformance, SeekGoesToTheFirstEntryAtOrAfter) {
  const Map expected = fill_layers();
  auto snapshot = must(engine_->snapshot());
  auto cursor = snapshot->cursor();
  for (const auto& [key, value] : expected) {
    EXPECT_EQ(key + "=" + value, after(cursor->seek(key), *cursor));
    EXPECT_EQ(text(expected, expected.upper_bound(key)), after(cursor->seek(key + '\0'), *cursor));
    EXPECT_EQ(text(expected, expected.upper_bound(key)), after(cursor->seek(key + '\xff'), *cursor));
  }
  EXPECT_EQ("a=1", after(cursor->seek(""), *cursor));
  EXPECT_EQ("g=2", after(cursor->seek("f"), *cursor)) << "f is erased";
  EXPECT_EQ("end", after(cursor->seek("k"), *cursor));
  EXPECT_EQ("end", after(cursor->seek("\xff"), *cursor));
}

TEST_P(CursorConformance, LivesOnAfterTheEnds) {
  fill_layers();
  auto snapshot = must(engine_->snapshot());
  auto cursor = snapshot->cursor();
  must(cursor->last());
  EXPECT_EQ("end", after(cursor->next(), *cursor));
  EXPECT_EQ("c=1", after(cursor->seek("c"), *cursor));
  must(cursor->first());
  EXPECT_EQ("end", after(cursor->prev(), *cursor));
  EXPECT_EQ("j=2", after(cursor->last(), *cursor));
  EXPECT_EQ("end", after(cursor->seek("z"), *cursor));
  EXPECT_EQ("a=1", after(cursor->first(), *cursor));
}

TEST_P(CursorConformance, TurnsRoundAtEveryPosition) {
  const Map expected = fill_layers();
  expect_every_turn(*must(engine_->snapshot()), expected);
}

// From and to every key, also those that are not there; whole ranges, empty ones and those that end before they begin.
TEST_P(CursorConformance, KeepsToItsRange) {
  const Map all = fill_layers();
  auto transaction = must(engine_->begin());
  must(transaction->erase("c"));
  must(transaction->put("cc", "3"));
  Map own = all;
  own.erase("c");
  own["cc"] = "3";
  auto snapshot = must(engine_->snapshot());
  const auto expect_range = [](const Reader& reader, const Map& map, const Range& range) {
    SCOPED_TRACE("from " + range.from + " to " + range.to.value_or("the end"));
    const Map expected = entries_of(map, range);
    expect_every_turn(reader, expected, range);
    auto cursor = reader.cursor(range);
    EXPECT_EQ(text(expected, expected.begin()), after(cursor->first(), *cursor));
    EXPECT_EQ(text(expected, before_it(expected, expected.end())), after(cursor->last(), *cursor));
    for (char key = 'Z'; key <= 'l'; ++key) {
      const std::string at(1, key);
      EXPECT_EQ(text(expected, expected.lower_bound(at)), after(cursor->seek(at), *cursor)) << at;
    }
  };
  for (char from = 'Z'; from <= 'l'; ++from) {
    for (char to = 'Z'; to <= 'l'; ++to) {
      const Range range{std::string(1, from), std::string(1, to)};
      expect_range(*snapshot, all, range);
      expect_range(*transaction, own, range);
    }
    expect_range(*snapshot, all, {std::string(1, from), std::nullopt});
    expect_range(*transaction, own, {"", std::string(1, from)});
  }
}

TEST_P(CursorConformance, SeesOwnPutsAndErasesOverCommitted) {
  Map expected = fill_layers();
  auto transaction = must(engine_->begin());
  for (const char* key : {"", "a", "bb", "g", "z"}) {
    must(transaction->put(key, "3"));
    expected[key] = "3";
  }
  for (const char* key : {"b", "e", "f", "j"}) {
    must(transaction->erase(key));
    expected.erase(key);
  }
  EXPECT_TRUE(holds(*transaction, expected));
  expect_every_turn(*transaction, expected);
  must(transaction->commit());
  EXPECT_TRUE(holds(*engine_, expected));
}

// Each key is in the tree or not; put, erased or left alone by a later commit; and the same by the
// open transaction: 18 kinds of key, in random order, so that all kinds of neighbours occur.
TEST_P(CursorConformance, EveryMixOfTreeBufferAndTransaction) {
  Random random;
  constexpr int kKeys = 3000;
  std::vector<int> kinds(kKeys);
  for (int& kind : kinds) kind = static_cast<int>(random.below(18));
  Map expected;
  auto write = [&](Transaction& transaction, int key, int what, const char* value) {
    if (what == 1) {
      must(transaction.put(numbered(key), value));
      expected[numbered(key)] = value;
    } else if (what == 2) {
      must(transaction.erase(numbered(key)));
      expected.erase(numbered(key));
    }
  };

  auto transaction = must(engine_->begin());
  for (int key = 0; key < kKeys; ++key) write(*transaction, key, kinds[key] % 2, "tree");
  must(transaction->commit());
  must(engine_->checkpoint());
  transaction = must(engine_->begin());
  for (int key = 0; key < kKeys; ++key) write(*transaction, key, kinds[key] / 2 % 3, "buffer");
  must(transaction->commit());
  const Map committed = expected;
  transaction = must(engine_->begin());
  for (int key = 0; key < kKeys; ++key) write(*transaction, key, kinds[key] / 6, "own");

  EXPECT_TRUE(holds(*transaction, expected));
  expect_every_turn(*transaction, expected);
  auto snapshot = must(engine_->snapshot());
  EXPECT_TRUE(holds(*snapshot, committed));
  expect_every_turn(*snapshot, committed);
}

TEST_P(CursorConformance, CrossesALongErasedStretch) {
  Map all{{"a", "first"}, {"z", "last"}};
  for (int i = 0; i < 2000; ++i) all[numbered(i)] = "value";
  put_all(*engine_, all);
  must(engine_->checkpoint());
  auto transaction = must(engine_->begin());
  for (int i = 0; i < 2000; ++i) must(transaction->erase(numbered(i)));
  EXPECT_EQ("a,z", keys(*transaction));
  must(transaction->commit());
  auto snapshot = must(engine_->snapshot());
  auto cursor = snapshot->cursor();
  EXPECT_EQ("z=last", after(cursor->seek("k"), *cursor));
  EXPECT_EQ("a=first", after(cursor->prev(), *cursor));
  EXPECT_EQ("z=last", after(cursor->next(), *cursor));
}

TEST_P(CursorConformance, CursorsAreIndependent) {
  fill_layers();
  auto snapshot = must(engine_->snapshot());
  auto one = snapshot->cursor();
  auto two = snapshot->cursor();
  must(one->first());
  must(two->last());
  EXPECT_EQ("b=2", after(one->next(), *one));
  EXPECT_EQ("i=1", after(two->prev(), *two));
  one.reset();
  EXPECT_EQ("h=2", after(two->prev(), *two));
}

TEST_P(CursorConformance, SnapshotCursorIgnoresLaterCommits) {
  const Map expected = fill_layers();
  auto snapshot = must(engine_->snapshot());
  auto cursor = snapshot->cursor();
  must(cursor->first());
  for (auto at = expected.begin(); at != expected.end(); ++at) {
    const std::string_view key = cursor->key();
    const std::string_view value = cursor->value();
    erase(*engine_, at->first);
    put(*engine_, at->first + "+", "later");
    must(engine_->checkpoint());
    EXPECT_EQ(at->first, key) << "bytes stay until the cursor moves";
    EXPECT_EQ(at->second, value) << "bytes stay until the cursor moves";
    ASSERT_EQ(text(expected, std::next(at)), after(cursor->next(), *cursor));
  }
}

// --------------------------------------------------------- writes while a transaction's cursor is open

class OpenCursorConformance : public CursorConformance {
 protected:
  OpenCursorConformance() {
    expected_ = fill_layers();
    transaction_ = must(engine_->begin());
    cursor_ = transaction_->cursor();
  }
  std::string seek(std::string_view key) { return after(cursor_->seek(key), *cursor_); }
  std::string next() { return after(cursor_->next(), *cursor_); }
  std::string prev() { return after(cursor_->prev(), *cursor_); }

  Map expected_;
  std::unique_ptr<Transaction> transaction_;
  std::unique_ptr<Cursor> cursor_;
};
INSTANTIATE_ENGINE_TESTS(OpenCursorConformance);

TEST_P(OpenCursorConformance, NextMeetsAKeyPutAhead) {
  EXPECT_EQ("c=1", seek("c"));
  must(transaction_->put("cc", "3"));
  EXPECT_EQ("cc=3", next());
  EXPECT_EQ("d=2", next());
}

TEST_P(OpenCursorConformance, PrevMeetsAKeyPutBehind) {
  EXPECT_EQ("c=1", seek("c"));
  must(transaction_->put("bb", "3"));
  EXPECT_EQ("bb=3", prev());
  EXPECT_EQ("b=2", prev());
}

TEST_P(OpenCursorConformance, SkipsAKeyErasedAhead) {
  EXPECT_EQ("c=1", seek("c"));
  must(transaction_->erase("d"));
  EXPECT_EQ("e=1", next());
  EXPECT_EQ("c=1", prev());
}

TEST_P(OpenCursorConformance, GoesOnFromAnErasedPosition) {
  for (const char* key : {"c", "d", "h"}) {  // in the tree, in the buffer, in both
    const auto at = expected_.find(key);
    const std::string after_erased = text(expected_, std::next(at));
    const std::string before_erased = text(expected_, std::prev(at));
    const Savepoint before = transaction_->savepoint();
    seek(key);
    must(transaction_->erase(key));
    ASSERT_TRUE(cursor_->valid());
    EXPECT_EQ(after_erased, next());
    EXPECT_EQ(before_erased, prev());
    must(transaction_->rollback_to(before));
    seek(key);
    must(transaction_->erase(key));
    EXPECT_EQ(before_erased, prev());
    EXPECT_EQ(after_erased, next());
    must(transaction_->rollback_to(before));
  }
}

TEST_P(OpenCursorConformance, SeesAnOverwriteAheadAndBehind) {
  seek("c");
  must(transaction_->put("b", "3"));
  must(transaction_->put("c", "3"));
  must(transaction_->put("d", "3"));
  EXPECT_EQ("d=3", next());
  EXPECT_EQ("c=3", prev());
  EXPECT_EQ("b=3", prev());
}

TEST_P(OpenCursorConformance, GoesOnFromAnOwnKeyThatWasRolledBack) {
  const Savepoint before = transaction_->savepoint();
  must(transaction_->put("cc", "3"));
  EXPECT_EQ("cc=3", seek("cc"));
  must(transaction_->rollback_to(before));
  EXPECT_EQ("d=2", next());
  EXPECT_EQ("c=1", prev());
}

TEST_P(OpenCursorConformance, ErasesEverythingItWalksOver) {
  Status moved = cursor_->first();
  while (moved.ok() && cursor_->valid()) {
    must(transaction_->erase(cursor_->key()));  // the argument is the cursor's own view
    moved = cursor_->next();
  }
  EXPECT_OK(moved);
  EXPECT_EQ("", keys(*transaction_));
  must(transaction_->commit());
  EXPECT_TRUE(holds(*engine_, {}));
}

TEST_P(OpenCursorConformance, OverwritesEverythingItWalksBackOver) {
  Status moved = cursor_->last();
  while (moved.ok() && cursor_->valid()) {
    expected_[std::string(cursor_->key())] = std::string(cursor_->key());
    must(transaction_->put(cursor_->key(), cursor_->key()));
    moved = cursor_->prev();
  }
  EXPECT_OK(moved);
  EXPECT_TRUE(holds(*transaction_, expected_));
}

TEST_P(OpenCursorConformance, RandomWritesAndMoves) {
  Random random;
  Map::const_iterator at = expected_.end();
  for (int step = 0; step < 3000; ++step) {
    const std::string key(1, static_cast<char>('a' + random.below(26)));
    const std::string position = at == expected_.end() ? "" : at->first;
    const uint64_t what = random.below(5);
    if (what == 0) {
      must(transaction_->put(key, "own"));
      expected_[key] = "own";
      continue;
    }
    if (what == 1 && key != position) {  // erasing the position itself has a test of its own
      must(transaction_->erase(key));
      expected_.erase(key);
      continue;
    }
    if (at == expected_.end() || what == 2) {
      at = expected_.lower_bound(key);
      ASSERT_EQ(text(expected_, at), seek(key)) << "step " << step;
    } else if (what == 3) {
      at = std::next(at);
      ASSERT_EQ(text(expected_, at), next()) << "step " << step;
    } else {
      at = before_it(expected_, at);
      ASSERT_EQ(text(expected_, at), prev()) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace lapse::engine
