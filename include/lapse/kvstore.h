/* kvstore.h: Lapse for C. The interface of SNKV, complete, and below it what else Lapse can do.
 *
 *   #include "kvstore.h"
 *
 *   KVStore* db = NULL;
 *   if (kvstore_open("my.db", &db, KVSTORE_JOURNAL_WAL) != KVSTORE_OK) return fail(kvstore_errmsg(NULL));
 *
 *   kvstore_put_ttl(db, "session:42", 10, "ada", 3, kvstore_now_ms() + 1800000);
 *
 *   void* who = NULL;
 *   int length = 0;
 *   if (kvstore_get(db, "session:42", 10, &who, &length) == KVSTORE_OK) {
 *     greet(who, length);
 *     snkv_free(who);
 *   }
 *   kvstore_close(db);
 *
 * What holds for every call:
 *
 *  - It returns KVSTORE_OK, or a code that says what to do, and kvstore_errmsg() says what happened. A call that failed
 *    has changed nothing (a purge: nothing in the batch of 256 keys at which it failed), and its outputs are 0 and NULL.
 *    Only a write that is KVSTORE_UNKNOWN or KVSTORE_NOMEM may have been made after all, but then as a whole. No C++
 *    exception comes out of any.
 *  - A NULL handle, a NULL pointer or a negative length is KVSTORE_ERROR. Pointers that may be NULL are marked "or NULL".
 *  - Keys are up to 64 KiB, values up to 1 GiB less 1 KiB, any bytes; a length of 0 is an ordinary key or value.
 *  - Times are milliseconds since 1970. A key with deadline D is visible at time t if and only if t < D: from then on every
 *    call takes it for absent, whether it has been removed or not. What is removed when is in docs/semantics.md.
 *  - What a call hands out as void**, char** or char*** is the caller's, to be freed with snkv_free().
 *
 * Threads: a KVStore, its families and snapshots may be used by any number of threads at once; outside of transactions
 * readers wait for nobody. An iterator is for one thread at a time. Closing is for when all others are done.
 *
 * Processes: several handles on one file in one process work, each with its own transaction; they share what the first
 * one's config says about durability. A second process gets KVSTORE_BUSY. After fork() the child's handles are
 * KVSTORE_ERROR; it may only close them, which gives no memory back.
 *
 * The files are Lapse's own. SNKV's files are in the format of SQLite: kvstore_open() refuses them, and says so.
 */

#ifndef LAPSE_KVSTORE_H
#define LAPSE_KVSTORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): the names are SNKV's */

typedef struct KVStore KVStore;
typedef struct KVColumnFamily KVColumnFamily;
typedef struct KVIterator KVIterator;

/* ------------------------------------------------------------------------------------------ result codes */

#define KVSTORE_OK 0
#define KVSTORE_ERROR 1    /* the call is wrong, or the disk is full or failing: errmsg tells */
#define KVSTORE_BUSY 5     /* another transaction or process is there: try again later */
#define KVSTORE_LOCKED 6   /* cannot be done while this handle has a transaction open: end it first */
#define KVSTORE_NOMEM 7    /* out of memory */
#define KVSTORE_READONLY 8 /* a write on a read-only handle, or in a read transaction */
/* The disk did not confirm what was written: after a reopen, which all further writes need, it is there as a whole or not
 * at all. SNKV has no such code; the number is that of SQLite's for a failing disk. */
#define KVSTORE_UNKNOWN 10
#define KVSTORE_CORRUPT 11     /* bytes on disk are not what was written */
#define KVSTORE_NOTFOUND 12    /* no such key, no such family (dropped, perhaps), no such file */
#define KVSTORE_AUTH_FAILED 13 /* never: there is no encryption */
#define KVSTORE_PROTOCOL 15    /* never: a lock protocol of SQLite's */

/* ----------------------------------------------------------------------------------------------- opening */

#define KVSTORE_JOURNAL_DELETE 0
#define KVSTORE_JOURNAL_WAL 1

#define KVSTORE_SYNC_OFF 0
#define KVSTORE_SYNC_NORMAL 1
#define KVSTORE_SYNC_FULL 2

