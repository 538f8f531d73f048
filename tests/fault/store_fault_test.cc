// The same faults, as a user of the store meets them: data, deadlines, history and counts go together or not at all. What was
// acknowledged is there, with its deadline; what was not is as before or as it would have been; verify() finds no entry
// without its row, and no row without its entry.

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/try.h"
#include "fault_env.h"
#include "io_hooks.h"
#include "lapse/kvstore.h"
#include "lapse/store.h"
#include "small_disk.h"
#include "support/support.h"

namespace lapse::fault {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kStartMs = 1'000'000;
constexpr uint64_t kFromThenOn = ~uint64_t{0};
const Fault kFailedJournalSyncs{.calls = kSyncCall | kSyncedWriteCall,
                                .name_part = "-journal",
                                .count = kFromThenOn,
                                .error = EIO,
                                .effect = FaultEffect::kSyncLost};

// A key as it may be: absent, or with a value and a deadline.
struct Seen {
  std::string value;
  int64_t deadline_ms = kNever;
  bool operator==(const Seen&) const = default;
};
using MaybeSeen = std::optional<Seen>;

std::string describe(const MaybeSeen& seen) {
  return seen ? "'" + seen->value + "' until " + std::to_string(seen->deadline_ms) : "nothing";
}

// A store, and what it may hold by what it has said.
class Witness {
 public:
  explicit Witness(std::string path) : path_(std::move(path)) {}

  bool open() {
    Options options;
    options.clock = &clock_;
    options.durability = Durability::kFull;
    options.buffer_bytes = 8 << 10;
    Result<Store> opened = Store::open(path_, options);
    if (!opened.ok()) return false;
    store_.emplace(std::move(*opened));
    return true;
  }
  Status close() {
    if (!store_) return {};
    Status status = store_->close();
    store_.reset();
    return status;
  }
  Store& store() { return *store_; }
  ManualClock& clock() { return clock_; }

  void put(const std::string& family, const std::string& key, const std::string& value, int64_t ttl_ms) {
    const int64_t deadline_ms = clock_.now_ms() + ttl_ms;
    note(family + "/" + key, Seen{value, deadline_ms},
         in(family, [&](Family& keys) { return keys.put(key, value, Lifetime::until(deadline_ms)); }));
  }
  void erase(const std::string& family, const std::string& key) {
    note(family + "/" + key, std::nullopt,
         in(family, [&](Family& keys) { return keys.erase(key).status(); }));
  }
  Status in(const std::string& family, const std::function<Status(Family&)>& work) {
    LAPSE_TRY_ASSIGN(Family keys, store_->family(family));
    return work(keys);
  }

  // "" or what is not as it should be.
  std::string check() {
    for (const auto& [name, possible] : possible_) {
      const size_t slash = name.find('/');
      MaybeSeen seen;
      const Status status = in(name.substr(0, slash), [&](Family& keys) -> Status {
        LAPSE_TRY_ASSIGN(const std::optional<Entry> entry, keys.get_entry(name.substr(slash + 1)));
        if (entry) seen = Seen{entry->value, entry->deadline_ms};
        return {};
      });
      // A family that could not be made has no keys.
      if (!status.ok() && status.code() != StatusCode::kNotFound) return name + ": " + status.to_string();
      const auto is_seen = [&](const MaybeSeen& may_be) { return visible(may_be) == seen; };
      if (std::none_of(possible.begin(), possible.end(), is_seen)) return name + " is " + describe(seen);
    }
    const Status sound = store_->verify();
    return sound.ok() ? "" : sound.to_string();
  }

 private:
  MaybeSeen visible(const MaybeSeen& seen) {
    return seen && clock_.now_ms() < seen->deadline_ms ? seen : std::nullopt;
  }
  void note(const std::string& name, const MaybeSeen& written, const Status& status) {
    std::vector<MaybeSeen>& possible = possible_.try_emplace(name, 1).first->second;
    if (status.ok()) possible.clear();
    possible.push_back(written);
  }

