// Opening, closing, configs, and what kvstore_errmsg() has to say.

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "c_store.h"

namespace lapse {
namespace {

std::string open_failure(const std::string& path, int code, const KVStoreConfig& config = {}) {
  KVStore* kv = reinterpret_cast<KVStore*>(1);
  EXPECT_EQ(code, kvstore_open_v2(path.c_str(), &kv, &config));
  EXPECT_EQ(nullptr, kv);
  return kvstore_errmsg(nullptr);
}

TEST(COpen, NullAndMemoryPathsAreStoresOfTheirOwn) {
  const auto a = open_store(nullptr);
  const auto b = open_store(":memory:");
  EXPECT_EQ(KVSTORE_OK, put(a.get(), "k", "v"));
  EXPECT_EQ("v", get(a.get(), "k"));
  EXPECT_EQ(kNotFound, get(b.get(), "k"));
  EXPECT_FALSE(std::filesystem::exists(":memory:"));
}

TEST(COpen, AFileKeepsWhatWasPut) {
  const TempDir dir;
  const std::string path = dir.file("my.db");
  EXPECT_EQ(KVSTORE_OK, put(open_store(path.c_str()).get(), "k", "v"));
  for (const int journal_mode : {KVSTORE_JOURNAL_DELETE, KVSTORE_JOURNAL_WAL}) {
    KVStore* kv = nullptr;
    ASSERT_EQ(KVSTORE_OK, kvstore_open(path.c_str(), &kv, journal_mode));
    EXPECT_EQ("v", get(kv, "k"));
    EXPECT_EQ(KVSTORE_OK, kvstore_close(kv));
  }
}

// A zeroed config, and none, mean the documented defaults.
TEST(COpen, AZeroedConfigMeansTheDefaults) {
  const TempDir dir;
  const std::string path = dir.file("my.db");
  const KVStoreConfig zeroed = {};
  for (const KVStoreConfig* config : {&zeroed, static_cast<const KVStoreConfig*>(nullptr)}) {
    KVStore* kv = nullptr;
    ASSERT_EQ(KVSTORE_OK, kvstore_open_v2(path.c_str(), &kv, config)) << kvstore_errmsg(nullptr);
    EXPECT_EQ(KVSTORE_OK, put(kv, "k", "v")) << "not read-only";
    EXPECT_EQ(KVSTORE_OK, kvstore_begin(kv, 1));
    EXPECT_EQ(KVSTORE_OK, kvstore_rollback(kv));
    EXPECT_EQ(KVSTORE_OK, kvstore_close(kv));
  }
}

// SYNC_NORMAL, not SYNC_OFF: what was committed outlives a process that ends without closing.
TEST(COpen, AZeroedConfigSurvivesKill) {
  const TempDir dir;
  const std::string path = dir.file("my.db");
  EXPECT_EQ("0", in_child([&] {
              KVStore* kv = open_store(path.c_str()).release();  // never closed
              return std::to_string(put(kv, "k", "v"));
            }));
  EXPECT_EQ("v", get(open_store(path.c_str()).get(), "k"));
}

TEST(COpen, SettingsWithoutAMeaningAreAccepted) {
  const KVStoreConfig config = {99, KVSTORE_SYNC_FULL, -2000, 512, 0, 100, -1, 1, 1};
  const auto kv = open_store(nullptr, config);
  EXPECT_EQ(KVSTORE_OK, put(kv.get(), "k", "v"));
}

TEST(COpen, SettingsThatMakeNoSenseAreRefused) {
  EXPECT_NE(std::string::npos, open_failure(":memory:", KVSTORE_ERROR, {.syncLevel = 3}).find("syncLevel"));
  EXPECT_NE(std::string::npos, open_failure(":memory:", KVSTORE_ERROR, {.syncLevel = -1}).find("syncLevel"));
  EXPECT_NE(std::string::npos,
            open_failure(":memory:", KVSTORE_ERROR, {.busyTimeout = -1}).find("busyTimeout"));
}

TEST(COpen, NullOutIsAnError) {
  EXPECT_EQ(KVSTORE_ERROR, kvstore_open(":memory:", nullptr, 0));
  EXPECT_STREQ("out is NULL", kvstore_errmsg(nullptr));
}

TEST(COpen, WhatCannotBeOpenedSaysWhy) {
  const TempDir dir;
  EXPECT_FALSE(open_failure("", KVSTORE_ERROR).empty());
  EXPECT_NE(std::string::npos, open_failure(dir.file("no/such.db"), KVSTORE_NOTFOUND).find(dir.file("no")));
  std::ofstream(dir.file("text"))
      << "this is not a store, but long enough to be taken for one by the careless";
  EXPECT_NE(std::string::npos, open_failure(dir.file("text"), KVSTORE_ERROR).find("text"));
}

TEST(COpen, FilesOfSnkvAreRefusedByName) {
  const TempDir dir;
  const std::string path = dir.file("snkv.db");
  const std::string content = std::string("SQLite format 3\0", 16) + std::string(8176, '\1');
  std::ofstream(path, std::ios::binary) << content;
  for (const int read_only : {0, 1}) {
    const std::string message = open_failure(path, KVSTORE_ERROR, {.readOnly = read_only});
    EXPECT_NE(std::string::npos, message.find("SNKV")) << message;
    EXPECT_NE(std::string::npos, message.find("SQLite")) << message;
    EXPECT_NE(std::string::npos, message.find(path)) << message;
  }
  std::ifstream file(path, std::ios::binary);
  EXPECT_EQ(content, std::string(std::istreambuf_iterator<char>(file), {})) << "untouched";
}

TEST(COpen, ReadOnly) {
  const TempDir dir;
  const std::string path = dir.file("my.db");
  const KVStoreConfig read_only = {.readOnly = 1};
  EXPECT_FALSE(open_failure(path, KVSTORE_NOTFOUND, read_only).empty());
  put(open_store(path.c_str()).get(), "k", "v");
  const auto kv = open_store(path.c_str(), read_only);
  EXPECT_EQ("v", get(kv.get(), "k"));
  EXPECT_EQ(KVSTORE_READONLY, put(kv.get(), "k", "w"));
  EXPECT_EQ(KVSTORE_READONLY, erase(kv.get(), "k"));
  EXPECT_EQ(KVSTORE_READONLY, kvstore_begin(kv.get(), 1));
  EXPECT_EQ(KVSTORE_READONLY, kvstore_clear(kv.get()));
  EXPECT_EQ(KVSTORE_READONLY, kvstore_purge_expired(kv.get(), nullptr));
  KVColumnFamily* cf = nullptr;
  EXPECT_EQ(KVSTORE_READONLY, kvstore_cf_create(kv.get(), "f", &cf));
  EXPECT_EQ(KVSTORE_READONLY, kvstore_checkpoint(kv.get(), 0, nullptr, nullptr));
  EXPECT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 0));
  EXPECT_EQ("v", get(kv.get(), "k"));
  EXPECT_EQ(KVSTORE_OK, kvstore_commit(kv.get()));
  EXPECT_EQ(KVSTORE_READONLY, put(open_store(nullptr, read_only).get(), "k", "v")) << "in memory, too";
}