/* A zeroed config, and a NULL one, mean the defaults. So does each field that is 0. */
typedef struct KVStoreConfig {
  int journalMode; /* no meaning here: there is always a journal */
  /* KVSTORE_SYNC_NORMAL, the default: a commit that returned survives kill -9. _FULL: a power cut too.
   * _OFF is 0, which a zeroed config must not take for a wish: it is NORMAL, which costs no more. */
  int syncLevel;
  int cacheSize; /* no meaning here */
  int pageSize;  /* no meaning here */
  int readOnly;  /* not 0: every write is KVSTORE_READONLY, and an absent file is KVSTORE_NOTFOUND */
  /* How many milliseconds to wait for the transaction of another handle before a call is KVSTORE_BUSY. 0, the default:
   * not at all, beyond the moment (50 ms at most) that single operations of other threads may need to end. A thread
   * that would wait for a transaction of its own is told so at once. */
  int busyTimeout;
  int walSizeLimit;   /* no meaning here */
  int allowEncrypted; /* no meaning here */
  int fullMutex;      /* no meaning here: handles are for many threads in any case */
} KVStoreConfig;

/* Opens the store at `path`, and creates it if it is not there. A NULL path, or ":memory:", gives a new store in memory
 * that is gone when it is closed. On failure *out is NULL, and kvstore_errmsg(NULL) says why. */
int kvstore_open(const char* path /* or NULL */, KVStore** out, int journal_mode);
int kvstore_open_v2(const char* path /* or NULL */, KVStore** out, const KVStoreConfig* config /* or NULL */);

/* Rolls an open transaction back, ends the handle's iterators and snapshots, and frees it, whatever it returns: an error
 * says that the last commits may not survive a power cut. Families, iterators and snapshots that are still around answer
 * KVSTORE_ERROR from then on, and have yet to be closed. */
int kvstore_close(KVStore* kv);

/* What went wrong: in this thread's latest call on this handle that failed; if this thread's latest failure was elsewhere,
 * in anyone's. "no error" if none did. Of NULL: in this thread's latest open that failed, or call that got a NULL handle.
 * Good until this thread next calls kvstore_errmsg(), or a call of its fails. Never NULL. */
const char* kvstore_errmsg(KVStore* kv /* or NULL */);

/* --------------------------------------------------------------------------------------- column families */

/* Names are 1 to 255 bytes. Those that start with "__" are refused. The default family is called "default"; it is in the
 * list, can be opened, and cannot be dropped. While the handle has a transaction open, families are created and dropped in
 * it: others see that when it commits, and if it is rolled back, what is open of a family that it created answers
 * KVSTORE_NOTFOUND from then on. Each *out is to be closed, also that of the default family. */
int kvstore_cf_create(KVStore* kv, const char* name,
                      KVColumnFamily** out);                              /* KVSTORE_ERROR if there is one */
int kvstore_cf_open(KVStore* kv, const char* name, KVColumnFamily** out); /* KVSTORE_NOTFOUND if not */
int kvstore_cf_get_default(KVStore* kv, KVColumnFamily** out);
/* With all that is in it. What other handles have open of it answers KVSTORE_NOTFOUND from then on. */
int kvstore_cf_drop(KVStore* kv, const char* name);
/* In name order. snkv_free() each of the names, and then the list. */
int kvstore_cf_list(KVStore* kv, char*** names, int* count);
void kvstore_cf_close(KVColumnFamily* cf /* or NULL */);

/* --------------------------------------------------------------------------------------- keys and values
 *
 * Each call exists twice: on a store, where it is about the default family, and on a family. While the handle has a
 * transaction open, it is made in that transaction. */

#define KVSTORE_NO_TTL ((int64_t)-1)

/* Writes, whatever was there. The key becomes permanent (or takes its family's default TTL), whatever it was. */
int kvstore_put(KVStore* kv, const void* key, int key_len, const void* value, int value_len);
int kvstore_cf_put(KVColumnFamily* cf, const void* key, int key_len, const void* value, int value_len);

/* With a deadline. One that has passed makes a key that is expired from the start. 0: as kvstore_put(). Below 0:
 * KVSTORE_ERROR. */
int kvstore_put_ttl(KVStore* kv, const void* key, int key_len, const void* value, int value_len,
                    int64_t expire_ms);
int kvstore_cf_put_ttl(KVColumnFamily* cf, const void* key, int key_len, const void* value, int value_len,
                       int64_t expire_ms);