  const std::string path_;
  ManualClock clock_{kStartMs};
  std::optional<Store> store_;
  std::map<std::string, std::vector<MaybeSeen>> possible_;
};

// Everything that writes several rows at once. Errors are met and passed over, as by a user who goes on.
void work(Witness* witness) {
  (void)witness->store().create_family("past", {.counted = true, .history = HistoryPolicy{.keep_last = 3}});
  for (int i = 0; i < 24; ++i) {
    const std::string key = "key" + std::to_string(i % 5);
    const std::string value = std::to_string(i) + std::string(i % 3 == 0 ? 900 : 10, 'v');
    witness->put(i % 2 == 0 ? "default" : "past", key, value, 1'000 * (1 + i % 4));
    if (i % 7 == 6) witness->erase("past", key);
    if (i % 8 == 7) {
      witness->clock().advance(900);
      (void)witness->store().purge_all_expired();
    }
    if (i == 12) (void)witness->store().checkpoint();
    if (i == 16) (void)witness->store().create_family("short-lived");
    if (i == 17) witness->put("short-lived", "key", "value", 60'000);
  }
}

struct FaultKind {
  const char* name;
  uint32_t calls;
  int error;
  FaultEffect effect;
  uint64_t count;
};
constexpr FaultKind kFaultKinds[] = {
    {"EIO", kAnyCall, EIO, FaultEffect::kNothingDone, 1},
    {"ENOSPC", kAnyCall, ENOSPC, FaultEffect::kNothingDone, 1},
    {"ENOSPC from then on", kWriteCall | kResizeCall | kOpenCall, ENOSPC, FaultEffect::kNothingDone,
     kFromThenOn},
    {"sync lost", kSyncCall | kSyncedWriteCall, EIO, FaultEffect::kSyncLost, 1},
    {"sync lost, no space", kSyncCall | kSyncedWriteCall, ENOSPC, FaultEffect::kSyncLost, 1},
};

// One run with a fault in it; then the disk works again. "" or what is wrong. `matched`: how many calls there were.
std::string run_with(const Fault& fault, uint64_t* matched) {
  const ScratchDir dir;
  Witness witness(dir.file("my.db"));
  {
    IoWatch watch(dir.path());
    watch.inject(fault);
    if (witness.open()) {
      work(&witness);
      watch.inject_nothing();
      if (std::string wrong = witness.check(); !wrong.empty()) return "in the same session: " + wrong;
      (void)witness.close();
    }
    *matched = watch.matched();
  }
  if (!witness.open()) return "it cannot be opened again";
  if (std::string wrong = witness.check(); !wrong.empty()) return "after the reopen: " + wrong;
  witness.put("default", "new", "value", 1'000);
  if (std::string wrong = witness.check(); !wrong.empty()) return "after a further write: " + wrong;
  return {};
}

TEST(StoreFault, AtEveryCallDataDeadlinesAndHistoryStayTogether) {
  for (const FaultKind& kind : kFaultKinds) {
    uint64_t calls = 0;
    ASSERT_EQ("", run_with({.calls = kind.calls, .nth = kFromThenOn}, &calls));
    ASSERT_GT(calls, 10U);
    for (uint64_t nth = 1; nth <= calls; ++nth) {
      uint64_t matched = 0;
      const Fault fault{
          .calls = kind.calls, .nth = nth, .count = kind.count, .error = kind.error, .effect = kind.effect};
      ASSERT_EQ("", run_with(fault, &matched)) << kind.name << " at call " << nth << " of " << calls;
    }
    std::printf("%s: %lu calls, each failed once\n", kind.name, calls);
  }
}

// At normal such a commit is there for all to see, though nobody knows whether it will be after a reopen.
TEST(StoreFault, AChangeOfFamiliesWhoseSyncFailedIsSeenAsAWhole) {
  const ScratchDir dir;
  IoWatch watch(dir.path());
  ManualClock clock(kStartMs);
  Options options;
  options.clock = &clock;
  options.durability = Durability::kNormal;
  options.sync_interval = 0ms;
  Store store = must(Store::open(dir.file("my.db"), options));
  Family cleared = must(store.create_family("cleared", {.counted = true}));
  Family dropped = must(store.create_family("dropped"));
  Family swapped = must(store.create_family("swapped"));
  Family with = must(store.create_family("with"));
  for (Family family : {cleared, dropped, swapped, with}) ASSERT_TRUE(family.put("key", "before", 1h).ok());
  ASSERT_TRUE(swapped.put("only here", "value").ok());

  watch.inject(kFailedJournalSyncs);
  const Status changed = store.update([&](Transaction& transaction) -> Status {
    LAPSE_TRY(transaction.in(cleared).clear());
    LAPSE_TRY(transaction.in(cleared).put("new", "value"));
    LAPSE_TRY(transaction.drop_family("dropped"));
    LAPSE_TRY(transaction.swap_families("swapped", "with"));
    LAPSE_TRY_ASSIGN(Family made, transaction.create_family("made"));
    LAPSE_TRY(transaction.in(made).put("key", "value"));
    return transaction.put("key", "value");
  });
  watch.inject_nothing();
  ASSERT_EQ(StatusCode::kUnknown, changed.code()) << changed.to_string();

  EXPECT_EQ("value", must(store.get("key")));
  EXPECT_EQ((std::vector<std::string>{"cleared", "default", "made", "swapped", "with"}),
            must(store.list_families()));
  EXPECT_EQ(StatusCode::kNotFound, store.family("dropped").status().code());
  EXPECT_EQ(StatusCode::kNotFound, dropped.get("key").status().code());
  EXPECT_EQ(StatusCode::kNotFound, dropped.next_deadline().status().code());
  const Snapshot snapshot = must(store.snapshot());
  for (const Reader& reader : {Reader(cleared), snapshot.in(cleared)}) {
    EXPECT_EQ(std::nullopt, must(reader.get("key")));
    EXPECT_EQ("value", must(reader.get("new")));
    EXPECT_EQ(1U, must(reader.count()));
    EXPECT_EQ(kNever, must(reader.next_deadline()));
  }
  for (const Reader& reader : {Reader(with), snapshot.in(with)})
    EXPECT_EQ("value", must(reader.get("only here")));
  Family made = must(store.family("made"));
  for (const Reader& reader : {Reader(made), snapshot.in(made)}) EXPECT_EQ("value", must(reader.get("key")));
  EXPECT_EQ(kNever, must(made.next_deadline()));
  EXPECT_FALSE(store.put("more", "value").ok());
  EXPECT_TRUE(store.verify().ok());
}

TEST(StoreFault, ACommitThatFailedDatesNoneBehindIt) {
  const ScratchDir dir;
  IoWatch watch(dir.path());
  ManualClock clock(kStartMs);
  Options options;
  options.clock = &clock;
  options.durability = Durability::kFull;  // where what is written to the journal can fail
  Store store = must(Store::open(dir.file("my.db"), options));
  Family past = must(store.create_family("past", {.history = HistoryPolicy{}}));
  const auto put = [&](int64_t at_ms) {
    clock.set(at_ms);
    return past.put("key", "value");
  };
  constexpr int64_t kYearMs = 365LL * 24 * 3'600'000;
  must(put(kStartMs + 1'000));
  watch.inject({.calls = kWriteCall, .name_part = "-journal", .count = kFromThenOn, .error = ENOSPC});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(StatusCode::kNoSpace, put(kStartMs + kYearMs).code());
  watch.inject_nothing();
  must(put(kStartMs + 500));
  must(put(kStartMs + 2'000));
  std::vector<int64_t> dates;
  for (const Revision& revision : must(past.history("key")))
    dates.push_back(revision.written_at_ms - kStartMs);
  EXPECT_EQ((std::vector<int64_t>{2'000, 1'000, 1'000}), dates);
  EXPECT_TRUE(store.verify().ok());
}

TEST(StoreFault, WhatTheDiskDidNotConfirmHasACodeOfItsOwnInC) {
  const ScratchDir dir;
  IoWatch watch(dir.path());
  KVStore* kv = nullptr;
  KVStoreConfig config{};
  config.syncLevel = KVSTORE_SYNC_FULL;
  ASSERT_EQ(KVSTORE_OK, kvstore_open_v2(dir.file("my.db").c_str(), &kv, &config));
  watch.inject(kFailedJournalSyncs);
  EXPECT_EQ(KVSTORE_UNKNOWN, kvstore_put(kv, "key", 3, "value", 5));
  watch.inject_nothing();
  EXPECT_EQ(KVSTORE_ERROR, kvstore_put(kv, "key", 3, "value", 5)) << "this one changed nothing";
  kvstore_close(kv);
}

TEST(StoreFault, OnAFullDiskReadsGoOnAndExpiredIsHidden) {
  if (!small_disks_are_allowed()) GTEST_SKIP() << "not allowed to mount a tmpfs in a namespace";
  const ChildResult child = run_on_small_disk(4 << 20, 60, [&](const SmallDisk& disk, Report& report) {
    Witness witness(disk.file("my.db"));
    if (!witness.open()) return report.fail("open");
    for (int i = 0; i < 50; ++i) witness.put("default", "key" + std::to_string(i), "value", 1'000 + i);
    disk.fill();
    Status status;
    for (int i = 0; i < 10'000 && status.ok(); ++i)
      status = witness.store().put("filler" + std::to_string(i), std::string(4'000, 'f'), 1h);
    if (status.code() != StatusCode::kNoSpace) report.fail("not kNoSpace: " + status.to_string());
    witness.clock().advance(1'025);  // some are due now; a read may not be able to remove them
    if (const std::string wrong = witness.check(); !wrong.empty()) report.fail("full: " + wrong);
    (void)witness.store().purge_expired();
    if (const std::string wrong = witness.check(); !wrong.empty()) report.fail("purged while full: " + wrong);
    disk.make_room();
    witness.clock().advance(10'000);
    const Result<PurgeResult> purged = witness.store().purge_expired();
    if (!purged.ok()) report.fail("purge: " + purged.status().to_string());
    if (const Status closed = witness.close(); !closed.ok()) report.fail("close: " + closed.to_string());
    if (!witness.open()) return report.fail("reopen");
    if (const std::string wrong = witness.check(); !wrong.empty()) report.fail("room again: " + wrong);
  });
  EXPECT_TRUE(child.ok()) << child.describe();
}

// A child has none of the parent's threads, but the locks that they held. Whatever would wait for one, waits for ever.
TEST(StoreFault, TheChildOfAForkWaitsForNoLockOfTheParentsThreads) {
  if (kSanitized) GTEST_SKIP() << "sanitizers have locks of their own, which a child may wait for";
  const ScratchDir dir;
  Options options;
  options.busy_timeout = 0ms;
  std::optional<Store> store = must(Store::open(dir.file("my.db"), options));
  must(store->put("key", "value"));
  const Snapshot snapshot = must(store->snapshot());
  std::optional<Transaction> transaction = must(store->begin());
  must(transaction->create_family("made"));

  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  const auto over_and_over = [&](const auto& work) {
    threads.emplace_back([&done, work] {
      while (!done.load()) work();
    });
  };
  for (int i = 0; i < 2; ++i) over_and_over([&] { (void)snapshot.exists("key"); });
  over_and_over([&] { (void)store->purge_all_expired(); });
  for (int i = 0; i < 100 && !testing::Test::HasFailure(); ++i) {
    EXPECT_EQ("done", in_child([&]() -> std::string {
                alarm(30);
                EXPECT_CODE(kUnavailable, snapshot.get("key"));
                EXPECT_CODE(kUnavailable, store->purge_all_expired());
                transaction.reset();
                store.reset();
                return testing::Test::HasFailure() ? "" : "done";
              }));
  }
  done.store(true);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace lapse::fault
