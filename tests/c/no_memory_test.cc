// Out of memory: every allocation of a call fails once. The call says KVSTORE_NOMEM or succeeds, and nothing comes out of it
// but a code. A write has been made or has not; and if the store had to stop, its journal has what it says.

#include <filesystem>
#include <functional>
#include <string>

#include "c_store.h"
#include "support/starvation.h"

namespace lapse {
namespace {

// Makes the call with 0, 1, 2, … allocations, until it has enough. Returns how often it had not.
int starve(const std::function<int()>& call) {
  for (int allowed = 0;; ++allowed) {
    const Starvation starvation(allowed);
    const int code = call();
    const bool enough = Starvation::ended_with_some_left();
    if (enough) {
      EXPECT_EQ(KVSTORE_OK, code);
      return allowed;
    }
    EXPECT_TRUE(code == KVSTORE_OK || code == KVSTORE_NOMEM) << code << " with " << allowed;
    if (allowed > 1000) {
      ADD_FAILURE() << "never enough";
      return allowed;
    }
  }
}

TEST(CNoMemory, Reads) {
  const auto kv = open_store();
  put(kv.get(), "key", std::string(1000, 'v'));
  EXPECT_GT(starve([&] {
              void* value = nullptr;
              int size = 0;
              const int code = kvstore_get(kv.get(), "key", 3, &value, &size);
              EXPECT_EQ(code == KVSTORE_OK, value != nullptr);
              snkv_free(value);
              return code;
            }),
            0);
  EXPECT_STREQ("out of memory", kvstore_errmsg(kv.get()));
  EXPECT_GT(starve([&] {
              char** names = nullptr;
              int count = 0;
              const int code = kvstore_cf_list(kv.get(), &names, &count);
              for (int i = 0; i < count; ++i) snkv_free(names[i]);
              snkv_free(names);
              return code;
            }),
            0);
  EXPECT_GT(starve([&] {
              KVIterator* it = nullptr;
              const int code = kvstore_iterator_create(kv.get(), &it);
              kvstore_iterator_close(it);
              return code;
            }),
            0);
  EXPECT_EQ(1, count(kv.get()));
}

// Opens with 0, 1, 2, … allocations until that is enough, each time another file; after each of them the same file can be
// opened with all that it held.
void starve_opens(const std::function<std::string()>& next_path, const std::string& expected) {
  for (int allowed = 0; allowed < 3000; ++allowed) {
    const std::string path = next_path();
    KVStore* opened = nullptr;
    const Starvation starvation(allowed);
    const int code = kvstore_open(path.c_str(), &opened, KVSTORE_JOURNAL_WAL);
    const int closing = opened == nullptr ? KVSTORE_OK : kvstore_close(opened);
    const bool enough = Starvation::ended_with_some_left();
    SCOPED_TRACE(testing::Message() << "with " << allowed << " allocations: " << code << ", " << closing);
    EXPECT_EQ(code == KVSTORE_OK, opened != nullptr);
    EXPECT_TRUE(code == KVSTORE_OK || code == KVSTORE_NOMEM);
    EXPECT_TRUE(closing == KVSTORE_OK || closing == KVSTORE_NOMEM);
    const auto kv = open_store(path.c_str());
    EXPECT_EQ(expected, get(kv.get(), "key"));
    EXPECT_EQ(KVSTORE_OK, kvstore_integrity_check(kv.get(), nullptr)) << kvstore_errmsg(kv.get());
    EXPECT_EQ(KVSTORE_OK, put(kv.get(), "other", "value"));
    if (enough) return;
  }
  ADD_FAILURE() << "never enough";
}

TEST(CNoMemory, OpeningANewStore) {
  const TempDir dir;
  int made = 0;
  starve_opens([&] { return dir.file(numbered(made++)); }, kNotFound);
}

TEST(CNoMemory, OpeningAStoreThatWasClosed) {
  const TempDir dir;
  const std::string path = dir.file("my.db");
  put(open_store(path.c_str()).get(), "key", "value");
  starve_opens([&] { return path; }, "value");
}

TEST(CNoMemory, OpeningAStoreThatMustBeRecovered) {
  const TempDir dir;
  const auto kv = open_store(dir.file("0").c_str());
  put(kv.get(), "key", "value");
  int copies = 0;
  starve_opens(
      [&] {
        // As a killed process would have left it.
        const std::string copy = dir.file(numbered(++copies));
        for (const auto* part : {"", "-journal0"})
          std::filesystem::copy_file(dir.file("0") + part, copy + part);
        return copy;
      },
      "value");
}

// Writes with 0, 1, 2, … allocations, each time another key, until that is enough. After each of them the key is there
// as a whole or not at all, others may write, and if the store has stopped, a reopen goes on from its journal.
class CNoMemoryWrites : public testing::Test {
 protected:
  void open() {
    other.reset();
    kv.reset();
    kv = open_store(dir.file("my.db").c_str());
    other = open_store(dir.file("my.db").c_str());
  }