/* *inserted: 1 if the key was absent, and so has been written; else 0. expire_ms as above. */
int kvstore_put_if_absent(KVStore* kv, const void* key, int key_len, const void* value, int value_len,
                          int64_t expire_ms, int* inserted /* or NULL */);
int kvstore_cf_put_if_absent(KVColumnFamily* cf, const void* key, int key_len, const void* value,
                             int value_len, int64_t expire_ms, int* inserted /* or NULL */);

/* KVSTORE_NOTFOUND if absent. A zero byte follows the value, so that text can be used as it is; it is not counted. */
int kvstore_get(KVStore* kv, const void* key, int key_len, void** value, int* value_len);
int kvstore_cf_get(KVColumnFamily* cf, const void* key, int key_len, void** value, int* value_len);

/* The same with the time left: KVSTORE_NO_TTL if the key is permanent. */
int kvstore_get_ttl(KVStore* kv, const void* key, int key_len, void** value, int* value_len,
                    int64_t* remaining_ms /* or NULL */);
int kvstore_cf_get_ttl(KVColumnFamily* cf, const void* key, int key_len, void** value, int* value_len,
                       int64_t* remaining_ms /* or NULL */);

/* The time left: KVSTORE_NO_TTL if the key is permanent. KVSTORE_NOTFOUND if it is absent or expired. */
int kvstore_ttl_remaining(KVStore* kv, const void* key, int key_len, int64_t* remaining_ms);
int kvstore_cf_ttl_remaining(KVColumnFamily* cf, const void* key, int key_len, int64_t* remaining_ms);

/* The same in seconds, of which a part counts as a whole one; -1 if the key is permanent. Here an expired key gives 0 for
 * as long as it has not been removed, and KVSTORE_NOTFOUND after that. */
int kvstore_ttl(KVStore* kv, const void* key, int key_len, int64_t* seconds);
int kvstore_cf_ttl(KVColumnFamily* cf, const void* key, int key_len, int64_t* seconds);

int kvstore_delete(KVStore* kv, const void* key, int key_len); /* KVSTORE_NOTFOUND if absent */
int kvstore_cf_delete(KVColumnFamily* cf, const void* key, int key_len);

int kvstore_exists(KVStore* kv, const void* key, int key_len, int* exists);
int kvstore_cf_exists(KVColumnFamily* cf, const void* key, int key_len, int* exists);

/* Removes the keys of the family whose deadlines have passed, at a cost that grows with them alone. Outside of a
 * transaction, 256 at a time, other writers let in between. Inside, all in the transaction, which stays open: what it
 * removed comes back, expired as it is, if the transaction is rolled back. */
int kvstore_purge_expired(KVStore* kv, int* deleted /* or NULL */);
int kvstore_cf_purge_expired(KVColumnFamily* cf, int* deleted /* or NULL */);

/* Forgets every key of the family, and its history. */
int kvstore_clear(KVStore* kv);
int kvstore_cf_clear(KVColumnFamily* cf);

int kvstore_count(KVStore* kv, int64_t* count);
int kvstore_cf_count(KVColumnFamily* cf, int64_t* count);

/* What the system's clock says. The store's own time is the same, but does not follow a leap of the clock at once. */
int64_t kvstore_now_ms(void);

/* --------------------------------------------------------------------------------------------- iterators
 *
 * An iterator sees the store as of its creation, expiry included. Created while a write transaction is open, it sees what
 * the transaction has written up to the iterator's latest move, and ends with the transaction: after that it is at its
 * end, and moves are KVSTORE_ERROR. It stands on its first key when created, and there need not be one: see _eof(). */

int kvstore_iterator_create(KVStore* kv, KVIterator** out);
int kvstore_cf_iterator_create(KVColumnFamily* cf, KVIterator** out);
int kvstore_prefix_iterator_create(KVStore* kv, const void* prefix, int prefix_len, KVIterator** out);
int kvstore_cf_prefix_iterator_create(KVColumnFamily* cf, const void* prefix, int prefix_len,
                                      KVIterator** out);
