// What goes beyond SNKV: increment, compare-and-set, history, snapshots.

#include "c_store.h"

namespace lapse {
namespace {

TEST(CBeyond, Increment) {
  const auto kv = open_store();
  int64_t sum = 0;
  EXPECT_EQ(KVSTORE_OK, kvstore_increment(kv.get(), "n", 1, 5, kvstore_now_ms() + kHourMs, &sum));
  EXPECT_EQ(5, sum);
  EXPECT_EQ(KVSTORE_OK, kvstore_increment(kv.get(), "n", 1, -7, 0, &sum));
  EXPECT_EQ(-2, sum);
  EXPECT_EQ("-2", get(kv.get(), "n"));
  int64_t left = 0;
  EXPECT_EQ(KVSTORE_OK, kvstore_ttl_remaining(kv.get(), "n", 1, &left));
  EXPECT_GT(left, 0) << "it keeps its deadline";
  EXPECT_EQ(KVSTORE_OK, kvstore_increment(kv.get(), "n", 1, 1, 0, nullptr));
  put(kv.get(), "text", "abc");
  EXPECT_EQ(KVSTORE_ERROR, kvstore_increment(kv.get(), "text", 4, 1, 0, &sum));
  EXPECT_EQ(KVSTORE_ERROR, kvstore_increment(kv.get(), "n", 1, INT64_MIN, 0, &sum)) << "beyond 64 bits";
  EXPECT_EQ(KVSTORE_ERROR, kvstore_increment(kv.get(), "n", 1, 1, -1, &sum));
  EXPECT_EQ(0, sum);
  EXPECT_EQ("-1", get(kv.get(), "n"));
  put(kv.get(), "expired", "100", kvstore_now_ms() - 1000);
  EXPECT_EQ(KVSTORE_OK, kvstore_increment(kv.get(), "expired", 7, 1, 0, &sum));
  EXPECT_EQ(1, sum);
}

TEST(CBeyond, CompareAndSet) {
  const auto kv = open_store();
  int swapped = -1;
  EXPECT_EQ(KVSTORE_OK, kvstore_compare_and_set(kv.get(), "k", 1, "", 0, "v", 1, 0, &swapped));
  EXPECT_EQ(0, swapped) << "an absent key never matches";
  put(kv.get(), "k", "a");
  EXPECT_EQ(KVSTORE_OK, kvstore_compare_and_set(kv.get(), "k", 1, "b", 1, "c", 1, 0, &swapped));
  EXPECT_EQ(0, swapped);
  EXPECT_EQ(KVSTORE_OK,
            kvstore_compare_and_set(kv.get(), "k", 1, "a", 1, "b", 1, kvstore_now_ms() + kHourMs, &swapped));
  EXPECT_EQ(1, swapped);
  EXPECT_EQ("b", get(kv.get(), "k"));
  int64_t left = 0;
  EXPECT_EQ(KVSTORE_OK, kvstore_ttl_remaining(kv.get(), "k", 1, &left));
  EXPECT_GT(left, 0);
  EXPECT_EQ(KVSTORE_OK, kvstore_compare_and_set(kv.get(), "k", 1, "b", 1, "c", 1, 0, nullptr));
  EXPECT_EQ("c", get(kv.get(), "k"));
}

TEST(CBeyond, CompareAndDelete) {
  const auto kv = open_store();
  put(kv.get(), "k", "a");
  int deleted = -1;
  EXPECT_EQ(KVSTORE_OK, kvstore_compare_and_delete(kv.get(), "k", 1, "b", 1, &deleted));
  EXPECT_EQ(0, deleted);
  EXPECT_EQ(KVSTORE_OK, kvstore_compare_and_delete(kv.get(), "k", 1, "a", 1, &deleted));
  EXPECT_EQ(1, deleted);
  EXPECT_EQ(kNotFound, get(kv.get(), "k"));
  EXPECT_EQ(KVSTORE_OK, kvstore_compare_and_delete(kv.get(), "k", 1, "a", 1, nullptr));
}

TEST(CBeyond, InATransaction) {
  const auto kv = open_store();
  put(kv.get(), "k", "a");
  put(kv.get(), "n", "1");
  ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 1));
  int64_t sum = 0;
  int swapped = 0;
  EXPECT_EQ(KVSTORE_OK, kvstore_increment(kv.get(), "n", 1, 1, 0, &sum));
  EXPECT_EQ(KVSTORE_OK, kvstore_increment(kv.get(), "n", 1, 1, 0, &sum));
  EXPECT_EQ(3, sum);
  EXPECT_EQ(KVSTORE_OK, kvstore_compare_and_set(kv.get(), "k", 1, "a", 1, "b", 1, 0, &swapped));
  EXPECT_EQ(KVSTORE_OK, kvstore_expire(kv.get(), "k", 1, kvstore_now_ms() + kHourMs));
  EXPECT_EQ(KVSTORE_OK, kvstore_persist(kv.get(), "k", 1));
  ASSERT_EQ(KVSTORE_OK, kvstore_rollback(kv.get()));
  EXPECT_EQ("1", get(kv.get(), "n"));
  EXPECT_EQ("a", get(kv.get(), "k"));
}

