// Promise 10: after a reopen, a crash, compact_to and a copy of the file, deadlines and history are as before; nothing
// expired comes back. (Crashes: named_cases_test.cc, and tests/fault.)

#include <filesystem>

#include "test_stores.h"

namespace lapse {
namespace {

class Reopen : public StoreTest {
 protected:
  Reopen() : StoreTest(file_config()) {}

  // Some of everything.
  void fill() {
    Family past = this->past({.keep_last = 3});
    Family counted = family("counted", {.counted = true, .default_ttl = 1h});
    for (int i = 0; i < 50; ++i) {
      must(
          store().put(numbered(i), "value", i % 3 == 0 ? Lifetime() : Lifetime(std::chrono::seconds(1 + i))));
      must(past.put(numbered(i % 10), std::to_string(i), i % 7 == 0 ? Lifetime(2s) : Lifetime()));
      must(counted.put(numbered(i), "value"));
      clock_.advance(100);
    }
    must(past.erase(numbered(3)));
    must(store().erase(numbered(4)));
    must(past.expire(numbered(5), 10s));
    must(store().purge_expired({.limit = 3}));
  }

  // All that can be seen of a store, at several times.
  std::string everything(const Store& seen) {
    std::string all;
    const int64_t now = clock_.now_ms();
    for (const int64_t later : {0, 1'000, 10'000, 10'000'000}) {
      clock_.set(now + later);
      const Snapshot snapshot = must(seen.snapshot());
      for (const std::string& name : must(seen.list_families())) {
        const Family family = must(seen.family(name));
        const Reader reader = snapshot.in(family);
        all += "\n" + name + ": " + contents(reader) + " | " + expiring(reader) + " | " +
               std::to_string(count(reader));
        if (!must(family.family_options()).history) continue;
        for (int i = 0; i < 10; ++i) all += " | " + history(reader, numbered(i));
        for (const int64_t at_ms : {1'500, 3'000, 5'500}) {
          all += " | " + contents(must(seen.snapshot_at(at_ms)).in(family));
        }
      }
    }
    clock_.set(now);
    return all;
  }
};

TEST_F(Reopen, LeavesEverythingAsItWas) {
  fill();
  const std::string before = everything(store());
  const uint64_t revision = store().stats().last_revision;
  reopen();
  EXPECT_EQ(before, everything(store()));
  EXPECT_LE(revision, store().stats().last_revision);
  EXPECT_OK(store().verify());
}

TEST_F(Reopen, AfterACheckpoint) {
  fill();
  const std::string before = everything(store());
  must(store().checkpoint());
  EXPECT_EQ(before, everything(store()));
  reopen();
  EXPECT_EQ(before, everything(store()));
}

TEST_F(Reopen, ReadOnly) {
  fill();
  const std::string before = everything(store());
  close();
  options_.read_only = true;
  EXPECT_EQ(before, everything(store()));
  EXPECT_CODE(kReadOnly, store().put("key", "value"));
  EXPECT_CODE(kReadOnly, store().begin());
  EXPECT_CODE(kReadOnly, store().create_family("f"));
  EXPECT_CODE(kReadOnly, must(store().family("past")).restore(numbered(3), 1'500));
  EXPECT_OK(store().verify());
}

TEST_F(Reopen, CompactCopyIsTheSameStore) {
  fill();
  const std::string before = everything(store());
  const uint64_t revision = store().stats().last_revision;
  const std::string copy_path = dir_.file("copy.db");
  must(store().compact_to(copy_path));
  Store copy = must(Store::open(copy_path, options_));
  EXPECT_EQ(before, everything(copy));
  EXPECT_EQ(revision, copy.stats().last_revision);
  EXPECT_OK(copy.verify());
  EXPECT_CODE(kInvalidArgument, store().compact_to(copy_path)) << "it exists";
  Family past = must(copy.family("past"));
  must(past.put("new", "value"));
  EXPECT_LT(revision, must(past.get_entry("new"))->revision) << "the numbering goes on";
  EXPECT_EQ(before, everything(store())) << "the copy is another store";
}

TEST_F(Reopen, CompactCopyOfAMemoryStore) {
  memory_ = true;
  fill();
  const std::string before = everything(store());
  must(store().compact_to(dir_.file("copy.db")));
  Store copy = must(Store::open(dir_.file("copy.db"), options_));
  EXPECT_EQ(before, everything(copy));
}

TEST_F(Reopen, CopyOfTheFilesIsTheSameStore) {
  fill();
  const std::string before = everything(store());
  close();
  std::filesystem::create_directory(dir_.file("elsewhere"));
  for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    if (entry.is_regular_file()) {
      std::filesystem::copy(entry.path(), dir_.file("elsewhere") + "/" + entry.path().filename().string());
    }
  }
  Store copy = must(Store::open(dir_.file("elsewhere") + "/test.db", options_));
  EXPECT_EQ(before, everything(copy));
  EXPECT_OK(copy.verify());
}

TEST_F(Reopen, NothingExpiredComesBack) {
  must(store().put("purged", "value", 1s));
  must(store().put("read", "value", 2s));
  must(store().put("due", "value", 3s));
  clock_.advance(1'000);
  EXPECT_EQ(1u, purge(store()));
  clock_.advance(1'000);
  EXPECT_EQ(std::nullopt, get(store(), "read"));
  clock_.advance(1'000);
  reopen();
  EXPECT_EQ("", keys(store()));
  purge(store());
  must(store().compact_to(dir_.file("copy.db")));
  clock_.set(kStart);
  EXPECT_EQ("", keys(store()));
  EXPECT_EQ("", keys(must(Store::open(dir_.file("copy.db"), options_))));
}

TEST_F(Reopen, WhatFellDueMeanwhileIsGone) {
  must(store().put("short", "value", 1s));
  must(store().put("long", "value", 1h));
  close();
  clock_.advance(1'000);
  EXPECT_EQ("long", keys(store()));
  EXPECT_EQ(3'599s, ttl(store(), "long"));
}

TEST_F(Reopen, GarbageOfDroppedFamiliesIsReclaimedLater) {
  Family family = this->family("f");
  for (int i = 0; i < 2'000; ++i) must(family.put(numbered(i), std::string(100, 'x'), 1h));
  must(store().drop_family("f"));
  must(store().checkpoint());
  reopen();
  for (int i = 0; i < 100; ++i) must(store().purge_all_expired());
  must(store().compact_to(dir_.file("copy.db")));
  EXPECT_GT(100'000u, std::filesystem::file_size(dir_.file("copy.db")));
  EXPECT_OK(store().verify());
}

TEST_F(Reopen, ClosedStoreAnswersUnavailable) {
  Family family = this->family("f");
  must(store().put("key", "value"));
  const Snapshot snapshot = must(store().snapshot());
  EXPECT_OK(store().close());
  EXPECT_CODE(kUnavailable, store().get("key"));
  EXPECT_CODE(kUnavailable, store().put("key", "value"));
  EXPECT_CODE(kUnavailable, store().begin());
  EXPECT_CODE(kUnavailable, store().snapshot());
  EXPECT_CODE(kUnavailable, store().list_families());
  EXPECT_CODE(kUnavailable, store().verify());
  EXPECT_CODE(kUnavailable, family.get("key"));
  EXPECT_CODE(kUnavailable, family.put("key", "value"));
}

TEST_F(Reopen, OneStoreOfSeveralOnAFileCanBeClosed) {
  Store second = must(Store::open(path(), options_));
  must(store().put("key", "value", 1h));
  EXPECT_OK(second.close());
  EXPECT_CODE(kUnavailable, second.get("key"));
  EXPECT_EQ("value", get(store(), "key"));
}

}  // namespace
}  // namespace lapse
