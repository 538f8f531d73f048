// What only the local engine promises, while it runs: handles and processes that share a store, fork,
// threads, options, and when it syncs. What it makes of files is in local_file_test.cc.

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <future>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "base/test_hooks.h"
#include "test_engines.h"

namespace {

// Holds the first sync that comes until told to let it go, so that tests can look at what happens
// meanwhile. The system's own calls, defined below, come by here.
class SyncGate {
 public:
  void arm() {
    std::lock_guard lock(mutex_);
    state_ = State::kArmed;
  }
  void pass() {
    std::unique_lock lock(mutex_);
    if (state_ != State::kArmed) return;
    state_ = State::kHolding;
    changed_.notify_all();
    changed_.wait(lock, [this] { return state_ == State::kOpen; });
  }
  // Whether a sync came; waits for it, but not for ever.
  bool holds_one() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [this] { return state_ == State::kHolding; });
  }
  void open() {
    std::lock_guard lock(mutex_);
    state_ = State::kOpen;
    changed_.notify_all();
  }

 private:
  enum class State { kOpen, kArmed, kHolding };
  State state_ = State::kOpen;
  std::mutex mutex_;
  std::condition_variable changed_;
};

SyncGate& sync_gate() {
  static auto* gate = new SyncGate;
  return *gate;
}

}  // namespace

extern "C" {
int fsync(int fd) {
  sync_gate().pass();
  return static_cast<int>(syscall(SYS_fsync, fd));
}
int fdatasync(int fd) {
  sync_gate().pass();
  return static_cast<int>(syscall(SYS_fdatasync, fd));
}
int msync(void* address, size_t bytes, int flags) {
  sync_gate().pass();
  return static_cast<int>(syscall(SYS_msync, address, bytes, flags));
}
}

namespace lapse::engine {
namespace {

using std::chrono::milliseconds;

class LocalTest : public testing::Test {
 protected:
  std::unique_ptr<Engine> open(const LocalOptions& options = {}) { return must(open_local(path_, options)); }

  TempDir dir_;
  const std::string path_ = dir_.file("my.db");
};

// ---------------------------------------------------------------------------------------- opening

using LocalOpenTest = LocalTest;

TEST_F(LocalOpenTest, CreatesTheStore) {
  put(*open(), "key", "value");
  EXPECT_TRUE(std::filesystem::exists(path_));
  EXPECT_TRUE(holds(*open(), {{"key", "value"}}));
}

TEST_F(LocalOpenTest, CopiesToOnePlaceDoNotGetIntoEachOthersWay) {
  auto engine = open();
  for (int i = 0; i < 1000; ++i) put(*engine, numbered(i), std::string(1000, 'v'));
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const Status status = engine->compact_to(dir_.file("copy.db"));
      if (status.ok()) ++made;
      EXPECT_TRUE(status.ok() || status.code() == StatusCode::kBusy ||
                  status.code() == StatusCode::kInvalidArgument)
          << status.to_string();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(1, made);
  auto copy = must(open_local(dir_.file("copy.db"), {}));
  EXPECT_OK(copy->verify());
  EXPECT_EQ(1000U, copy->stats().entries_in_tree);
  EXPECT_FALSE(std::filesystem::exists(dir_.file("copy.db-new")));
}

TEST_F(LocalOpenTest, AbsentStoreIsNotFoundUnlessCreated) {
  LocalOptions options;
  options.create_if_missing = false;
  EXPECT_CODE(kNotFound, open_local(path_, options));
  options.read_only = true;
  EXPECT_CODE(kNotFound, open_local(path_, options));
  options.create_if_missing = true;
  EXPECT_CODE(kNotFound, open_local(path_, options)) << "read_only creates nothing";
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
  open();
  options = {};
  options.create_if_missing = false;
  EXPECT_OK(open_local(path_, options));
}

TEST_F(LocalOpenTest, AbsentDirectoryIsNotFound) {
  EXPECT_CODE(kNotFound, open_local(dir_.file("absent/my.db"), {}));
}

TEST_F(LocalOpenTest, OptionsThatMakeNoSenseAreInvalid) {
  auto refused = [&](auto change) {
    LocalOptions options;
    change(options);
    return has_code(StatusCode::kInvalidArgument, open_local(path_, options).status());
  };
  EXPECT_TRUE(refused([](auto& options) { options.buffer_bytes = 0; }));
  EXPECT_TRUE(refused([](auto& options) { options.journal_file_bytes = 0; }));
  EXPECT_TRUE(refused([](auto& options) { options.max_transaction_bytes = 0; }));
  EXPECT_TRUE(refused([](auto& options) { options.max_transaction_bytes = 4UL << 30; }));
  EXPECT_TRUE(refused([](auto& options) { options.max_transaction_bytes = SIZE_MAX; }));
  EXPECT_TRUE(refused([](auto& options) { options.drain_slice_rows = 0; }));
  EXPECT_TRUE(refused([](auto& options) { options.drain_slice_bytes = 0; }));
  EXPECT_TRUE(refused([](auto& options) { options.sync_interval_ms = -1; }));
  EXPECT_TRUE(refused([](auto& options) { options.clock = nullptr; }));
  EXPECT_TRUE(refused([](auto& options) { options.map_bytes = 0; }));
  EXPECT_CODE(kInvalidArgument, open_local("", {}));
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path())) << "refused before anything is made";
}

