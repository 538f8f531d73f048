/* The interface as a C99 program meets it: every constant, every type, and each function of SNKV's once. What they
 * promise is tested by the *_test.cc beside this file. */
#include <stdio.h>
#include <string.h>

#include "kvstore.h"

void free_by_its_older_name(void* memory); /* c99_older_name.c */

static int failures = 0;

static void fail(int line, const char* condition) {
  fprintf(stderr, "%s:%d: %s\n", __FILE__, line, condition);
  ++failures;
}

#define CHECK(condition) ((condition) ? (void)0 : fail(__LINE__, #condition))
#define OK(call) CHECK((call) == KVSTORE_OK)

static void constants(void) {
  CHECK(KVSTORE_OK == 0 && KVSTORE_ERROR == 1 && KVSTORE_BUSY == 5 && KVSTORE_LOCKED == 6);
  CHECK(KVSTORE_NOMEM == 7 && KVSTORE_READONLY == 8 && KVSTORE_CORRUPT == 11 && KVSTORE_NOTFOUND == 12);
  CHECK(KVSTORE_AUTH_FAILED == 13 && KVSTORE_PROTOCOL == 15 && KVSTORE_UNKNOWN == 10);
  CHECK(KVSTORE_JOURNAL_DELETE == 0 && KVSTORE_JOURNAL_WAL == 1);
  CHECK(KVSTORE_SYNC_OFF == 0 && KVSTORE_SYNC_NORMAL == 1 && KVSTORE_SYNC_FULL == 2);
  CHECK(KVSTORE_CHECKPOINT_PASSIVE == 0 && KVSTORE_CHECKPOINT_FULL == 1);
  CHECK(KVSTORE_CHECKPOINT_RESTART == 2 && KVSTORE_CHECKPOINT_TRUNCATE == 3);
  CHECK(KVSTORE_NO_TTL == (int64_t)-1);
}

static void layouts(void) {
  const KVStoreConfig config = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const KVStoreStats stats = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  CHECK(config.journalMode == 1 && config.syncLevel == 2 && config.cacheSize == 3 && config.pageSize == 4);
  CHECK(config.readOnly == 5 && config.busyTimeout == 6 && config.walSizeLimit == 7);
  CHECK(config.allowEncrypted == 8 && config.fullMutex == 9);
  CHECK(stats.nPuts == 1 && stats.nGets == 2 && stats.nDeletes == 3 && stats.nIterations == 4);
  CHECK(stats.nErrors == 5 && stats.nBytesRead == 6 && stats.nBytesWritten == 7 && stats.nWalCommits == 8);
  CHECK(stats.nCheckpoints == 9 && stats.nTtlExpired == 10 && stats.nTtlPurged == 11 && stats.nDbPages == 12);
}

static void keys(KVStore* kv) {
  void* value = NULL;
  int length = 0, exists = 0, inserted = 0, deleted = 0;
  int64_t remaining = 0, seconds = 0, count = 0;
  const int64_t later = kvstore_now_ms() + 3600000;

  OK(kvstore_put(kv, "a", 1, "one", 3));
  OK(kvstore_get(kv, "a", 1, &value, &length));
  CHECK(length == 3 && strcmp((char*)value, "one") == 0);
  sqlite3_free(value);
  OK(kvstore_exists(kv, "a", 1, &exists));
  CHECK(exists == 1);
  OK(kvstore_put_if_absent(kv, "a", 1, "two", 3, 0, &inserted));
  CHECK(inserted == 0);
  OK(kvstore_put_ttl(kv, "b", 1, "two", 3, later));
  OK(kvstore_get_ttl(kv, "b", 1, &value, &length, &remaining));
  CHECK(remaining > 3000000 && remaining <= 3600000);
  snkv_free(value);
  OK(kvstore_ttl_remaining(kv, "a", 1, &remaining));
  CHECK(remaining == KVSTORE_NO_TTL);
  OK(kvstore_ttl(kv, "b", 1, &seconds));
  CHECK(seconds > 3000 && seconds <= 3600);
  OK(kvstore_purge_expired(kv, &deleted));
  CHECK(deleted == 0);
  OK(kvstore_count(kv, &count));
  CHECK(count == 2);
  OK(kvstore_delete(kv, "a", 1));
  CHECK(kvstore_delete(kv, "a", 1) == KVSTORE_NOTFOUND);
  OK(kvstore_clear(kv));
}