// ------------------------------------------------------------------------------------------- history

class CHistory : public testing::Test {
 protected:
  std::string get_at(int64_t at_ms) {
    void* value = nullptr;
    int size = 0;
    const int code = kvstore_cf_get_at(docs.get(), "k", 1, at_ms, &value, &size);
    return taken(code, value, size);
  }
  // "two none", newest first: values and how they ended.
  std::string history(std::vector<KVRevision>* all = nullptr) {
    KVRevision* revisions = nullptr;
    int size = -1;
    EXPECT_EQ(KVSTORE_OK, kvstore_cf_history(docs.get(), "k", 1, &revisions, &size));
    std::string text;
    const char* const endings[] = {"none", "overwritten", "deleted", "expired"};
    for (int i = 0; i < size; ++i) {
      text += (i == 0 ? "" : ", ") +
              std::string(static_cast<const char*>(revisions[i].value),
                          static_cast<size_t>(revisions[i].value_len)) +
              " " + endings[revisions[i].ending];
      if (all != nullptr) all->push_back(revisions[i]);  // but for the value
    }
    snkv_free(revisions);
    return text;
  }
  // A moment after all that was written, and before all that will be. The store's clock may be a little behind the
  // system's, so the time goes on around it.
  static int64_t next_moment() {
    const int64_t now = kvstore_now_ms();
    while (kvstore_now_ms() <= now + 40) {
    }
    return now + 20;
  }

  const Owned<KVStore> kv = open_store();
  const Owned<KVColumnFamily> docs = create_family(kv, "docs", {.history = 1, .historyKeepLast = 3});
};

TEST_F(CHistory, ValuesOfThePast) {
  EXPECT_EQ("", history());
  put(docs.get(), "k", "one");
  const int64_t at_one = next_moment();
  put(docs.get(), "k", "two", kvstore_now_ms() + kHourMs);
  const int64_t at_two = next_moment();
  kvstore_cf_delete(docs.get(), "k", 1);
  const int64_t at_none = next_moment();
  EXPECT_EQ("one", get_at(at_one));
  EXPECT_EQ("two", get_at(at_two));
  EXPECT_EQ(kNotFound, get_at(at_none));
  EXPECT_EQ(kNotFound, get_at(1));
  EXPECT_EQ(kError, get_at(kvstore_now_ms() + kHourMs)) << "the future";
  std::vector<KVRevision> all;
  EXPECT_EQ("two deleted, one overwritten", history(&all));
  ASSERT_EQ(2U, all.size());
  EXPECT_GT(all[0].revision, all[1].revision);
  EXPECT_EQ(all[0].written_ms, all[1].ended_ms);
  EXPECT_GT(all[0].ended_ms, all[0].written_ms);
  EXPECT_GT(all[0].expire_ms, all[0].ended_ms);
  EXPECT_EQ(KVSTORE_NO_TTL, all[1].expire_ms);

  EXPECT_EQ(KVSTORE_OK, kvstore_cf_restore(docs.get(), "k", 1, at_one, 0));
  EXPECT_EQ("one", get(docs.get(), "k"));
  EXPECT_EQ(KVSTORE_NOTFOUND, kvstore_cf_restore(docs.get(), "k", 1, at_none, 0));
  all.clear();
  EXPECT_EQ("one none, two deleted, one overwritten", history(&all));
  EXPECT_EQ(KVSTORE_NO_TTL, all[0].ended_ms);
  next_moment();
  put(docs.get(), "k", "");
  EXPECT_EQ(" none, one overwritten, two deleted", history()) << "the newest three";
}

TEST_F(CHistory, OnTheDefaultFamily) {
  const KVFamilyConfig config = {.history = 1};
  void* value = nullptr;
  int size = 0;
  put(kv.get(), "k", "v");
  EXPECT_EQ(KVSTORE_ERROR, kvstore_get_at(kv.get(), "k", 1, 1, &value, &size)) << "it keeps none";
  KVRevision* revisions = nullptr;
  EXPECT_EQ(KVSTORE_ERROR, kvstore_history(kv.get(), "k", 1, &revisions, &size));
  EXPECT_EQ(KVSTORE_ERROR, kvstore_restore(kv.get(), "k", 1, 1, 0));
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_configure(kv.get(), "default", &config));
  EXPECT_EQ(KVSTORE_OK, kvstore_history(kv.get(), "k", 1, &revisions, &size));
  EXPECT_EQ(1, size);
  snkv_free(revisions);
  EXPECT_EQ(KVSTORE_OK, kvstore_get_at(kv.get(), "k", 1, kvstore_now_ms() - 1000, &value, &size));
  EXPECT_EQ("v", taken(KVSTORE_OK, value, size));
  EXPECT_EQ(KVSTORE_OK, kvstore_restore(kv.get(), "k", 1, kvstore_now_ms() - 1000, 0));
}

