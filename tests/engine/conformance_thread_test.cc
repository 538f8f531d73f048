// The engine contract under several threads. The numbers are small; run it under TSan.

#include <algorithm>
#include <atomic>
#include <latch>
#include <thread>

#include "test_engines.h"

namespace lapse::engine {
namespace {

class ThreadConformance : public EngineTest {
 protected:
  static constexpr int kAccounts = 20;
  static constexpr int kTotal = kAccounts * 100;

  // Moves money between two accounts, in one transaction.
  void transfer(Random& random) {
    const std::string from = numbered(static_cast<int>(random.below(kAccounts)));
    const std::string to = numbered(static_cast<int>(random.below(kAccounts)));
    const int amount = static_cast<int>(random.below(50));
    auto transaction = must(engine_->begin());
    must(transaction->put(from, std::to_string(std::stoi(get(*transaction, from).value()) - amount)));
    must(transaction->put(to, std::to_string(std::stoi(get(*transaction, to).value()) + amount)));
    must(transaction->commit());
  }

  void open_accounts() {
    Map accounts;
    for (int i = 0; i < kAccounts; ++i) accounts[numbered(i)] = "100";
    put_all(*engine_, accounts);
  }

  static int total(const Reader& reader) {
    int sum = 0;
    auto cursor = reader.cursor();
    must(cursor->first());
    while (cursor->valid()) {
      sum += std::stoi(std::string(cursor->value()));
      must(cursor->next());
    }
    return sum;
  }
};
INSTANTIATE_ENGINE_TESTS(ThreadConformance);

TEST_P(ThreadConformance, SnapshotsKeepTheSumWhileAWriterMovesIt) {
  Random random;
  open_accounts();
  std::atomic<bool> done = false;
  std::latch started(3);
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      uint64_t latest = 0;
      bool counted = false;
      while (!done) {
        auto snapshot = must(engine_->snapshot());
        EXPECT_GE(snapshot->sequence(), latest) << "time went back";
        latest = snapshot->sequence();
        EXPECT_EQ(kTotal, total(*snapshot));
        int sum = 0;
        for (int account = 0; account < kAccounts; ++account) {
          sum += std::stoi(get(*snapshot, numbered(account)).value());
        }
        EXPECT_EQ(kTotal, sum);
        if (!std::exchange(counted, true)) started.count_down();
      }
    });
  }
  started.wait();
  for (int i = 0; i < 300; ++i) {
    transfer(random);
    if (i % 100 == 50) must(engine_->checkpoint());
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(kTotal, total(*must(engine_->snapshot())));
  EXPECT_EQ(301U, must(engine_->snapshot())->sequence());
  EXPECT_OK(engine_->verify());
}

TEST_P(ThreadConformance, IncrementsLoseNothing) {
  constexpr int kThreads = 4;
  constexpr int kEach = 50;
  std::vector<std::vector<uint64_t>> numbers(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < kEach; ++round) {
        auto transaction = must(engine_->begin());
        const int count = std::stoi(get(*transaction, "count").value_or("0"));
        must(transaction->put("count", std::to_string(count + 1)));
        numbers[i].push_back(must(transaction->commit()));
        EXPECT_EQ(count + 1, numbers[i].back()) << "the n-th commit counts n";
        auto snapshot = must(engine_->snapshot());
        EXPECT_GE(std::stoi(get(*snapshot, "count").value()), count + 1);
        EXPECT_EQ(snapshot->sequence(), std::stoul(get(*snapshot, "count").value()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::to_string(kThreads * kEach), get(*engine_, "count"));
  std::vector<uint64_t> all;
  for (const auto& some : numbers) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(i + 1, all[i]);
  if (persistent()) reopen();
  EXPECT_EQ(std::to_string(kThreads * kEach), get(*engine_, "count"));
}

TEST_P(ThreadConformance, EverythingAtOnce) {
  open_accounts();
  std::atomic<bool> done = false;
  std::vector<std::thread> others;
  auto repeat = [&](auto call) {
    others.emplace_back([&done, call] {
      while (!done) call();
    });
  };
  repeat([this] { EXPECT_OK(engine_->checkpoint()); });
  repeat([this] { EXPECT_OK(engine_->sync()); });
  repeat([this] {
    const EngineStats stats = engine_->stats();
    EXPECT_LE(stats.visible_sequence, stats.last_sequence);
    EXPECT_LE(stats.drained_sequence, stats.last_sequence);
    EXPECT_OK(stats.background_error);
  });
  repeat([this] { EXPECT_OK(engine_->verify()); });
  repeat([this] { EXPECT_EQ(kTotal, total(*must(engine_->snapshot()))); });
  repeat([this] {
    const TempDir dir;
    EXPECT_OK(engine_->compact_to(dir.file("copy.db")));
    auto copy = must(open_local(dir.file("copy.db"), {}));
    EXPECT_EQ(kTotal, total(*must(copy->snapshot())));
  });

  std::vector<std::thread> writers;
  for (int i = 0; i < 2; ++i) {
    writers.emplace_back([this] {
      Random random;
      for (int round = 0; round < 100; ++round) transfer(random);
    });
  }
  for (std::thread& writer : writers) writer.join();
  done = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(kTotal, total(*must(engine_->snapshot())));
  EXPECT_EQ(201U, must(engine_->snapshot())->sequence());
}

TEST_P(ThreadConformance, WaitersShareDurability) {
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        const uint64_t sequence = put(*engine_, numbered(i), std::to_string(round));
        EXPECT_OK(engine_->wait_durable(sequence));
        if (persistent()) {
          EXPECT_GE(engine_->stats().durable_sequence, sequence);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace lapse::engine
