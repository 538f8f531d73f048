// Keys and values: put, get, delete, exists, clear, count.

#include "bindings/c/call.h"

using namespace lapse::c;  // NOLINT(google-build-using-namespace): the functions below are in none

extern "C" {

int kvstore_cf_put(KVColumnFamily* cf, const void* key, int key_len, const void* value, int value_len) {
  return kvstore_cf_put_ttl(cf, key, key_len, value, value_len, 0);
}

int kvstore_cf_get(KVColumnFamily* cf, const void* key, int key_len, void** value, int* value_len) {
  clear_outputs(value, value_len);
  return on_key(cf, key, key_len,
                [&](Handle& handle, const lapse::Family& family, std::string_view name) -> Outcome {
                  KVSTORE_TRY(check_given(value, "value"));
                  KVSTORE_TRY(check_given(value_len, "value_len"));
                  return handle.read(family, [&](const lapse::Reader& reader) -> Outcome {
                    const auto found = reader.get(name);
                    if (!found.ok()) return found.status();
                    ++handle.counters().gets;
                    if (!*found) return Outcome::key_not_found();
                    handle.counters().bytes_read += (*found)->size();
                    return hand_out(**found, value, value_len);
                  });
                });
}

int kvstore_cf_delete(KVColumnFamily* cf, const void* key, int key_len) {
  return on_key(cf, key, key_len,
                [&](Handle& handle, lapse::Family& family, std::string_view name) -> Outcome {
                  return handle.write(family, [&](lapse::Keyspace& keys) -> Outcome {
                    const lapse::Result<bool> erased = keys.erase(name);
                    if (!erased.ok()) return erased.status();
                    if (!*erased) return Outcome::key_not_found();
                    ++handle.counters().deletes;
                    return {};
                  });
                });
}

int kvstore_cf_exists(KVColumnFamily* cf, const void* key, int key_len, int* exists) {
  clear_outputs(exists);
  return on_key(cf, key, key_len,
                [&](Handle& handle, const lapse::Family& family, std::string_view name) -> Outcome {
                  KVSTORE_TRY(check_given(exists, "exists"));
                  return handle.read(family, [&](const lapse::Reader& reader) -> Outcome {
                    const lapse::Result<bool> found = reader.exists(name);
                    if (!found.ok()) return found.status();
                    *exists = *found ? 1 : 0;
                    return {};
                  });
                });
}

int kvstore_cf_clear(KVColumnFamily* cf) {
  return on_family(cf, [&](Handle& handle, lapse::Family& family) -> Outcome {
    return handle.write(family, [&](lapse::Keyspace& keys) -> Outcome { return keys.clear(); });
  });
}

int kvstore_cf_count(KVColumnFamily* cf, int64_t* count) {
  clear_outputs(count);
  return on_family(cf, [&](Handle& handle, const lapse::Family& family) -> Outcome {
    KVSTORE_TRY(check_given(count, "count"));
    return handle.read(family, [&](const lapse::Reader& reader) -> Outcome {
      const lapse::Result<uint64_t> counted = reader.count();
      if (!counted.ok()) return counted.status();
      *count = static_cast<int64_t>(*counted);
      return {};
    });
  });
}

// ------------------------------------------------------------------------------- on the default family

int kvstore_put(KVStore* kv, const void* key, int key_len, const void* value, int value_len) {
  return kvstore_cf_put(default_of(kv), key, key_len, value, value_len);
}

int kvstore_get(KVStore* kv, const void* key, int key_len, void** value, int* value_len) {
  return kvstore_cf_get(default_of(kv), key, key_len, value, value_len);
}

int kvstore_delete(KVStore* kv, const void* key, int key_len) {
  return kvstore_cf_delete(default_of(kv), key, key_len);
}

int kvstore_exists(KVStore* kv, const void* key, int key_len, int* exists) {
  return kvstore_cf_exists(default_of(kv), key, key_len, exists);
}

int kvstore_clear(KVStore* kv) { return kvstore_cf_clear(default_of(kv)); }

int kvstore_count(KVStore* kv, int64_t* count) { return kvstore_cf_count(default_of(kv), count); }

}  // extern "C"