TEST_F(LocalOpenTest, ReopensAfterACleanClose) {
  Map expected;
  for (int i = 0; i < 10; ++i) {
    auto engine = open();
    EXPECT_TRUE(holds(*engine, expected));
    expected[numbered(i)] = "value";
    EXPECT_EQ(i + 1, put(*engine, numbered(i), "value"));
    if (i % 2 == 0) must(engine->close());
  }
}

TEST_F(LocalOpenTest, ReopensAfterADeathWithoutClosing) {
  Map expected;
  for (int i = 0; i < 5; ++i) {
    expected[numbered(i)] = "value";
    EXPECT_EQ("done", in_child([&] {
                auto* leaked = open().release();
                put(*leaked, numbered(i), "value");
                return "done";
              }));
    auto engine = open();
    EXPECT_TRUE(holds(*engine, expected));
    EXPECT_OK(engine->verify());
  }
}

TEST_F(LocalOpenTest, OptionsMayChangeFromOpenToOpen) {
  Map expected;
  for (int i = 0; i < 40; ++i) {
    LocalOptions options = i % 2 ? small_options() : LocalOptions{};
    options.durability = static_cast<Durability>(i % 3);
    options.journal_io = i % 4 < 2 ? JournalIo::kPwrite : JournalIo::kMapped;
    options.background_drain = i % 5 == 0;
    auto engine = open(options);
    expected[numbered(i)] = std::string(500, 'v');
    put(*engine, numbered(i), expected[numbered(i)]);
    ASSERT_TRUE(holds(*engine, expected));
  }
}

// ---------------------------------------------------------------------------------------- handles

using LocalHandleTest = LocalTest;

TEST_F(LocalHandleTest, HandlesOfOneProcessShareTheStore) {
  auto one = open();
  auto two = open();
  put(*one, "from one", "1");
  EXPECT_EQ("1", get(*two, "from one"));
  EXPECT_EQ(2U, put(*two, "from two", "2"));
  EXPECT_TRUE(holds(*one, {{"from one", "1"}, {"from two", "2"}}));
}

TEST_F(LocalHandleTest, HandlesShareTheOneWriter) {
  auto one = open();
  auto two = open();
  auto transaction = must(one->begin());
  EXPECT_CODE(kBusy, two->begin());
  std::thread([&] { EXPECT_CODE(kBusy, two->begin(milliseconds(0))); }).join();
  transaction.reset();
  EXPECT_OK(two->begin(milliseconds(0)));
}

TEST_F(LocalHandleTest, HandlesShareTheStateAboveThem) {
  const auto make = [] { return std::make_shared<int>(); };
  auto first = must(open_local(path_, {}));
  auto second = must(open_local(path_, {}));
  const std::shared_ptr<void> state = first->shared_state(make);
  EXPECT_EQ(state, second->shared_state(make));
  must(first->close());
  EXPECT_EQ(state, second->shared_state(make));
  EXPECT_EQ(nullptr, first->shared_state(make));
}