/* From the greatest key down. */
int kvstore_reverse_iterator_create(KVStore* kv, KVIterator** out);
int kvstore_cf_reverse_iterator_create(KVColumnFamily* cf, KVIterator** out);
int kvstore_reverse_prefix_iterator_create(KVStore* kv, const void* prefix, int prefix_len, KVIterator** out);
int kvstore_cf_reverse_prefix_iterator_create(KVColumnFamily* cf, const void* prefix, int prefix_len,
                                              KVIterator** out);

/* _first and _next are for iterators that go forward, _last and _prev for reverse ones; else they are KVSTORE_ERROR. A
 * move that finds no key is KVSTORE_OK and leaves the iterator at its end; from there _next and _prev are
 * KVSTORE_NOTFOUND. */
int kvstore_iterator_first(KVIterator* it);
int kvstore_iterator_last(KVIterator* it);
int kvstore_iterator_next(KVIterator* it);
int kvstore_iterator_prev(KVIterator* it);
/* To `key`, or to the first one beyond it in the iterator's direction, within its prefix. */
int kvstore_iterator_seek(KVIterator* it, const void* key, int key_len);
/* 1 at the end, also of NULL; else 0. */
int kvstore_iterator_eof(KVIterator* it);
/* Not to be freed: good until the iterator moves, ends or is closed. KVSTORE_ERROR at the end. */
int kvstore_iterator_key(KVIterator* it, void** key, int* key_len);
int kvstore_iterator_value(KVIterator* it, void** value, int* value_len);
void kvstore_iterator_close(KVIterator* it /* or NULL */);

/* ------------------------------------------------------------------------------------------ transactions
 *
 * A handle has one transaction at a time, and it is the handle's, not the thread's: single operations on the handle and
 * its families take part in it, whichever thread makes them, one after the other. Threads that want transactions of
 * their own open handles of their own. An operation that fails undoes itself and leaves the transaction as it was;
 * meeting an expired key never ends it. */

/* `write` not 0: KVSTORE_BUSY if another handle's transaction stays open for busyTimeout. `write` 0: reads see one moment,
 * writes are KVSTORE_READONLY, and nobody is kept waiting. KVSTORE_ERROR if this handle has one open. */
int kvstore_begin(KVStore* kv, int write);
/* All of it takes effect, or, if this fails, nothing (KVSTORE_UNKNOWN, KVSTORE_NOMEM: one or the other); the transaction
 * has ended in any case. KVSTORE_ERROR if there is none. */
int kvstore_commit(KVStore* kv);
int kvstore_rollback(KVStore* kv);

/* ------------------------------------------------------------------------------------------- maintenance */

/* Since the handle was opened, or since kvstore_stats_reset(). A call counts each key that it wrote, deleted or was asked
 * the value of; clearing, dropping and purging delete nothing, and iterators get nothing. */
typedef struct KVStoreStats {
  uint64_t nPuts;         /* keys written */
  uint64_t nGets;         /* gets answered, also those that found nothing */
  uint64_t nDeletes;      /* keys deleted */
  uint64_t nIterations;   /* iterators created */
  uint64_t nErrors;       /* calls that returned neither KVSTORE_OK nor KVSTORE_NOTFOUND */
  uint64_t nBytesRead;    /* of values that gets handed out */
  uint64_t nBytesWritten; /* of keys and values written, but for those restored */
  uint64_t nWalCommits;   /* commits, by all handles on the file */
  uint64_t nCheckpoints;  /* by kvstore_checkpoint() */
  uint64_t nTtlExpired;   /* reads that met an expired key, by all handles on the file */
  uint64_t nTtlPurged;    /* keys removed by the purging calls */
  uint64_t nDbPages;      /* the file's size in pages of 4096 bytes, now */
} KVStoreStats;

int kvstore_stats(KVStore* kv, KVStoreStats* stats);
int kvstore_stats_reset(KVStore* kv);

/* Reads and checks everything that is committed. KVSTORE_CORRUPT: *message says what is wrong where. Else it is NULL. */
int kvstore_integrity_check(KVStore* kv, char** message /* or NULL */);

/* Returns when everything committed so far survives a power cut. */
int kvstore_sync(KVStore* kv);

/* Accepted, and does nothing: free pages are used again and need no vacuum. Below 0 pages: KVSTORE_ERROR. */
int kvstore_incremental_vacuum(KVStore* kv, int pages);