static void families(KVStore* kv) {
  KVColumnFamily *cf = NULL, *again = NULL, *standard = NULL;
  char** names = NULL;
  int count = 0, i = 0;
  OK(kvstore_cf_create(kv, "users", &cf));
  OK(kvstore_cf_open(kv, "users", &again));
  OK(kvstore_cf_get_default(kv, &standard));
  OK(kvstore_cf_put(cf, "a", 1, "one", 3));
  OK(kvstore_cf_delete(again, "a", 1));
  CHECK(kvstore_cf_delete(standard, "a", 1) == KVSTORE_NOTFOUND);
  OK(kvstore_cf_list(kv, &names, &count));
  CHECK(count == 2);
  for (i = 0; i < count; ++i) snkv_free(names[i]);
  snkv_free(names);
  kvstore_cf_close(standard);
  kvstore_cf_close(again);
  kvstore_cf_close(cf);
  OK(kvstore_cf_drop(kv, "users"));
}

static void iterators(KVStore* kv) {
  KVIterator* it = NULL;
  void* bytes = NULL;
  int length = 0, seen = 0;
  OK(kvstore_put(kv, "k1", 2, "x", 1));
  OK(kvstore_put(kv, "k2", 2, "y", 1));
  OK(kvstore_iterator_create(kv, &it));
  for (OK(kvstore_iterator_first(it)); !kvstore_iterator_eof(it); OK(kvstore_iterator_next(it))) ++seen;
  CHECK(seen == 2);
  kvstore_iterator_close(it);
  OK(kvstore_prefix_iterator_create(kv, "k", 1, &it));
  OK(kvstore_iterator_key(it, &bytes, &length));
  CHECK(length == 2 && memcmp(bytes, "k1", 2) == 0);
  OK(kvstore_iterator_seek(it, "k2", 2));
  OK(kvstore_iterator_value(it, &bytes, &length));
  CHECK(length == 1 && memcmp(bytes, "y", 1) == 0);
  kvstore_iterator_close(it);
  OK(kvstore_reverse_iterator_create(kv, &it));
  OK(kvstore_iterator_last(it));
  OK(kvstore_iterator_prev(it));
  kvstore_iterator_close(it);
  OK(kvstore_reverse_prefix_iterator_create(kv, "k", 1, &it));
  kvstore_iterator_close(it);
}

static void the_rest(KVStore* kv) {
  KVStoreStats stats;
  char* message = NULL;
  int log = -1, done = -1;
  void* memory = snkv_malloc(10);
  OK(kvstore_begin(kv, 1));
  OK(kvstore_put(kv, "in", 2, "x", 1));
  OK(kvstore_commit(kv));
  OK(kvstore_begin(kv, 0));
  OK(kvstore_rollback(kv));
  OK(kvstore_stats(kv, &stats));
  CHECK(stats.nPuts > 0);
  OK(kvstore_stats_reset(kv));
  OK(kvstore_integrity_check(kv, &message));
  CHECK(message == NULL);
  OK(kvstore_sync(kv));
  OK(kvstore_incremental_vacuum(kv, 0));
  OK(kvstore_checkpoint(kv, KVSTORE_CHECKPOINT_PASSIVE, &log, &done));
  CHECK(log >= 0 && done == log);
  CHECK(memory != NULL);
  snkv_free(memory);
  free_by_its_older_name(snkv_malloc(1));
}

int main(void) {
  KVStore* kv = NULL;
  constants();
  layouts();
  OK(kvstore_open(":memory:", &kv, KVSTORE_JOURNAL_WAL));
  if (kv == NULL) {
    fprintf(stderr, "%s\n", kvstore_errmsg(NULL));
    return 1;
  }
  CHECK(strcmp(kvstore_errmsg(kv), "no error") == 0);
  keys(kv);
  families(kv);
  iterators(kv);
  the_rest(kv);
  OK(kvstore_close(kv));
  return failures == 0 ? 0 : 1;
}
