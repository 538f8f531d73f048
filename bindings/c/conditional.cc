// Writes that depend on what is there: increment, compare-and-set, compare-and-delete.

#include "bindings/c/call.h"

using namespace lapse::c;  // NOLINT(google-build-using-namespace): the functions below are in none

extern "C" {

int kvstore_cf_increment(KVColumnFamily* cf, const void* key, int key_len, int64_t by, int64_t expire_ms,
                         int64_t* sum) {
  clear_outputs(sum);
  return on_key(cf, key, key_len,
                [&](Handle& handle, lapse::Family& family, std::string_view name) -> Outcome {
                  lapse::IncrementOptions options;
                  KVSTORE_TRY(take_lifetime(expire_ms, &options.lifetime));
                  return handle.write(family, [&](lapse::Keyspace& keys) -> Outcome {
                    const lapse::Result<lapse::Increment> increment = keys.increment(name, by, options);
                    if (!increment.ok()) return increment.status();
                    handle.count_put(name.size() + std::to_string(increment->value).size());
                    set_if_given(sum, increment->value);
                    return {};
                  });
                });
}

int kvstore_cf_compare_and_set(KVColumnFamily* cf, const void* key, int key_len, const void* expected,
                               int expected_len, const void* value, int value_len, int64_t expire_ms,
                               int* swapped) {
  clear_outputs(swapped);
  return on_key(cf, key, key_len,
                [&](Handle& handle, lapse::Family& family, std::string_view name) -> Outcome {
                  std::string_view before;
                  std::string_view after;
                  lapse::Lifetime lifetime;
                  KVSTORE_TRY(take_bytes(expected, expected_len, "expected", &before));
                  KVSTORE_TRY(take_bytes(value, value_len, "value", &after));
                  KVSTORE_TRY(take_lifetime(expire_ms, &lifetime));
                  return handle.write(family, [&](lapse::Keyspace& keys) -> Outcome {
                    const lapse::Result<bool> set = keys.compare_and_set(name, before, after, lifetime);
                    if (!set.ok()) return set.status();
                    if (*set) handle.count_put(name.size() + after.size());
                    set_if_given(swapped, *set ? 1 : 0);
                    return {};
                  });
                });
}

int kvstore_cf_compare_and_delete(KVColumnFamily* cf, const void* key, int key_len, const void* expected,
                                  int expected_len, int* deleted) {
  clear_outputs(deleted);
  return on_key(cf, key, key_len,
                [&](Handle& handle, lapse::Family& family, std::string_view name) -> Outcome {
                  std::string_view before;
                  KVSTORE_TRY(take_bytes(expected, expected_len, "expected", &before));
                  return handle.write(family, [&](lapse::Keyspace& keys) -> Outcome {
                    const lapse::Result<bool> erased = keys.compare_and_erase(name, before);
                    if (!erased.ok()) return erased.status();
                    if (*erased) ++handle.counters().deletes;
                    set_if_given(deleted, *erased ? 1 : 0);
                    return {};
                  });
                });
}

// ------------------------------------------------------------------------------- on the default family

int kvstore_increment(KVStore* kv, const void* key, int key_len, int64_t by, int64_t expire_ms,
                      int64_t* sum) {
  return kvstore_cf_increment(default_of(kv), key, key_len, by, expire_ms, sum);
}

int kvstore_compare_and_set(KVStore* kv, const void* key, int key_len, const void* expected, int expected_len,
                            const void* value, int value_len, int64_t expire_ms, int* swapped) {
  return kvstore_cf_compare_and_set(default_of(kv), key, key_len, expected, expected_len, value, value_len,
                                    expire_ms, swapped);
}

int kvstore_compare_and_delete(KVStore* kv, const void* key, int key_len, const void* expected,
                               int expected_len, int* deleted) {
  return kvstore_cf_compare_and_delete(default_of(kv), key, key_len, expected, expected_len, deleted);
}

}  // extern "C"