#define KVSTORE_CHECKPOINT_PASSIVE 0
#define KVSTORE_CHECKPOINT_FULL 1
#define KVSTORE_CHECKPOINT_RESTART 2
#define KVSTORE_CHECKPOINT_TRUNCATE 3

/* Brings every commit from the journal into the main file; all modes do the same. *log_pages, *done_pages: how much that
 * was, in pages of 4096 bytes. KVSTORE_LOCKED while this handle has a transaction open. */
int kvstore_checkpoint(KVStore* kv, int mode, int* log_pages /* or NULL */, int* done_pages /* or NULL */);

/* ------------------------------------------------------------------------------------------------ memory */

void* snkv_malloc(size_t bytes); /* NULL if there is none */
void snkv_free(void* memory /* or NULL */);

/* The older name of snkv_free(). Here only, and not in the library, where it would be in the way of SQLite's own; a macro, so
 * that programs may also declare it themselves. A program that uses SQLite as well includes sqlite3.h first, or defines
 * KVSTORE_NO_SQLITE3_FREE: else it would free SQLite's memory by snkv_free(). */
#if !defined(SQLITE3_H) && !defined(KVSTORE_NO_SQLITE3_FREE)
#define sqlite3_free snkv_free
#endif

/* ============================================================================================ beyond SNKV
 *
 * The same shape, for what else Lapse can do. */

/* Removes at most `limit` of the keys that are due, those due longest first. *more: 1 if more are due. */
int kvstore_purge_expired_limit(KVStore* kv, int limit, int* deleted /* or NULL */, int* more /* or NULL */);
int kvstore_cf_purge_expired_limit(KVColumnFamily* cf, int limit, int* deleted /* or NULL */,
                                   int* more /* or NULL */);

/* Changes the deadline, not the value. One that has passed ends the key now. KVSTORE_NOTFOUND if the key is absent,
 * KVSTORE_ERROR if expire_ms is not above 0. */
int kvstore_expire(KVStore* kv, const void* key, int key_len, int64_t expire_ms);
int kvstore_cf_expire(KVColumnFamily* cf, const void* key, int key_len, int64_t expire_ms);
/* Makes the key permanent, if it is not so already. KVSTORE_NOTFOUND if it is absent. */
int kvstore_persist(KVStore* kv, const void* key, int key_len);
int kvstore_cf_persist(KVColumnFamily* cf, const void* key, int key_len);

/* Adds `by` to a value that is a decimal integer; an absent key counts as 0, and is created with expire_ms as in
 * kvstore_put_ttl(); one that is there keeps its deadline. KVSTORE_ERROR if the value is no integer, or the sum is beyond
 * 64 bits. */
int kvstore_increment(KVStore* kv, const void* key, int key_len, int64_t by, int64_t expire_ms,
                      int64_t* sum /* or NULL */);
int kvstore_cf_increment(KVColumnFamily* cf, const void* key, int key_len, int64_t by, int64_t expire_ms,
                         int64_t* sum /* or NULL */);

/* *swapped: 1 if the key held exactly `expected`, and so has been written; else 0. An absent key never matches. */
int kvstore_compare_and_set(KVStore* kv, const void* key, int key_len, const void* expected, int expected_len,
                            const void* value, int value_len, int64_t expire_ms, int* swapped /* or NULL */);
int kvstore_cf_compare_and_set(KVColumnFamily* cf, const void* key, int key_len, const void* expected,
                               int expected_len, const void* value, int value_len, int64_t expire_ms,
                               int* swapped /* or NULL */);
/* *deleted: 1 if the key held exactly `expected`, and so has been deleted; else 0. */
int kvstore_compare_and_delete(KVStore* kv, const void* key, int key_len, const void* expected,
                               int expected_len, int* deleted /* or NULL */);
int kvstore_cf_compare_and_delete(KVColumnFamily* cf, const void* key, int key_len, const void* expected,
                                  int expected_len, int* deleted /* or NULL */);

/* A family's policies. All zero: none. They are stored with the family. */
typedef struct KVFamilyConfig {
  int history;              /* not 0: keys remember the values that they had */
  int historyKeepLast;      /* so many of each key, the present one included; 0: any number */
  int64_t historyKeepForMs; /* as long as this after they ended; 0: for ever */
  int64_t defaultTtlMs;     /* for keys written without a deadline; 0: none */
  int64_t maxTtlMs;         /* cuts lifetimes that are longer, permanent ones included; 0: no limit */
  int requireTtl;           /* not 0: what would be permanent is KVSTORE_ERROR */
  int counted;              /* not 0: kvstore_count() need not walk, and each write reads the key before it */
} KVFamilyConfig;