TEST_F(LocalHandleTest, ClosingOneLeavesTheOthers) {
  auto one = open();
  auto two = open();
  put(*one, "key", "1");
  EXPECT_OK(one->close());
  EXPECT_CODE(kUnavailable, one->snapshot());
  EXPECT_EQ("1", get(*two, "key"));
  put(*two, "key", "2");
  one = open();
  EXPECT_EQ("2", get(*one, "key"));
  two.reset();
  EXPECT_EQ(3U, put(*one, "key", "3"));
}

TEST_F(LocalHandleTest, AnyPathToTheSameFileLeadsToTheSameStore) {
  auto engine = open();
  put(*engine, "key", "value");
  std::filesystem::create_directory(dir_.file("elsewhere"));
  std::filesystem::create_symlink(path_, dir_.file("elsewhere/symbolic.db"));
  std::filesystem::create_hard_link(path_, dir_.file("hard.db"));
  std::filesystem::create_directory_symlink(dir_.path(), dir_.file("elsewhere/folder"));
  uint64_t sequence = 1;
  for (const std::string& path :
       {dir_.file("elsewhere/symbolic.db"), dir_.file("hard.db"), dir_.file("./elsewhere/../my.db"),
        dir_.file("elsewhere/folder/my.db"), std::filesystem::relative(path_).string()}) {
    auto other = must(open_local(path, {}));
    EXPECT_EQ("value", get(*other, "key")) << path;
    EXPECT_EQ(++sequence, put(*other, path, "seen")) << path;
    EXPECT_EQ("seen", get(*engine, path));
  }
}

TEST_F(LocalHandleTest, JournalIsFoundThroughASymbolicLink) {
  std::filesystem::create_directory(dir_.file("elsewhere"));
  std::filesystem::create_symlink(path_, dir_.file("elsewhere/link.db"));
  auto write = [&](const std::string& path, const char* key) {
    return in_child([&] {
      put(*must(open_local(path, {})).release(), key, "value");
      return "done";
    });
  };
  EXPECT_EQ("done", write(path_, "by its name"));
  EXPECT_EQ("done", write(dir_.file("elsewhere/link.db"), "through the link"));
  EXPECT_TRUE(holds(*open(), {{"by its name", "value"}, {"through the link", "value"}}));
}

TEST_F(LocalHandleTest, ReadOnlyHandleRefusesWritesWhateverTheOthersMayDo) {
  auto writer = open();
  LocalOptions options;
  options.read_only = true;
  auto reader = open(options);
  put(*writer, "key", "value");
  EXPECT_EQ("value", get(*reader, "key"));
  EXPECT_CODE(kReadOnly, reader->begin());
  EXPECT_OK(writer->begin());
}

TEST_F(LocalHandleTest, WritableOpenIsBusyWhileThisProcessOnlyReads) {
  open();
  LocalOptions options;
  options.read_only = true;
  auto reader = open(options);
  EXPECT_CODE(kBusy, open_local(path_, {}));
  reader.reset();
  EXPECT_OK(open_local(path_, {}));
}

TEST_F(LocalHandleTest, ManyThreadsOpenAndClose) {
  put(*open(), "key", "value");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 25; ++round) {
        auto engine = open_local(path_, {});
        EXPECT_OK(engine);
        if (!engine.ok()) return;
        EXPECT_EQ("value", get(**engine, "key"));
        put(**engine, numbered(i), std::to_string(round));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(101U, must(open()->snapshot())->sequence());
}

TEST_F(LocalHandleTest, CloseFreesTheStoreThoughTheHandleIsStillThere) {
  auto closed = open();
  put(*closed, "key", "value");
  must(closed->close());
  EXPECT_EQ("ok", in_child([&] { return open_local(path_, {}).status().to_string(); }));
  auto again = open_local(path_, {});
  ASSERT_TRUE(is_ok(again.status()));
  EXPECT_EQ("value", get(**again, "key"));
  EXPECT_CODE(kUnavailable, closed->snapshot());
}

TEST_F(LocalHandleTest, ReopenIsBusyWhileASnapshotOfTheClosedStoreIsHeld) {
  auto engine = open();
  put(*engine, "key", "value");
  auto held = must(engine->snapshot());
  engine.reset();
  EXPECT_CODE(kBusy, open_local(path_, {}));
  EXPECT_EQ("value", get(*held, "key"));
  held.reset();
  EXPECT_TRUE(holds(*open(), {{"key", "value"}}));
}