  // `write` puts `value` under a key. Returns in how many cases the store had to stop.
  int starve_writes(const std::string& value, const std::function<int(const std::string& key)>& write) {
    int stops = 0;
    for (int allowed = 0; allowed < 1000; ++allowed) {
      const std::string key = numbered(next_++);
      const Starvation starvation(allowed);
      const int code = write(key);
      const bool enough = Starvation::ended_with_some_left();
      SCOPED_TRACE(testing::Message() << "with " << allowed << " allocations: code " << code << ", "
                                      << kvstore_errmsg(kv.get()));
      if (enough) {
        EXPECT_EQ(KVSTORE_OK, code);
        EXPECT_EQ(value, get(kv.get(), key));
        return stops;
      }
      const bool stopped = put(other.get(), "probe", "value") != KVSTORE_OK;
      if (stopped) {
        EXPECT_NE(KVSTORE_OK, code);
        ++stops;
        open();
        EXPECT_EQ(value, get(kv.get(), key)) << "the journal had it";
      } else if (code == KVSTORE_OK) {
        EXPECT_EQ(value, get(kv.get(), key));
      } else {
        EXPECT_EQ(KVSTORE_NOMEM, code);
        const std::string found = get(kv.get(), key);
        EXPECT_TRUE(found == value || found == kNotFound) << found.size();
      }
      EXPECT_EQ(KVSTORE_OK, kvstore_integrity_check(kv.get(), nullptr)) << kvstore_errmsg(kv.get());
      EXPECT_EQ(KVSTORE_OK, kvstore_begin(other.get(), 1)) << "the writer's place is held";
      EXPECT_EQ(KVSTORE_OK, kvstore_rollback(other.get()));
    }
    ADD_FAILURE() << "never enough";
    return stops;
  }

  const TempDir dir;
  Owned<KVStore> kv;
  Owned<KVStore> other;

 private:
  int next_ = 0;
};

TEST_F(CNoMemoryWrites, OfAPlainValue) {
  open();
  starve_writes("value", [&](const std::string& key) { return put(kv.get(), key, "value"); });
}

TEST_F(CNoMemoryWrites, WithADeadlineTheFirstOfItsFamilyIncluded) {
  open();
  const int64_t deadline_ms = kvstore_now_ms() + kHourMs;
  starve_writes("value", [&](const std::string& key) { return put(kv.get(), key, "value", deadline_ms); });
}

TEST_F(CNoMemoryWrites, OfAValueThatNeedsABlockOfItsOwn) {
  open();
  const std::string large(400'000, 'v');
  const int stops = starve_writes(large, [&](const std::string& key) { return put(kv.get(), key, large); });
  EXPECT_GT(stops, 0) << "no case where the journal had it and the buffer had not";
}

TEST_F(CNoMemoryWrites, WhoseCommitEndsTheTransactionInAnyCase) {
  open();
  const std::string large(400'000, 'v');
  starve_writes(large, [&](const std::string& key) {
    if (const int code = kvstore_begin(kv.get(), 1); code != KVSTORE_OK) return code;
    const int put_code = put(kv.get(), key, large);
    const int code = kvstore_commit(kv.get());
    return put_code == KVSTORE_OK ? code : put_code;
  });
}

TEST_F(CNoMemoryWrites, InATransactionThatGoesOn) {
  open();
  const int64_t deadline_ms = kvstore_now_ms() + kHourMs;
  for (int allowed = 0; allowed < 1000; ++allowed) {
    ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 1));
    ASSERT_EQ(KVSTORE_OK, put(kv.get(), "before", std::to_string(allowed)));
    const Starvation starvation(allowed);
    const int code = put(kv.get(), "starved", "value", deadline_ms + allowed);
    const bool enough = Starvation::ended_with_some_left();
    EXPECT_TRUE(code == KVSTORE_OK || code == KVSTORE_NOMEM) << code << " with " << allowed;
    ASSERT_EQ(KVSTORE_OK, kvstore_commit(kv.get()));
    EXPECT_EQ(std::to_string(allowed), get(kv.get(), "before"));
    EXPECT_EQ(KVSTORE_OK, kvstore_integrity_check(kv.get(), nullptr))
        << "with " << allowed << ": " << kvstore_errmsg(kv.get());
    if (enough) {
      EXPECT_EQ("value", get(other.get(), "starved"));
      return;
    }
  }
  FAIL() << "never enough";
}

TEST_F(CNoMemoryWrites, FamiliesThatAreCreated) {
  open();
  for (int allowed = 0; allowed < 1000; ++allowed) {
    const std::string name = numbered(allowed);
    KVColumnFamily* cf = nullptr;
    const Starvation starvation(allowed);
    const int code = kvstore_cf_create(kv.get(), name.c_str(), &cf);
    const bool enough = Starvation::ended_with_some_left();
    EXPECT_EQ(code == KVSTORE_OK, cf != nullptr);
    EXPECT_TRUE(code == KVSTORE_OK || code == KVSTORE_NOMEM) << code << " with " << allowed;
    if (cf != nullptr) {
      EXPECT_EQ(KVSTORE_OK, put(cf, "key", "value"));
    }
    kvstore_cf_close(cf);
    EXPECT_EQ(KVSTORE_OK, put(other.get(), "probe", "value"));
    EXPECT_EQ(KVSTORE_OK, kvstore_integrity_check(kv.get(), nullptr))
        << "with " << allowed << ": " << kvstore_errmsg(kv.get());
    if (enough) return;
  }
  FAIL() << "never enough";
}

}  // namespace
}  // namespace lapse