TEST(COpen, ASecondProcessIsBusy) {
  const TempDir dir;
  const std::string path = dir.file("my.db");
  const auto kv = open_store(path.c_str());
  EXPECT_EQ("5: pid", in_child([&] {
              KVStore* other = nullptr;
              const int code = kvstore_open(path.c_str(), &other, KVSTORE_JOURNAL_WAL);
              const std::string message = kvstore_errmsg(nullptr);
              return std::to_string(code) + ": " +
                     (message.find(std::to_string(getppid())) != std::string::npos ? "pid" : message);
            }));
}

TEST(COpen, InAForkedChildEveryCallIsAnError) {
  const TempDir dir;
  const auto kv = open_store(dir.file("my.db").c_str());
  put(kv.get(), "k", "v");
  EXPECT_EQ("1 1 1 0", in_child([&] {
              void* value = nullptr;
              int size = 0;
              std::string codes = std::to_string(kvstore_get(kv.get(), "k", 1, &value, &size));
              codes += " " + std::to_string(put(kv.get(), "k", "w"));
              codes += " " + std::to_string(kvstore_begin(kv.get(), 1));
              return codes + " " +
                     (std::string(kvstore_errmsg(kv.get())).find("fork") == std::string::npos ? "1" : "0");
            }));
  EXPECT_EQ("v", get(kv.get(), "k"));
}

// Whatever lock a thread of the parent holds at that moment, nobody in the child will ever give it back.
TEST(COpen, AForkWhileOthersWriteLeavesAChildThatAnswers) {
  const TempDir dir;
  KVStoreConfig config{};
  config.syncLevel = KVSTORE_SYNC_FULL;
  const auto kv = open_store(dir.file("my.db").c_str(), config);
  put(kv.get(), "k", "v");
  const auto iterator = [&] {
    KVIterator* it = nullptr;
    EXPECT_EQ(KVSTORE_OK, kvstore_iterator_create(kv.get(), &it));
    return Owned<KVIterator>(it);
  }();
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop) put(kv.get(), "other", "value");
  });
  for (int round = 0; round < 20; ++round) {
    EXPECT_EQ("1 1 1 1 1 0", in_child([&] {
                alarm(20);  // a hang ends here
                KVStoreStats stats;
                std::string codes = std::to_string(put(kv.get(), "k", "w"));
                codes += " " + std::to_string(kvstore_begin(kv.get(), 1));
                codes += " " + std::to_string(kvstore_stats(kv.get(), &stats));
                codes += " " + std::to_string(kvstore_iterator_eof(iterator.get()));
                const std::string why = kvstore_errmsg(kv.get());
                codes += " " + std::to_string(why.find("fork") != std::string::npos ? 1 : 0);
                kvstore_iterator_close(iterator.get());
                return codes + " " + std::to_string(kvstore_close(kv.get()));
              }));
  }
  stop = true;
  writer.join();
}

