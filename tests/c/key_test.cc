// Keys and values, on a store and on a family.

#include "c_store.h"

namespace lapse {
namespace {

TEST(CKeys, PutGetDeleteExists) {
  const auto kv = open_store();
  int exists = -1;
  EXPECT_EQ(kNotFound, get(kv.get(), "k"));
  EXPECT_EQ(KVSTORE_OK, kvstore_exists(kv.get(), "k", 1, &exists));
  EXPECT_EQ(0, exists);
  EXPECT_EQ(KVSTORE_OK, kvstore_put(kv.get(), "k", 1, "v", 1));
  EXPECT_EQ("v", get(kv.get(), "k"));
  EXPECT_EQ(KVSTORE_OK, kvstore_exists(kv.get(), "k", 1, &exists));
  EXPECT_EQ(1, exists);
  EXPECT_EQ(KVSTORE_OK, erase(kv.get(), "k"));
  EXPECT_EQ(KVSTORE_NOTFOUND, erase(kv.get(), "k"));
  EXPECT_EQ(kNotFound, get(kv.get(), "k"));
}

TEST(CKeys, AnyBytesAndNoBytes) {
  const auto kv = open_store();
  const std::string bytes("\0\xff\n\0", 4);
  EXPECT_EQ(KVSTORE_OK, put(kv.get(), bytes, bytes));
  EXPECT_EQ(KVSTORE_OK, put(kv.get(), "", "the empty key"));
  EXPECT_EQ(KVSTORE_OK, put(kv.get(), "empty", ""));
  EXPECT_EQ(bytes, get(kv.get(), bytes));
  EXPECT_EQ("the empty key", get(kv.get(), ""));
  EXPECT_EQ("", get(kv.get(), "empty"));
  void* value = nullptr;
  int size = -1;
  EXPECT_EQ(KVSTORE_OK, kvstore_get(kv.get(), "empty", 5, &value, &size));
  EXPECT_NE(nullptr, value) << "NULL is for failures";
  snkv_free(value);
}

TEST(CKeys, WhatIsTooLarge) {
  const auto kv = open_store();
  const std::string key(64 << 10, 'k');
  EXPECT_EQ(KVSTORE_OK, put(kv.get(), key, "v"));
  EXPECT_EQ(KVSTORE_ERROR, put(kv.get(), key + "k", "v"));
  EXPECT_NE(std::string::npos, std::string(kvstore_errmsg(kv.get())).find("limit"))
      << kvstore_errmsg(kv.get());
}

TEST(CKeys, CountAndClear) {
  const auto kv = open_store();
  EXPECT_EQ(0, count(kv.get()));
  put(kv.get(), "a", "1");
  put(kv.get(), "b", "2", kvstore_now_ms() + kHourMs);
  put(kv.get(), "expired", "3", kvstore_now_ms() - 1000);
  EXPECT_EQ(2, count(kv.get()));
  EXPECT_EQ(KVSTORE_OK, kvstore_clear(kv.get()));
  EXPECT_EQ(0, count(kv.get()));
  int deleted = -1;
  EXPECT_EQ(KVSTORE_OK, kvstore_purge_expired(kv.get(), &deleted));
  EXPECT_EQ(0, deleted) << "its deadlines went with it";
}

TEST(CKeys, PutIfAbsent) {
  const auto kv = open_store();
  const int64_t later = kvstore_now_ms() + kHourMs;
  int inserted = -1;
  EXPECT_EQ(KVSTORE_OK, kvstore_put_if_absent(kv.get(), "k", 1, "first", 5, later, &inserted));
  EXPECT_EQ(1, inserted);
  EXPECT_EQ(KVSTORE_OK, kvstore_put_if_absent(kv.get(), "k", 1, "second", 6, 0, &inserted));
  EXPECT_EQ(0, inserted);
  EXPECT_EQ("first", get(kv.get(), "k"));
  int64_t left = 0;
  EXPECT_EQ(KVSTORE_OK, kvstore_ttl_remaining(kv.get(), "k", 1, &left));
  EXPECT_GT(left, 0);
  EXPECT_EQ(KVSTORE_OK, kvstore_put_if_absent(kv.get(), "l", 1, "v", 1, 0, nullptr));
  EXPECT_EQ(KVSTORE_OK, kvstore_ttl_remaining(kv.get(), "l", 1, &left));
  EXPECT_EQ(KVSTORE_NO_TTL, left);
  EXPECT_EQ(KVSTORE_ERROR, kvstore_put_if_absent(kv.get(), "m", 1, "v", 1, -1, &inserted));
  put(kv.get(), "expired", "old", kvstore_now_ms() - 1000);
  EXPECT_EQ(KVSTORE_OK, kvstore_put_if_absent(kv.get(), "expired", 7, "new", 3, 0, &inserted));
  EXPECT_EQ(1, inserted);
  EXPECT_EQ("new", get(kv.get(), "expired"));
}

// Each call on a family, once: that on the store goes through it.
TEST(CKeys, OnAFamily) {
  const auto kv = open_store();
  const auto owned = create_family(kv, "f");
  KVColumnFamily* const cf = owned.get();
  const int64_t later = kvstore_now_ms() + kHourMs;
  void* value = nullptr;
  int size = 0;
  int flag = -1;
  int64_t number = 0;
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_put(cf, "a", 1, "1", 1));
  EXPECT_EQ("1", get(cf, "a"));
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_exists(cf, "a", 1, &flag));
  EXPECT_EQ(1, flag);
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_put_if_absent(cf, "a", 1, "2", 1, 0, &flag));
  EXPECT_EQ(0, flag);
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_put_ttl(cf, "b", 1, "2", 1, later));
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_get_ttl(cf, "b", 1, &value, &size, &number));
  EXPECT_EQ("2", taken(KVSTORE_OK, value, size));
  EXPECT_GT(number, 0);
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_ttl(cf, "b", 1, &number));
  EXPECT_GT(number, 3'000);
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_count(cf, &number));
  EXPECT_EQ(2, number);
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_delete(cf, "a", 1));
  EXPECT_EQ(KVSTORE_NOTFOUND, kvstore_cf_delete(cf, "a", 1));
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_clear(cf));
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_count(cf, &number));
  EXPECT_EQ(0, number);
  EXPECT_EQ(0, count(kv.get()));
}

}  // namespace
}  // namespace lapse