TEST_F(LocalHandleTest, TransactionOfAClosedHandleCannotCommit) {
  auto engine = open();
  auto transaction = must(engine->begin());
  must(transaction->put("key", "value"));
  EXPECT_OK(engine->close());
  EXPECT_CODE(kUnavailable, transaction->commit());
  transaction.reset();
  engine.reset();
  engine = open();
  EXPECT_TRUE(holds(*engine, {}));
  EXPECT_OK(engine->begin(milliseconds(0)));
}

// -------------------------------------------------------------------------------------- processes

using LocalProcessTest = LocalTest;

TEST_F(LocalProcessTest, SecondProcessIsBusyAndTellsThePid) {
  Child child([&](const Channel& parent) {
    while (parent.receive() == "open") parent.send(open_local(path_, {}).status().to_string());
  });
  auto engine = open();
  put(*engine, "key", "value");
  child->send("open");
  const std::string answer = child->receive();
  EXPECT_EQ(0U, answer.find("Busy: ")) << answer;
  EXPECT_NE(std::string::npos, answer.find(std::to_string(getpid()))) << answer;
  EXPECT_NE(std::string::npos, answer.find("my.db")) << answer;
  must(engine->close());
  child->send("open");
  EXPECT_EQ("ok", child->receive());
}

TEST_F(LocalProcessTest, ReadOnlyOpenIsBusyTooWhileAnotherProcessWrites) {
  LocalOptions options;
  options.read_only = true;
  Child child([&](const Channel& parent) {
    parent.receive();
    parent.send(open_local(path_, options).status().to_string());
  });
  auto engine = open();
  child->send("open");
  const std::string answer = child->receive();
  EXPECT_EQ(0U, answer.find("Busy: ")) << answer;
}

TEST_F(LocalProcessTest, StoreOfAKilledProcessIsFree) {
  Child child([&](const Channel& parent) {
    auto engine = open();
    put(*engine, "key", "value");
    auto transaction = must(engine->begin());
    must(transaction->put("key", "never"));
    parent.send("holding");
    parent.receive();
  });
  EXPECT_EQ("holding", child->receive());
  const Status busy = open_local(path_, {}).status();
  EXPECT_TRUE(has_code(StatusCode::kBusy, busy));
  EXPECT_NE(std::string::npos, busy.message().find(std::to_string(child.pid())));
  child.kill();
  EXPECT_EQ("signal 9", child.wait());
  EXPECT_TRUE(holds(*open(), {{"key", "value"}}));
}

// Calls `work` once, when an open has found that there is no store and goes on to take the lock.
class AtOpenLooked {
 public:
  explicit AtOpenLooked(std::function<void()> work) {
    work_ = std::move(work);
    test_hooks::on_crash_point = [](std::string_view name) {
      if (name != "open-looked") return;
      test_hooks::on_crash_point = nullptr;
      work_();
    };
  }
  ~AtOpenLooked() { test_hooks::on_crash_point = nullptr; }
  AtOpenLooked(const AtOpenLooked&) = delete;
  AtOpenLooked& operator=(const AtOpenLooked&) = delete;

 private:
  static inline std::function<void()> work_;
};

TEST_F(LocalProcessTest, StoreThatAnotherProcessMakesMeanwhileIsOpenedNotReplaced) {
  const AtOpenLooked hook([&] {
    EXPECT_EQ("made", in_child([&] {
                auto engine = open();
                put(*engine, "key", "value");
                must(engine->checkpoint());
                must(engine->close());
                return "made";
              }));
  });
  EXPECT_TRUE(holds(*open(), {{"key", "value"}}));
}

TEST_F(LocalProcessTest, ForkWhileAnotherThreadOpensLeavesTheChildFreeToOpen) {
  std::promise<void> opening;
  std::promise<void> forked;
  const AtOpenLooked hook([&] {
    opening.set_value();
    forked.get_future().wait();
  });
  std::thread other([&] { must(must(open_local(dir_.file("other.db"), {}))->close()); });
  opening.get_future().wait();
  EXPECT_EQ("opened", in_child([&] {
              put(*open(), "key", "value");
              return "opened";
            }));
  forked.set_value();
  other.join();
  EXPECT_TRUE(holds(*open(), {{"key", "value"}}));
}

