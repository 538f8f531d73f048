// Keys with deadlines: writing them, asking how long they have, changing that.

#include <chrono>

#include "bindings/c/call.h"

using namespace lapse::c;  // NOLINT(google-build-using-namespace): the functions below are in none

extern "C" {

int64_t kvstore_now_ms(void) {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
}

int kvstore_cf_put_ttl(KVColumnFamily* cf, const void* key, int key_len, const void* value, int value_len,
                       int64_t expire_ms) {
  return on_key(cf, key, key_len,
                [&](Handle& handle, lapse::Family& family, std::string_view name) -> Outcome {
                  std::string_view content;
                  lapse::Lifetime lifetime;
                  KVSTORE_TRY(take_bytes(value, value_len, "value", &content));
                  KVSTORE_TRY(take_lifetime(expire_ms, &lifetime));
                  return handle.write(family, [&](lapse::Keyspace& keys) -> Outcome {
                    KVSTORE_TRY(keys.put(name, content, lifetime));
                    handle.count_put(name.size() + content.size());
                    return {};
                  });
                });
}

int kvstore_cf_put_if_absent(KVColumnFamily* cf, const void* key, int key_len, const void* value,
                             int value_len, int64_t expire_ms, int* inserted) {
  clear_outputs(inserted);
  return on_key(cf, key, key_len,
                [&](Handle& handle, lapse::Family& family, std::string_view name) -> Outcome {
                  std::string_view content;
                  lapse::Lifetime lifetime;
                  KVSTORE_TRY(take_bytes(value, value_len, "value", &content));
                  KVSTORE_TRY(take_lifetime(expire_ms, &lifetime));
                  return handle.write(family, [&](lapse::Keyspace& keys) -> Outcome {
                    const lapse::Result<bool> written = keys.put_if_absent(name, content, lifetime);
                    if (!written.ok()) return written.status();
                    if (*written) handle.count_put(name.size() + content.size());
                    set_if_given(inserted, *written ? 1 : 0);
                    return {};
                  });
                });
}

int kvstore_cf_get_ttl(KVColumnFamily* cf, const void* key, int key_len, void** value, int* value_len,
                       int64_t* remaining_ms) {
  clear_outputs(value, value_len, remaining_ms);
  return on_key(cf, key, key_len,
                [&](Handle& handle, const lapse::Family& family, std::string_view name) -> Outcome {
                  KVSTORE_TRY(check_given(value, "value"));
                  KVSTORE_TRY(check_given(value_len, "value_len"));
                  return handle.read(family, [&](const lapse::Reader& reader) -> Outcome {
                    const auto entry = reader.get_entry(name);
                    if (!entry.ok()) return entry.status();
                    ++handle.counters().gets;
                    if (!*entry) return Outcome::key_not_found();
                    handle.counters().bytes_read += (*entry)->value.size();
                    KVSTORE_TRY(hand_out((*entry)->value, value, value_len));
                    set_if_given(remaining_ms, to_remaining_ms((*entry)->left));
                    return {};
                  });
                });
}

int kvstore_cf_ttl_remaining(KVColumnFamily* cf, const void* key, int key_len, int64_t* remaining_ms) {
  clear_outputs(remaining_ms);
  return on_key(cf, key, key_len,
                [&](Handle& handle, const lapse::Family& family, std::string_view name) -> Outcome {
                  KVSTORE_TRY(check_given(remaining_ms, "remaining_ms"));
                  return handle.read(family, [&](const lapse::Reader& reader) -> Outcome {
                    const auto left = reader.ttl(name);
                    if (!left.ok()) return left.status();
                    if (!*left) return Outcome::key_not_found();
                    *remaining_ms = to_remaining_ms(**left);
                    return {};
                  });
                });
}

int kvstore_cf_ttl(KVColumnFamily* cf, const void* key, int key_len, int64_t* seconds) {
  clear_outputs(seconds);
  return on_key(
      cf, key, key_len, [&](Handle& handle, const lapse::Family& family, std::string_view name) -> Outcome {
        KVSTORE_TRY(check_given(seconds, "seconds"));
        return handle.read_one_moment(family, [&](const lapse::Reader& reader) -> Outcome {
          const auto left = reader.ttl(name);
          if (!left.ok()) return left.status();
          if (*left) {
            *seconds =
                **left == lapse::kForever ? -1 : std::chrono::ceil<std::chrono::seconds>(**left).count();
            return {};
          }
          const lapse::Result<bool> lapsed = reader.lapsed(name);
          if (!lapsed.ok()) return lapsed.status();
          return *lapsed ? Outcome() : Outcome::key_not_found();
        });
      });
}

int kvstore_cf_expire(KVColumnFamily* cf, const void* key, int key_len, int64_t expire_ms) {
  return on_key(cf, key, key_len,
                [&](Handle& handle, lapse::Family& family, std::string_view name) -> Outcome {
                  return handle.write(family, [&](lapse::Keyspace& keys) -> Outcome {
                    const lapse::Result<bool> changed = keys.expire_at(name, expire_ms);
                    if (!changed.ok()) return changed.status();
                    return *changed ? Outcome() : Outcome::key_not_found();
                  });
                });
}

int kvstore_cf_persist(KVColumnFamily* cf, const void* key, int key_len) {
  return on_key(cf, key, key_len,
                [&](Handle& handle, lapse::Family& family, std::string_view name) -> Outcome {
                  return handle.write(family, [&](lapse::Keyspace& keys) -> Outcome {
                    const lapse::Result<bool> changed = keys.persist(name);
                    if (!changed.ok()) return changed.status();
                    if (*changed) return {};
                    const lapse::Result<bool> is_there = keys.exists(name);  // and permanent already
                    if (!is_there.ok()) return is_there.status();
                    return *is_there ? Outcome() : Outcome::key_not_found();
                  });
                });
}

// ------------------------------------------------------------------------------- on the default family

int kvstore_put_ttl(KVStore* kv, const void* key, int key_len, const void* value, int value_len,
                    int64_t expire_ms) {
  return kvstore_cf_put_ttl(default_of(kv), key, key_len, value, value_len, expire_ms);
}

int kvstore_put_if_absent(KVStore* kv, const void* key, int key_len, const void* value, int value_len,
                          int64_t expire_ms, int* inserted) {
  return kvstore_cf_put_if_absent(default_of(kv), key, key_len, value, value_len, expire_ms, inserted);
}

int kvstore_get_ttl(KVStore* kv, const void* key, int key_len, void** value, int* value_len,
                    int64_t* remaining_ms) {
  return kvstore_cf_get_ttl(default_of(kv), key, key_len, value, value_len, remaining_ms);
}

int kvstore_ttl_remaining(KVStore* kv, const void* key, int key_len, int64_t* remaining_ms) {
  return kvstore_cf_ttl_remaining(default_of(kv), key, key_len, remaining_ms);
}

int kvstore_ttl(KVStore* kv, const void* key, int key_len, int64_t* seconds) {
  return kvstore_cf_ttl(default_of(kv), key, key_len, seconds);
}

int kvstore_expire(KVStore* kv, const void* key, int key_len, int64_t expire_ms) {
  return kvstore_cf_expire(default_of(kv), key, key_len, expire_ms);
}

int kvstore_persist(KVStore* kv, const void* key, int key_len) {
  return kvstore_cf_persist(default_of(kv), key, key_len);
}

}  // extern "C"
