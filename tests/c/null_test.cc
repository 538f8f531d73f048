// NULL handles, NULL pointers and negative lengths: an error in every call, a crash in none.

#include "c_store.h"

namespace lapse {
namespace {

// Every call that takes a handle, on a family and on a store.
TEST(CNull, HandlesOfStores) {
  void* value = nullptr;
  int n = 0;
  int64_t n64 = 0;
  char** names = nullptr;
  char* text = nullptr;
  KVColumnFamily* cf = nullptr;
  KVIterator* it = nullptr;
  KVSnapshot* snapshot = nullptr;
  KVRevision* revisions = nullptr;
  KVStoreStats counters;
  const KVFamilyConfig config = {};
  const int codes[] = {
      kvstore_close(nullptr),
      kvstore_cf_create(nullptr, "f", &cf),
      kvstore_cf_create_v2(nullptr, "f", nullptr, &cf),
      kvstore_cf_configure(nullptr, "f", &config),
      kvstore_cf_open(nullptr, "f", &cf),
      kvstore_cf_get_default(nullptr, &cf),
      kvstore_cf_drop(nullptr, "f"),
      kvstore_cf_list(nullptr, &names, &n),
      kvstore_put(nullptr, "k", 1, "v", 1),
      kvstore_put_ttl(nullptr, "k", 1, "v", 1, 0),
      kvstore_put_if_absent(nullptr, "k", 1, "v", 1, 0, &n),
      kvstore_get(nullptr, "k", 1, &value, &n),
      kvstore_get_ttl(nullptr, "k", 1, &value, &n, &n64),
      kvstore_ttl_remaining(nullptr, "k", 1, &n64),
      kvstore_ttl(nullptr, "k", 1, &n64),
      kvstore_delete(nullptr, "k", 1),
      kvstore_exists(nullptr, "k", 1, &n),
      kvstore_purge_expired(nullptr, &n),
      kvstore_purge_expired_limit(nullptr, 1, &n, &n),
      kvstore_clear(nullptr),
      kvstore_count(nullptr, &n64),
      kvstore_iterator_create(nullptr, &it),
      kvstore_prefix_iterator_create(nullptr, "k", 1, &it),
      kvstore_reverse_iterator_create(nullptr, &it),
      kvstore_reverse_prefix_iterator_create(nullptr, "k", 1, &it),
      kvstore_begin(nullptr, 1),
      kvstore_commit(nullptr),
      kvstore_rollback(nullptr),
      kvstore_stats(nullptr, &counters),
      kvstore_stats_reset(nullptr),
      kvstore_integrity_check(nullptr, &text),
      kvstore_sync(nullptr),
      kvstore_incremental_vacuum(nullptr, 0),
      kvstore_checkpoint(nullptr, 0, &n, &n),
      kvstore_expire(nullptr, "k", 1, 1),
      kvstore_persist(nullptr, "k", 1),
      kvstore_increment(nullptr, "k", 1, 1, 0, &n64),
      kvstore_compare_and_set(nullptr, "k", 1, "v", 1, "w", 1, 0, &n),
      kvstore_compare_and_delete(nullptr, "k", 1, "v", 1, &n),
      kvstore_get_at(nullptr, "k", 1, 1, &value, &n),
      kvstore_history(nullptr, "k", 1, &revisions, &n),
      kvstore_restore(nullptr, "k", 1, 1, 0),
      kvstore_snapshot_create(nullptr, &snapshot),
      kvstore_snapshot_create_at(nullptr, 1, &snapshot),
  };
  for (size_t i = 0; i < std::size(codes); ++i) EXPECT_EQ(KVSTORE_ERROR, codes[i]) << "call " << i;
  EXPECT_STREQ("the handle is NULL", kvstore_errmsg(nullptr));
}

TEST(CNull, HandlesOfFamiliesIteratorsAndSnapshots) {
  void* value = nullptr;
  int n = 0;
  int64_t n64 = 0;
  KVIterator* it = nullptr;
  KVRevision* revisions = nullptr;
  const int codes[] = {
      kvstore_cf_put(nullptr, "k", 1, "v", 1),
      kvstore_cf_put_ttl(nullptr, "k", 1, "v", 1, 0),
      kvstore_cf_put_if_absent(nullptr, "k", 1, "v", 1, 0, &n),
      kvstore_cf_get(nullptr, "k", 1, &value, &n),
      kvstore_cf_get_ttl(nullptr, "k", 1, &value, &n, &n64),
      kvstore_cf_ttl_remaining(nullptr, "k", 1, &n64),
      kvstore_cf_ttl(nullptr, "k", 1, &n64),
      kvstore_cf_delete(nullptr, "k", 1),
      kvstore_cf_exists(nullptr, "k", 1, &n),
      kvstore_cf_purge_expired(nullptr, &n),
      kvstore_cf_purge_expired_limit(nullptr, 1, &n, &n),
      kvstore_cf_clear(nullptr),
      kvstore_cf_count(nullptr, &n64),
      kvstore_cf_iterator_create(nullptr, &it),
      kvstore_cf_prefix_iterator_create(nullptr, "k", 1, &it),
      kvstore_cf_reverse_iterator_create(nullptr, &it),
      kvstore_cf_reverse_prefix_iterator_create(nullptr, "k", 1, &it),
      kvstore_cf_expire(nullptr, "k", 1, 1),
      kvstore_cf_persist(nullptr, "k", 1),
      kvstore_cf_increment(nullptr, "k", 1, 1, 0, &n64),
      kvstore_cf_compare_and_set(nullptr, "k", 1, "v", 1, "w", 1, 0, &n),
      kvstore_cf_compare_and_delete(nullptr, "k", 1, "v", 1, &n),
      kvstore_cf_get_at(nullptr, "k", 1, 1, &value, &n),
      kvstore_cf_history(nullptr, "k", 1, &revisions, &n),
      kvstore_cf_restore(nullptr, "k", 1, 1, 0),
      kvstore_iterator_first(nullptr),
      kvstore_iterator_last(nullptr),
      kvstore_iterator_next(nullptr),
      kvstore_iterator_prev(nullptr),
      kvstore_iterator_seek(nullptr, "k", 1),
      kvstore_iterator_key(nullptr, &value, &n),
      kvstore_iterator_value(nullptr, &value, &n),
      kvstore_snapshot_get(nullptr, nullptr, "k", 1, &value, &n),
      kvstore_snapshot_exists(nullptr, nullptr, "k", 1, &n),
      kvstore_snapshot_count(nullptr, nullptr, &n64),
      kvstore_snapshot_iterator_create(nullptr, nullptr, "k", 1, 0, &it),
      kvstore_snapshot_now_ms(nullptr, &n64),
  };
  for (size_t i = 0; i < std::size(codes); ++i) EXPECT_EQ(KVSTORE_ERROR, codes[i]) << "call " << i;
  EXPECT_EQ(1, kvstore_iterator_eof(nullptr));
  kvstore_iterator_close(nullptr);
  kvstore_cf_close(nullptr);
  kvstore_snapshot_close(nullptr);
}

// Every pointer that a call cannot do without, and every length.
TEST(CNull, PointersAndLengths) {
  const auto owned = open_store();
  KVStore* const kv = owned.get();
  const auto history = create_family(owned, "history", {.history = 1});
  put(kv, "k", "v");
  KVIterator* it = nullptr;
  ASSERT_EQ(KVSTORE_OK, kvstore_iterator_create(kv, &it));
  const Owned<KVIterator> iterator(it);
  KVSnapshot* moment = nullptr;
  ASSERT_EQ(KVSTORE_OK, kvstore_snapshot_create(kv, &moment));
  const Owned<KVSnapshot> snapshot(moment);
  void* value = nullptr;
  int n = 0;
  int64_t n64 = 0;
  char** names = nullptr;
  KVColumnFamily* cf = nullptr;
  KVIterator* none = nullptr;
  KVRevision* revisions = nullptr;
  const int codes[] = {
      kvstore_cf_create(kv, nullptr, &cf),
      kvstore_cf_create(kv, "f", nullptr),
      kvstore_cf_configure(kv, nullptr, nullptr),
      kvstore_cf_configure(kv, "default", nullptr),
      kvstore_cf_open(kv, nullptr, &cf),
      kvstore_cf_open(kv, "default", nullptr),
      kvstore_cf_get_default(kv, nullptr),
      kvstore_cf_drop(kv, nullptr),
      kvstore_cf_list(kv, nullptr, &n),
      kvstore_cf_list(kv, &names, nullptr),
      kvstore_put(kv, nullptr, 0, "v", 1),
      kvstore_put(kv, nullptr, 1, "v", 1),
      kvstore_put(kv, "k", -1, "v", 1),
      kvstore_put(kv, "k", 1, nullptr, 1),
      kvstore_put(kv, "k", 1, nullptr, 0),
      kvstore_put(kv, "k", 1, "v", -1),
      kvstore_put_ttl(kv, nullptr, 1, "v", 1, 0),
      kvstore_put_ttl(kv, "k", 1, nullptr, 1, 0),
      kvstore_put_if_absent(kv, nullptr, 1, "v", 1, 0, &n),
      kvstore_put_if_absent(kv, "k", 1, nullptr, 1, 0, &n),
      kvstore_get(kv, nullptr, 1, &value, &n),
      kvstore_get(kv, "k", -1, &value, &n),
      kvstore_get(kv, "k", 1, nullptr, &n),
      kvstore_get(kv, "k", 1, &value, nullptr),
      kvstore_get_ttl(kv, nullptr, 1, &value, &n, &n64),
      kvstore_get_ttl(kv, "k", 1, nullptr, &n, &n64),
      kvstore_get_ttl(kv, "k", 1, &value, nullptr, &n64),
      kvstore_ttl_remaining(kv, nullptr, 1, &n64),
      kvstore_ttl_remaining(kv, "k", 1, nullptr),
      kvstore_ttl(kv, nullptr, 1, &n64),
      kvstore_ttl(kv, "k", 1, nullptr),
      kvstore_delete(kv, nullptr, 1),
      kvstore_delete(kv, "k", -1),
      kvstore_exists(kv, nullptr, 1, &n),
      kvstore_exists(kv, "k", 1, nullptr),
      kvstore_count(kv, nullptr),
      kvstore_iterator_create(kv, nullptr),
      kvstore_prefix_iterator_create(kv, nullptr, 1, &none),
      kvstore_prefix_iterator_create(kv, "k", -1, &none),
      kvstore_prefix_iterator_create(kv, "k", 1, nullptr),
      kvstore_reverse_iterator_create(kv, nullptr),
      kvstore_reverse_prefix_iterator_create(kv, nullptr, 1, &none),
      kvstore_iterator_seek(it, nullptr, 1),
      kvstore_iterator_seek(it, "k", -1),
      kvstore_iterator_key(it, nullptr, &n),
      kvstore_iterator_key(it, &value, nullptr),
      kvstore_iterator_value(it, nullptr, &n),
      kvstore_iterator_value(it, &value, nullptr),
      kvstore_stats(kv, nullptr),
      kvstore_expire(kv, nullptr, 1, 1),
      kvstore_persist(kv, nullptr, 1),
      kvstore_increment(kv, nullptr, 1, 1, 0, &n64),
      kvstore_compare_and_set(kv, nullptr, 1, "v", 1, "w", 1, 0, &n),
      kvstore_compare_and_set(kv, "k", 1, nullptr, 1, "w", 1, 0, &n),
      kvstore_compare_and_set(kv, "k", 1, "v", 1, nullptr, 1, 0, &n),
      kvstore_compare_and_set(kv, "k", 1, "v", -1, "w", 1, 0, &n),
      kvstore_compare_and_delete(kv, nullptr, 1, "v", 1, &n),
      kvstore_compare_and_delete(kv, "k", 1, nullptr, 1, &n),
      kvstore_cf_get_at(history.get(), nullptr, 1, 1, &value, &n),
      kvstore_cf_get_at(history.get(), "k", 1, 1, nullptr, &n),
      kvstore_cf_get_at(history.get(), "k", 1, 1, &value, nullptr),
      kvstore_cf_history(history.get(), nullptr, 1, &revisions, &n),
      kvstore_cf_history(history.get(), "k", 1, nullptr, &n),
      kvstore_cf_history(history.get(), "k", 1, &revisions, nullptr),
      kvstore_cf_restore(history.get(), nullptr, 1, 1, 0),
      kvstore_snapshot_create(kv, nullptr),
      kvstore_snapshot_create_at(kv, 1, nullptr),
      kvstore_snapshot_get(moment, nullptr, nullptr, 1, &value, &n),
      kvstore_snapshot_get(moment, nullptr, "k", 1, nullptr, &n),
      kvstore_snapshot_get(moment, nullptr, "k", 1, &value, nullptr),
      kvstore_snapshot_exists(moment, nullptr, nullptr, 1, &n),
      kvstore_snapshot_exists(moment, nullptr, "k", 1, nullptr),
      kvstore_snapshot_count(moment, nullptr, nullptr),
      kvstore_snapshot_iterator_create(moment, nullptr, nullptr, 1, 0, &none),
      kvstore_snapshot_iterator_create(moment, nullptr, "k", -1, 0, &none),
      kvstore_snapshot_iterator_create(moment, nullptr, "k", 1, 0, nullptr),
      kvstore_snapshot_now_ms(moment, nullptr),
  };
  for (size_t i = 0; i < std::size(codes); ++i) EXPECT_EQ(KVSTORE_ERROR, codes[i]) << "call " << i;
  EXPECT_EQ(std::size(codes), stats(kv).nErrors);
  EXPECT_EQ("v", get(kv, "k")) << "nothing was changed";
  EXPECT_EQ(1, count(kv));
}

}  // namespace
}  // namespace lapse
