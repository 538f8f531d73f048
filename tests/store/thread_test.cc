// Any number of threads on one store. Short, and meant for ThreadSanitizer as much as for its own checks: whatever a
// reader sees must be whole, of one moment, and not expired.

#include <atomic>
#include <thread>

#include "test_stores.h"

namespace lapse {
namespace {

class Threads : public EveryStore {
 protected:
  static constexpr int kRounds = 150;

  // Runs each of them kRounds times in a thread of its own, while the clock goes on.
  void run_together(const std::vector<std::function<void(int)>>& workers) {
    store();  // opened before there are several who want it
    std::vector<std::thread> threads;
    for (const auto& worker : workers) {
      threads.emplace_back([&] {
        try {
          for (int round = 0; round < kRounds && !HasFailure(); ++round) {
            worker(round);
            if (round % 2 == 0) clock_.advance(1);
          }
        } catch (const std::exception& error) {
          ADD_FAILURE() << error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_OK(store().verify());
  }

  // A value that says what its key and its deadline are.
  static std::string value_of(std::string_view key, int64_t deadline_ms) {
    return std::string(key) + "|" + std::to_string(deadline_ms);
  }
  void put_short(Keyspace& keyspace, const std::string& key, int64_t ttl_ms) {
    const int64_t deadline_ms = clock_.now_ms() + ttl_ms;
    must(keyspace.put(key, value_of(key, deadline_ms), Lifetime::until(deadline_ms)));
  }
  static void expect_right(std::string_view key, std::string_view value, int64_t deadline_ms,
                           int64_t now_ms) {
    EXPECT_EQ(value_of(key, deadline_ms), value);
    EXPECT_LT(now_ms, deadline_ms) << "expired, and to be seen";
  }
};
INSTANTIATE_STORE_TESTS(Threads);

TEST_P(Threads, MixedWorkShowsNothingTornOrExpired) {
  options_.sweep_per_write = 2;
  auto key_of = [](int round) { return numbered(round * 7 % 50); };
  run_together({
      [&](int round) { put_short(store(), key_of(round), 1 + round % 20); },
      [&](int round) {
        const std::string key = key_of(round * 3);
        must(store().put(key, value_of(key, kNever)));
      },
      [&](int round) {
        must(store().erase(key_of(round)));
        must(store().update([&](Transaction& transaction) {
          for (int i = 0; i < 5; ++i) {
            const std::string key = key_of(round + i);
            LAPSE_TRY(transaction.put(key, value_of(key, transaction.now_ms() + 5), 5ms));
          }
          return Status();
        }));
      },
      [&](int round) {
        const int64_t before = clock_.now_ms();
        const auto entry = must(store().get_entry(key_of(round)));
        if (entry) expect_right(key_of(round), entry->value, entry->deadline_ms, before);
        must(store().ttl(key_of(round)));
      },
      [&](int) { must(store().purge_expired({.limit = 20})); },
      [&](int round) {
        const int64_t before = clock_.now_ms();
        Iterator iterator = must(store().iterate({.reverse = round % 2 == 1}));
        std::string last;
        for (; iterator.valid(); iterator.next()) {
          expect_right(iterator.key(), iterator.value(), iterator.deadline_ms(), before);
          if (!last.empty()) {
            EXPECT_EQ(round % 2 == 1, iterator.key() < last);
          }
          last = iterator.key();
        }
        must(iterator.status());
      },
  });
}

TEST_P(Threads, PermanentKeysAreNeverRemovedForADeadlineTheyHad) {
  std::atomic<int> written{0};
  run_together({
      [&](int round) {
        must(store().put(numbered(round), "short", 1ms));
        must(store().put(numbered(round), "permanent"));
        written = round + 1;
      },
      [&](int) { must(store().purge_expired()); },
      [&](int round) {
        const int known = written;
        if (known > 0) {
          EXPECT_EQ("permanent", get(store(), numbered(round % known)));
        }
      },
      [&](int) { keys(store()); },  // removes what it passes
  });
  EXPECT_EQ(uint64_t{kRounds}, count(store()));
}

TEST_P(Threads, CountersLoseNothing) {
  Family counted = family("counted", {.counted = true, .history = HistoryPolicy{.keep_last = 3}});
  auto add = [&](int) { must(counted.increment("sum", 1)); };
  auto add_in_transaction = [&](int) {
    must(store().update(
        [&](Transaction& transaction) { return transaction.in(counted).increment("sum", 1).status(); }));
  };
  int64_t last_seen = 0;
  run_together({add, add, add_in_transaction, [&](int) {
                  const int64_t seen = std::stoll(get(counted, "sum").value_or("0"));
                  EXPECT_LE(last_seen, seen);
                  last_seen = seen;
                  EXPECT_GE(1u, count(counted));
                }});
  EXPECT_EQ(std::to_string(3 * kRounds), get(counted, "sum"));
  EXPECT_EQ(3u, must(counted.history("sum")).size());
}

TEST_P(Threads, SnapshotsSeeWholeTransactions) {
  const Family a = family("a");
  const Family b = family("b", {.history = HistoryPolicy{.keep_last = 5}});
  auto move = [&](int round) {
    must(store().update([&](Transaction& transaction) {
      LAPSE_TRY(transaction.in(a).increment("balance", round % 10));
      return transaction.in(b).increment("balance", -(round % 10)).status();
    }));
  };
  auto look = [&](int) {
    must(store().view([&](const Snapshot& snapshot) -> Status {
      const int64_t sum = std::stoll(get(snapshot.in(a), "balance").value_or("0")) +
                          std::stoll(get(snapshot.in(b), "balance").value_or("0"));
      EXPECT_EQ(0, sum);
      return Status();
    }));
  };
  run_together({move, move, look, look});
}

TEST_P(Threads, LeaseIsHeldByOneAtATime) {
  std::atomic<int> holders{0};
  auto take = [&](int) {
    if (!must(store().put_if_absent("lease", "mine"))) return;
    EXPECT_EQ(1, ++holders);
    --holders;
    EXPECT_TRUE(must(store().compare_and_erase("lease", "mine")));
  };
  run_together({take, take, take});
}

TEST_P(Threads, FamiliesComeAndGo) {
  // A handle of a family that is gone says so, and nothing else goes wrong.
  auto fine = [](const Status& status) {
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kNotFound) << status.to_string();
  };
  run_together({
      [&](int round) {
        Family made = must(store().family_or_create("f", {.counted = round % 2 == 0}));
        fine(made.put(numbered(round % 20), "value", 3ms));
      },
      [&](int round) {
        if (round % 3 == 0) fine(store().drop_family("f"));
        const auto found = store().family("f");
        fine(found.status());
        if (found.ok() && round % 3 == 1) fine(Family(*found).clear());
      },
      [&](int round) {
        auto found = store().family("f");
        if (!found.ok()) return fine(found.status());
        fine(found->put(numbered(round % 20), "value"));
        fine(found->get(numbered(round % 20)).status());
        fine(found->purge_expired().status());
        fine(found->count().status());
      },
      [&](int) {
        auto found = store().family("f");
        if (!found.ok()) return fine(found.status());
        auto iterator = found->iterate();
        fine(iterator.status());
        if (!iterator.ok()) return;
        for (; iterator->valid(); iterator->next()) EXPECT_EQ("value", iterator->value());
        EXPECT_OK(iterator->status());
      },
      [&](int round) {
        must(store().put(numbered(round % 10), "default", 2ms));
        must(store().list_families());
        must(store().purge_all_expired({.limit = 50}));
      },
  });
}

// Who comes second finds it on its way to disk.
TEST_P(Threads, AFamilyIsMadeOnceByAllWhoWantIt) {
  options_.durability = Durability::kFull;
  const auto want = [&](int round) {
    Family family = must(store().family_or_create("family " + std::to_string(round)));
    must(family.increment("wanted", 1));
  };
  run_together({want, want});
  for (int round = 0; round < kRounds; ++round) {
    EXPECT_EQ("2", get(must(store().family("family " + std::to_string(round))), "wanted"));
  }
}

TEST_P(Threads, OneReaderIsSharedByMany) {
  Family past = this->past();
  for (int i = 0; i < 50; ++i) must(past.put(numbered(i), "old", 1h));
  const int64_t then = clock_.now_ms();
  clock_.advance(1'000);
  const Snapshot now = must(store().snapshot());
  const Snapshot before = must(store().snapshot_at(then));
  auto look = [&](int round) {
    EXPECT_EQ("old", get(now.in(past), numbered(round % 50)));
    EXPECT_EQ("old", get(before.in(past), numbered(round % 50)));
    if (round % 10 == 0) {
      EXPECT_EQ(50u, count(before.in(past)));
    }
  };
  run_together({look, look, [&](int round) { must(past.put(numbered(round % 50), "new")); }});
}

}  // namespace
}  // namespace lapse