// Everything in use, then a fork: the child can do nothing, and whatever it destroys is its own.
class LocalForkTest : public LocalTest, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Background, LocalForkTest, testing::Bool());

TEST_P(LocalForkTest, ChildCanDoNothingAndHarmsNothing) {
  LocalOptions options = small_options();
  options.background_drain = GetParam();
  auto engine = open(options);
  Map expected;
  for (int i = 0; i < 50; ++i) expected[numbered(i)] = std::string(50, 'v');
  put_all(*engine, expected);
  auto snapshot = must(engine->snapshot());
  auto transaction = must(engine->begin());
  must(transaction->put("own", "write"));
  auto cursor = snapshot->cursor();
  must(cursor->first());

  EXPECT_EQ("harmless", in_child([&] {
              EXPECT_CODE(kUnavailable, engine->snapshot());
              EXPECT_CODE(kUnavailable, engine->begin());
              EXPECT_CODE(kUnavailable, engine->sync());
              EXPECT_CODE(kUnavailable, engine->wait_durable(1));
              EXPECT_CODE(kUnavailable, engine->checkpoint());
              EXPECT_CODE(kUnavailable, engine->verify());
              EXPECT_CODE(kUnavailable, engine->compact_to(dir_.file("copy.db")));
              EXPECT_CODE(kUnavailable, snapshot->get("key"));
              EXPECT_CODE(kUnavailable, cursor->next());
              EXPECT_CODE(kUnavailable, transaction->put("key", "value"));
              EXPECT_CODE(kUnavailable, transaction->get("key"));
              EXPECT_CODE(kUnavailable, transaction->commit());
              engine->stats();
              cursor.reset();
              transaction.reset();
              snapshot.reset();
              engine.reset();
              EXPECT_CODE(kBusy, open_local(path_, {}));
              return HasFailure() ? "see above" : "harmless";
            }));

  EXPECT_TRUE(holds(*snapshot, expected));
  EXPECT_OK(transaction->commit());
  expected["own"] = "write";
  for (int i = 50; i < 100; ++i) {
    put(*engine, numbered(i), "later");
    expected[numbered(i)] = "later";
  }
  EXPECT_TRUE(holds(*engine, expected));
  EXPECT_OK(engine->checkpoint());
  EXPECT_OK(engine->verify());
  EXPECT_TRUE(std::string::npos !=
              in_child([&] { return open_local(path_, {}).status().to_string(); }).find("Busy"))
      << "the parent still holds the lock";
  cursor.reset();
  snapshot.reset();
  transaction.reset();
  engine.reset();
  EXPECT_TRUE(holds(*open(), expected));
}

// ---------------------------------------------------------------------------------------- threads

size_t thread_count() {
  using Iterator = std::filesystem::directory_iterator;
  return static_cast<size_t>(std::distance(Iterator("/proc/self/task"), Iterator()));
}

using LocalThreadTest = LocalTest;

TEST_F(LocalThreadTest, NoThreadIsStartedUnlessAskedFor) {
  const size_t before = thread_count();
  auto engine = open(small_options());
  for (int i = 0; i < 100; ++i) put(*engine, numbered(i), std::string(100, 'v'));
  must(engine->checkpoint());
  must(engine->sync());
  EXPECT_EQ(before, thread_count());
  EXPECT_GT(engine->stats().drains, 0U);
}

TEST_F(LocalThreadTest, BackgroundDrainIsOneThread) {
  std::thread([] {}).join();  // with its first thread, ThreadSanitizer starts one of its own
  const size_t before = thread_count();
  LocalOptions options = small_options();
  options.background_drain = true;
  auto engine = open(options);
  for (int i = 0; i < 100; ++i) put(*engine, numbered(i), std::string(100, 'v'));
  EXPECT_EQ(before + 1, thread_count());
}

