// What the tests of the C interface share: handles that close themselves, and calls on C++ strings.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kvstore.h"
#include "support/support.h"

namespace lapse {

constexpr int64_t kHourMs = 3'600'000;

inline int length(std::string_view bytes) { return static_cast<int>(bytes.size()); }

struct Closer {
  void operator()(KVStore* kv) const { kvstore_close(kv); }
  void operator()(KVColumnFamily* cf) const { kvstore_cf_close(cf); }
  void operator()(KVIterator* it) const { kvstore_iterator_close(it); }
  void operator()(KVSnapshot* snapshot) const { kvstore_snapshot_close(snapshot); }
};
template <typename T>
using Owned = std::unique_ptr<T, Closer>;

inline Owned<KVStore> open_store(const char* path = nullptr, const KVStoreConfig& config = {}) {
  KVStore* kv = nullptr;
  if (kvstore_open_v2(path, &kv, &config) != KVSTORE_OK) throw std::runtime_error(kvstore_errmsg(nullptr));
  return Owned<KVStore>(kv);
}

inline Owned<KVColumnFamily> create_family(const Owned<KVStore>& kv, const char* name,
                                           const KVFamilyConfig& config = {}) {
  KVColumnFamily* cf = nullptr;
  if (kvstore_cf_create_v2(kv.get(), name, &config, &cf) != KVSTORE_OK)
    throw std::runtime_error(kvstore_errmsg(kv.get()));
  return Owned<KVColumnFamily>(cf);
}

inline Owned<KVColumnFamily> default_family(const Owned<KVStore>& kv) {
  KVColumnFamily* cf = nullptr;
  if (kvstore_cf_get_default(kv.get(), &cf) != KVSTORE_OK) throw std::runtime_error(kvstore_errmsg(kv.get()));
  return Owned<KVColumnFamily>(cf);
}

// The codes of calls; get() gives the value, or "" followed by the code's number.
inline int put(KVColumnFamily* cf, std::string_view key, std::string_view value, int64_t expire_ms = 0) {
  return kvstore_cf_put_ttl(cf, key.data(), length(key), value.data(), length(value), expire_ms);
}
inline int put(KVStore* kv, std::string_view key, std::string_view value, int64_t expire_ms = 0) {
  return kvstore_put_ttl(kv, key.data(), length(key), value.data(), length(value), expire_ms);
}

inline std::string taken(int code, void* value, int size) {
  if (code != KVSTORE_OK) {
    EXPECT_EQ(nullptr, value);
    EXPECT_EQ(0, size);
    return "code " + std::to_string(code);
  }
  std::string copy(static_cast<char*>(value), static_cast<size_t>(size));
  EXPECT_EQ('\0', static_cast<char*>(value)[size]);
  snkv_free(value);
  return copy;
}
inline std::string get(KVColumnFamily* cf, std::string_view key) {
  void* value = nullptr;
  int size = 0;
  const int code = kvstore_cf_get(cf, key.data(), length(key), &value, &size);
  return taken(code, value, size);
}
inline std::string get(KVStore* kv, std::string_view key) {
  void* value = nullptr;
  int size = 0;
  const int code = kvstore_get(kv, key.data(), length(key), &value, &size);
  return taken(code, value, size);
}
inline int erase(KVStore* kv, std::string_view key) { return kvstore_delete(kv, key.data(), length(key)); }
inline int64_t count(KVStore* kv) {
  int64_t number = -1;
  EXPECT_EQ(KVSTORE_OK, kvstore_count(kv, &number));
  return number;
}

inline const std::string kNotFound = "code " + std::to_string(KVSTORE_NOTFOUND);
inline const std::string kError = "code " + std::to_string(KVSTORE_ERROR);

// "a=1 b=2", from where the iterator stands.
inline std::string walk(KVIterator* it, bool reverse = false) {
  std::string all;
  while (kvstore_iterator_eof(it) == 0) {
    void* key = nullptr;
    void* value = nullptr;
    int key_len = 0;
    int value_len = 0;
    EXPECT_EQ(KVSTORE_OK, kvstore_iterator_key(it, &key, &key_len));
    EXPECT_EQ(KVSTORE_OK, kvstore_iterator_value(it, &value, &value_len));
    all += (all.empty() ? "" : " ") + std::string(static_cast<char*>(key), static_cast<size_t>(key_len)) +
           "=" + std::string(static_cast<char*>(value), static_cast<size_t>(value_len));
    EXPECT_EQ(KVSTORE_OK, reverse ? kvstore_iterator_prev(it) : kvstore_iterator_next(it));
  }
  return all;
}

inline KVStoreStats stats(KVStore* kv) {
  KVStoreStats stats;
  EXPECT_EQ(KVSTORE_OK, kvstore_stats(kv, &stats));
  return stats;
}

}  // namespace lapse