// ------------------------------------------------------------------------------------------ snapshots

TEST_F(CHistory, SnapshotOfNow) {
  put(kv.get(), "a", "1");
  put(docs.get(), "k", "1");
  KVSnapshot* moment = nullptr;
  ASSERT_EQ(KVSTORE_OK, kvstore_snapshot_create(kv.get(), &moment));
  const Owned<KVSnapshot> snapshot(moment);
  put(kv.get(), "a", "2");
  put(kv.get(), "b", "2");
  put(docs.get(), "k", "2");
  void* value = nullptr;
  int size = 0;
  int64_t n = -1;
  int exists = -1;
  EXPECT_EQ(KVSTORE_OK, kvstore_snapshot_get(moment, nullptr, "a", 1, &value, &size));
  EXPECT_EQ("1", taken(KVSTORE_OK, value, size));
  EXPECT_EQ(KVSTORE_OK, kvstore_snapshot_get(moment, docs.get(), "k", 1, &value, &size));
  EXPECT_EQ("1", taken(KVSTORE_OK, value, size));
  EXPECT_EQ(KVSTORE_NOTFOUND, kvstore_snapshot_get(moment, nullptr, "b", 1, &value, &size));
  EXPECT_EQ(KVSTORE_OK, kvstore_snapshot_exists(moment, nullptr, "b", 1, &exists));
  EXPECT_EQ(0, exists);
  EXPECT_EQ(KVSTORE_OK, kvstore_snapshot_count(moment, nullptr, &n));
  EXPECT_EQ(1, n);
  EXPECT_EQ(KVSTORE_OK, kvstore_snapshot_now_ms(moment, &n));
  EXPECT_LE(n, kvstore_now_ms());
}

TEST_F(CHistory, SnapshotOfThePast) {
  put(docs.get(), "k", "one");
  const int64_t then = next_moment();
  put(docs.get(), "k", "two");
  put(docs.get(), "l", "two");
  KVSnapshot* moment = nullptr;
  ASSERT_EQ(KVSTORE_OK, kvstore_snapshot_create_at(kv.get(), then, &moment));
  const Owned<KVSnapshot> snapshot(moment);
  KVIterator* it = nullptr;
  EXPECT_EQ(KVSTORE_OK, kvstore_snapshot_iterator_create(moment, docs.get(), nullptr, 0, 0, &it));
  EXPECT_EQ("k=one", walk(it));
  kvstore_iterator_close(it);
  void* value = nullptr;
  int size = 0;
  EXPECT_EQ(KVSTORE_ERROR, kvstore_snapshot_get(moment, nullptr, "k", 1, &value, &size))
      << "no history there";
  KVSnapshot* none = nullptr;
  EXPECT_EQ(KVSTORE_ERROR, kvstore_snapshot_create_at(kv.get(), kvstore_now_ms() + kHourMs, &none));
  EXPECT_EQ(nullptr, none);
}

TEST_F(CHistory, IteratorsOfASnapshotMayOutliveIt) {
  put(kv.get(), "a1", "1");
  put(kv.get(), "a2", "2");
  put(kv.get(), "b1", "3");
  KVSnapshot* moment = nullptr;
  ASSERT_EQ(KVSTORE_OK, kvstore_snapshot_create(kv.get(), &moment));
  KVIterator* up = nullptr;
  KVIterator* down = nullptr;
  EXPECT_EQ(KVSTORE_OK, kvstore_snapshot_iterator_create(moment, nullptr, nullptr, 0, 0, &up));
  EXPECT_EQ(KVSTORE_OK, kvstore_snapshot_iterator_create(moment, nullptr, "a", 1, 1, &down));
  kvstore_snapshot_close(moment);
  kvstore_clear(kv.get());
  EXPECT_EQ("a1=1 a2=2 b1=3", walk(up));
  EXPECT_EQ("a2=2 a1=1", walk(down, true));
  kvstore_iterator_close(up);
  kvstore_iterator_close(down);
}

TEST(CSnapshot, FamiliesOfOtherStoresAreRefused) {
  const auto kv = open_store();
  const auto other = open_store();
  const auto family = create_family(other, "f");
  KVSnapshot* moment = nullptr;
  ASSERT_EQ(KVSTORE_OK, kvstore_snapshot_create(kv.get(), &moment));
  const Owned<KVSnapshot> snapshot(moment);
  void* value = nullptr;
  int size = 0;
  EXPECT_EQ(KVSTORE_ERROR, kvstore_snapshot_get(moment, family.get(), "k", 1, &value, &size));
}

}  // namespace
}  // namespace lapse