// For what another thread does in its own time. False if that takes more than a minute.
template <typename Condition>
bool comes_true(Condition condition) {
  const int64_t start_ms = SteadyClock::instance()->now_ms();
  while (!condition()) {
    if (SteadyClock::instance()->now_ms() - start_ms > 60000) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST_F(LocalThreadTest, BackgroundThreadDrainsWithoutFurtherCommits) {
  LocalOptions options = small_options();
  options.background_drain = true;
  auto engine = open(options);
  put(*engine, "fills the buffer", std::string(10 << 10, 'v'));
  put(*engine, "finds it full", "value");
  EXPECT_TRUE(comes_true([&] { return engine->stats().drained_sequence >= 1; }));
  EXPECT_GE(engine->stats().entries_in_tree, 1U);
}

// ----------------------------------------------------------------------------------------- syncing

class LocalSyncTest : public LocalTest {
 protected:
  // At kNormal, with a clock that stands at 0.
  std::unique_ptr<Engine> open_at_normal(Durability durability = Durability::kNormal) {
    LocalOptions options;
    options.durability = durability;
    options.sync_interval_ms = 1000;
    options.clock = &clock_;
    return open(options);
  }

  ManualClock clock_;
};

TEST_F(LocalSyncTest, FirstCommitAfterTheIntervalSyncs) {
  auto engine = open_at_normal();
  const uint64_t syncs = engine->stats().syncs;
  put(*engine, "a", "1");
  clock_.set(999);
  put(*engine, "b", "1");
  EXPECT_EQ(0U, engine->stats().durable_sequence);
  EXPECT_EQ(syncs, engine->stats().syncs);
  EXPECT_EQ(999, engine->stats().unsynced_age_ms);
  clock_.set(1000);
  EXPECT_EQ(0U, engine->stats().durable_sequence) << "nothing happens by itself";
  put(*engine, "c", "1");
  EXPECT_EQ(3U, engine->stats().durable_sequence);
  EXPECT_EQ(syncs + 1, engine->stats().syncs);
  EXPECT_EQ(0, engine->stats().unsynced_age_ms);

  put(*engine, "d", "1");
  clock_.set(1999);
  put(*engine, "e", "1");
  EXPECT_EQ(3U, engine->stats().durable_sequence);
  clock_.set(2001);
  put(*engine, "f", "1");
  EXPECT_EQ(6U, engine->stats().durable_sequence);
  EXPECT_EQ(syncs + 2, engine->stats().syncs);
}

TEST_F(LocalSyncTest, CommitWithoutWaitingNeverSyncs) {
  for (const Durability durability : {Durability::kFull, Durability::kNormal}) {
    TempDir dir;
    LocalOptions options;
    options.durability = durability;
    options.clock = &clock_;
    options.journal_file_bytes = 4096;
    auto engine = must(open_local(dir.file("test.db"), options));
    put(*engine, "first", "commit");
    const uint64_t syncs = engine->stats().syncs;
    const uint64_t drains = engine->stats().drains;
    clock_.advance(3'600'000);
    int refused = 0;
    for (int i = 0; i < 1000; ++i) {
      auto transaction = must(engine->begin());
      must(transaction->put(numbered(i), "value"));
      if (!transaction->commit_without_waiting().ok()) ++refused;
    }
    EXPECT_EQ(syncs, engine->stats().syncs);
    EXPECT_EQ(drains, engine->stats().drains);
    EXPECT_GT(refused, 0);  // the journal's file is full, and the next one begins with a sync
  }
}

TEST_F(LocalSyncTest, UnsyncedCommitsShareTheSyncOfWhoWaitsForThem) {
  auto engine = open_at_normal(Durability::kFull);
  put(*engine, "first", "commit");
  const uint64_t syncs = engine->stats().syncs;
  for (int i = 0; i < 5; ++i) {
    auto transaction = must(engine->begin());
    must(transaction->put(numbered(i), "value"));
    must(transaction->commit_unsynced());
    clock_.advance(10);
  }
  EXPECT_EQ(syncs, engine->stats().syncs);
  EXPECT_EQ(1U, engine->stats().durable_sequence);
  EXPECT_EQ(1U, must(engine->snapshot())->sequence());  // nobody acts on what may yet vanish
  EXPECT_EQ(50, engine->stats().unsynced_age_ms);
  EXPECT_OK(engine->wait_durable(6));
  EXPECT_EQ(syncs + 1, engine->stats().syncs);
  EXPECT_EQ(6U, must(engine->snapshot())->sequence());
  EXPECT_EQ(0, engine->stats().unsynced_age_ms);
}

TEST_F(LocalSyncTest, NoneHasNoInterval) {
  auto engine = open_at_normal(Durability::kNone);
  for (int i = 0; i < 5; ++i) {
    put(*engine, numbered(i), "value");
    clock_.advance(5000);
  }
  EXPECT_EQ(0U, engine->stats().durable_sequence);
  EXPECT_EQ(25000, engine->stats().unsynced_age_ms);
  EXPECT_OK(engine->wait_durable(2));
  EXPECT_GE(engine->stats().durable_sequence, 2U);
}

TEST_F(LocalSyncTest, FullIsDurableWhenCommitReturns) {
  auto engine = open_at_normal(Durability::kFull);
  for (uint64_t i = 1; i <= 5; ++i) {
    put(*engine, "key", "value");
    EXPECT_EQ(i, engine->stats().durable_sequence);
    EXPECT_EQ(0, engine->stats().unsynced_age_ms);
  }
}

TEST_F(LocalSyncTest, BackgroundThreadSyncsWithoutFurtherCommits) {
  LocalOptions options;
  options.background_drain = true;
  options.sync_interval_ms = 5;
  auto engine = open(options);
  put(*engine, "key", "value");
  EXPECT_TRUE(comes_true([&] { return engine->stats().durable_sequence == 1; }));
}

TEST_F(LocalSyncTest, AnIntervalWithoutEndIsNeverOver) {
  for (const bool background : {false, true}) {
    TempDir dir;
    LocalOptions options;
    options.background_drain = background;
    options.sync_interval_ms = std::numeric_limits<int64_t>::max();
    options.clock = &clock_;
    auto engine = must(open_local(dir.file("test.db"), options));
    for (int i = 0; i < 5; ++i) {
      clock_.advance(3'600'000);
      put(*engine, numbered(i), "value");
    }
    EXPECT_EQ(0U, engine->stats().durable_sequence);
  }
}

TEST_F(LocalSyncTest, AtFullReadersSeeACommitWhenItIsSyncedAndWritersAtOnce) {
  auto engine = open_at_normal(Durability::kFull);
  put(*engine, "key", "old");
  sync_gate().arm();
  std::thread committer([&] { put(*engine, "key", "new"); });
  ASSERT_TRUE(sync_gate().holds_one());

  EXPECT_EQ("old", get(*engine, "key"));
  EXPECT_EQ(1U, must(engine->snapshot())->sequence());
  EXPECT_EQ(2U, engine->stats().last_sequence);
  EXPECT_EQ(1U, engine->stats().visible_sequence);
  {
    auto transaction = must(engine->begin(milliseconds(60000)));
    EXPECT_EQ("new", get(*transaction, "key")) << "or two increments would both read old";
    EXPECT_EQ(3U, transaction->sequence());
  }
  sync_gate().open();
  committer.join();
  EXPECT_EQ("new", get(*engine, "key"));
  EXPECT_EQ(2U, engine->stats().durable_sequence);
}

TEST_F(LocalSyncTest, CommitsThatWaitTogetherShareASync) {
  constexpr uint64_t kCommitters = 8;
  auto engine = open_at_normal(Durability::kFull);
  put(*engine, "key", "value");
  const uint64_t syncs = engine->stats().syncs;
  sync_gate().arm();
  std::vector<std::thread> committers;
  for (uint64_t i = 0; i < kCommitters; ++i) {
    committers.emplace_back([&, i] { put(*engine, numbered(static_cast<int>(i)), "value"); });
  }
  ASSERT_TRUE(sync_gate().holds_one());
  EXPECT_TRUE(comes_true([&] { return engine->stats().last_sequence == 1 + kCommitters; }));
  sync_gate().open();
  for (std::thread& committer : committers) committer.join();
  EXPECT_EQ(1 + kCommitters, engine->stats().durable_sequence);
  EXPECT_LE(engine->stats().syncs - syncs, 2U) << "one for the first, one for all others";
}

}  // namespace
}  // namespace lapse::engine