TEST(COpen, SeveralHandlesOnOneFile) {
  const TempDir dir;
  const std::string path = dir.file("my.db");
  auto a = open_store(path.c_str());
  const auto b = open_store(path.c_str());
  put(a.get(), "k", "from a");
  EXPECT_EQ("from a", get(b.get(), "k"));
  a.reset();
  EXPECT_EQ(KVSTORE_OK, put(b.get(), "k", "from b")) << "closing one does not close the other";
}

// -------------------------------------------------------------------------------------------- closing

TEST(CClose, WhatIsLeftAnswersWithErrors) {
  const TempDir dir;
  const std::string path = dir.file("my.db");
  auto kv = open_store(path.c_str());
  put(kv.get(), "k", "v");
  const auto cf = create_family(kv, "f");
  const auto standard = default_family(kv);
  KVIterator* it = nullptr;
  ASSERT_EQ(KVSTORE_OK, kvstore_iterator_create(kv.get(), &it));
  const Owned<KVIterator> iterator(it);
  KVSnapshot* moment = nullptr;
  ASSERT_EQ(KVSTORE_OK, kvstore_snapshot_create(kv.get(), &moment));
  const Owned<KVSnapshot> snapshot(moment);
  ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 1));
  ASSERT_EQ(KVSTORE_OK, put(kv.get(), "k", "uncommitted"));
  KVIterator* inside = nullptr;
  ASSERT_EQ(KVSTORE_OK, kvstore_iterator_create(kv.get(), &inside));
  const Owned<KVIterator> in_transaction(inside);

  EXPECT_EQ(KVSTORE_OK, kvstore_close(kv.release()));
  EXPECT_EQ(KVSTORE_ERROR, put(cf.get(), "k", "v"));
  EXPECT_EQ(kError, get(standard.get(), "k"));
  for (KVIterator* left : {it, inside}) {
    EXPECT_EQ(1, kvstore_iterator_eof(left));
    EXPECT_EQ(KVSTORE_ERROR, kvstore_iterator_first(left));
  }
  void* value = nullptr;
  int size = 0;
  EXPECT_EQ(KVSTORE_ERROR, kvstore_snapshot_get(moment, nullptr, "k", 1, &value, &size));
  KVIterator* none = nullptr;
  EXPECT_EQ(KVSTORE_ERROR, kvstore_cf_iterator_create(cf.get(), &none));

  // And they are not in the way.
  EXPECT_EQ("v", get(open_store(path.c_str()).get(), "k")) << "rolled back";
}

// ------------------------------------------------------------------------------------------- messages

TEST(CErrmsg, SaysWhatHappened) {
  const auto kv = open_store();
  EXPECT_STREQ("no error", kvstore_errmsg(kv.get()));
  EXPECT_EQ(kNotFound, get(kv.get(), "k"));
  EXPECT_STREQ("key not found", kvstore_errmsg(kv.get()));
  EXPECT_EQ(KVSTORE_ERROR, kvstore_put(kv.get(), "k", -1, "v", 1));
  EXPECT_STREQ("key: a length of -1 is negative", kvstore_errmsg(kv.get()));
  EXPECT_EQ(KVSTORE_OK, put(kv.get(), "k", "v"));
  EXPECT_STREQ("key: a length of -1 is negative", kvstore_errmsg(kv.get())) << "the latest that failed";
}

TEST(CErrmsg, EachHandleHasItsOwn) {
  const auto a = open_store();
  const auto b = open_store();
  kvstore_commit(a.get());
  get(b.get(), "k");
  EXPECT_STREQ("there is no transaction to commit", kvstore_errmsg(a.get()));
  EXPECT_STREQ("key not found", kvstore_errmsg(b.get()));
  EXPECT_EQ(KVSTORE_ERROR, kvstore_commit(nullptr));
  EXPECT_STREQ("the handle is NULL", kvstore_errmsg(nullptr));
  EXPECT_STREQ("key not found", kvstore_errmsg(b.get()));
}

TEST(CErrmsg, EachThreadSeesItsOwnFailureFirst) {
  const auto kv = open_store();
  kvstore_commit(kv.get());
  std::thread([&] {
    EXPECT_STREQ("there is no transaction to commit", kvstore_errmsg(kv.get()))
        << "it has none of its own yet";
    get(kv.get(), "k");
    EXPECT_STREQ("key not found", kvstore_errmsg(kv.get()));
  }).join();
  EXPECT_STREQ("there is no transaction to commit", kvstore_errmsg(kv.get()));
}

}  // namespace
}  // namespace lapse