int kvstore_cf_create_v2(KVStore* kv, const char* name, const KVFamilyConfig* config /* or NULL */,
                         KVColumnFamily** out);
/* Changes the policies of a family, the default one included; not in a transaction (KVSTORE_LOCKED). */
int kvstore_cf_configure(KVStore* kv, const char* name, const KVFamilyConfig* config);

/* The value that was visible at `at_ms`; KVSTORE_NOTFOUND if there was none, KVSTORE_ERROR in a family without history and
 * for a time in the future. */
int kvstore_get_at(KVStore* kv, const void* key, int key_len, int64_t at_ms, void** value, int* value_len);
int kvstore_cf_get_at(KVColumnFamily* cf, const void* key, int key_len, int64_t at_ms, void** value,
                      int* value_len);

#define KVSTORE_ENDING_NONE 0 /* it has not ended: it is the present value */
#define KVSTORE_ENDING_OVERWRITTEN 1
#define KVSTORE_ENDING_DELETED 2
#define KVSTORE_ENDING_EXPIRED 3

/* One value that a key had. It was visible from written_ms until ended_ms. */
typedef struct KVRevision {
  uint64_t revision; /* the number of the commit that wrote it; 0: from before the family had history */
  int64_t written_ms;
  int64_t ended_ms;  /* KVSTORE_NO_TTL: not yet */
  int64_t expire_ms; /* its deadline, or KVSTORE_NO_TTL */
  int ending;        /* KVSTORE_ENDING_… */
  int value_len;
  const void* value;
} KVRevision;

/* Every value that is kept, newest first. One snkv_free(*revisions) frees all of it. A key that never was has 0 of them,
 * and KVSTORE_OK. */
int kvstore_history(KVStore* kv, const void* key, int key_len, KVRevision** revisions, int* count);
int kvstore_cf_history(KVColumnFamily* cf, const void* key, int key_len, KVRevision** revisions, int* count);

/* Writes the value that was visible at `at_ms` again, as kvstore_put_ttl() would; KVSTORE_NOTFOUND if there was none. */
int kvstore_restore(KVStore* kv, const void* key, int key_len, int64_t at_ms, int64_t expire_ms);
int kvstore_cf_restore(KVColumnFamily* cf, const void* key, int key_len, int64_t at_ms, int64_t expire_ms);

/* A moment that stays: reads see what was committed when it was taken, and what was expired then. It keeps disk space
 * from being used again, so it is not for days. */
typedef struct KVSnapshot KVSnapshot;

int kvstore_snapshot_create(KVStore* kv, KVSnapshot** out);
/* The store as it was at `at_ms`, as far as its families keep history; in others reads are KVSTORE_ERROR. */
int kvstore_snapshot_create_at(KVStore* kv, int64_t at_ms, KVSnapshot** out);
/* `cf`: which family to read, of the snapshot's own handle or another one on the same file; NULL: the default one. */
int kvstore_snapshot_get(KVSnapshot* snapshot, KVColumnFamily* cf /* or NULL */, const void* key, int key_len,
                         void** value, int* value_len);
int kvstore_snapshot_exists(KVSnapshot* snapshot, KVColumnFamily* cf /* or NULL */, const void* key,
                            int key_len, int* exists);
int kvstore_snapshot_count(KVSnapshot* snapshot, KVColumnFamily* cf /* or NULL */, int64_t* count);
/* `reverse` not 0: from the greatest key down. The iterator may outlive the snapshot. */
int kvstore_snapshot_iterator_create(KVSnapshot* snapshot, KVColumnFamily* cf /* or NULL */,
                                     const void* prefix /* or NULL */, int prefix_len, int reverse,
                                     KVIterator** out);
int kvstore_snapshot_now_ms(KVSnapshot* snapshot, int64_t* now_ms);
void kvstore_snapshot_close(KVSnapshot* snapshot /* or NULL */);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* LAPSE_KVSTORE_H */
