// Deadlines. Those of the past and of the far future, so that nothing has to be waited for.

#include "c_store.h"

namespace lapse {
namespace {

class CLifetime : public testing::Test {
 protected:
  CLifetime() {
    put(kv.get(), "permanent", "v");
    put(kv.get(), "long", "v", now + kHourMs);
    put(kv.get(), "expired", "v", now - 1000);
  }
  std::string remaining(std::string_view key) {
    int64_t left = 7;
    const int code = kvstore_ttl_remaining(kv.get(), key.data(), length(key), &left);
    if (code != KVSTORE_OK) return "code " + std::to_string(code);
    return left == KVSTORE_NO_TTL                  ? "none"
           : left > kHourMs / 2 && left <= kHourMs ? "an hour"
                                                   : std::to_string(left);
  }
  std::string seconds(std::string_view key) {
    int64_t left = 7;
    const int code = kvstore_ttl(kv.get(), key.data(), length(key), &left);
    return code == KVSTORE_OK ? std::to_string(left) : "code " + std::to_string(code);
  }

  const int64_t now = kvstore_now_ms();
  const Owned<KVStore> kv = open_store();
};

TEST_F(CLifetime, AnExpiredKeyIsAbsent) {
  int exists = -1;
  EXPECT_EQ(KVSTORE_OK, kvstore_exists(kv.get(), "expired", 7, &exists));
  EXPECT_EQ(0, exists);
  EXPECT_EQ(kNotFound, get(kv.get(), "expired"));
  EXPECT_EQ(KVSTORE_NOTFOUND, erase(kv.get(), "expired"));
  EXPECT_EQ(2, count(kv.get()));
}

TEST_F(CLifetime, TtlRemaining) {
  EXPECT_EQ("none", remaining("permanent"));
  EXPECT_EQ("an hour", remaining("long"));
  EXPECT_EQ(kNotFound, remaining("expired"));
  EXPECT_EQ(kNotFound, remaining("absent"));
}

TEST_F(CLifetime, TtlInSeconds) {
  EXPECT_EQ("-1", seconds("permanent"));
  const std::string left = seconds("long");
  EXPECT_TRUE(left == "3600" || left == "3599" || left == "3598") << left;
  EXPECT_EQ("0", seconds("expired"));
  EXPECT_EQ("0", seconds("expired")) << "asking does not remove it";
  EXPECT_EQ(kNotFound, seconds("absent"));
  get(kv.get(), "expired");  // which removes it
  EXPECT_EQ(kNotFound, seconds("expired"));
}

TEST_F(CLifetime, TtlInSecondsInATransaction) {
  for (const int write : {0, 1}) {
    ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), write));
    EXPECT_EQ("-1", seconds("permanent"));
    EXPECT_EQ("0", seconds("expired"));
    EXPECT_EQ(kNotFound, seconds("absent"));
    ASSERT_EQ(KVSTORE_OK, kvstore_rollback(kv.get()));
  }
}

TEST_F(CLifetime, GetTtl) {
  void* value = nullptr;
  int size = 0;
  int64_t left = 7;
  EXPECT_EQ(KVSTORE_OK, kvstore_get_ttl(kv.get(), "permanent", 9, &value, &size, &left));
  EXPECT_EQ("v", taken(KVSTORE_OK, value, size));
  EXPECT_EQ(KVSTORE_NO_TTL, left);
  EXPECT_EQ(KVSTORE_OK, kvstore_get_ttl(kv.get(), "long", 4, &value, &size, &left));
  EXPECT_EQ("v", taken(KVSTORE_OK, value, size));
  EXPECT_GT(left, kHourMs / 2);
  EXPECT_EQ(KVSTORE_OK, kvstore_get_ttl(kv.get(), "long", 4, &value, &size, nullptr));
  snkv_free(value);
  for (const char* key : {"expired", "absent"}) {
    left = 7;
    const int code = kvstore_get_ttl(kv.get(), key, length(key), &value, &size, &left);
    EXPECT_EQ(kNotFound, taken(code, value, size));
    EXPECT_EQ(0, left);
  }
}

TEST_F(CLifetime, APlainPutMakesPermanent) {
  EXPECT_EQ(KVSTORE_OK, kvstore_put(kv.get(), "long", 4, "w", 1));
  EXPECT_EQ("none", remaining("long"));
  EXPECT_EQ(KVSTORE_OK, put(kv.get(), "permanent", "w", now + kHourMs));
  EXPECT_EQ("an hour", remaining("permanent"));
  EXPECT_EQ(KVSTORE_OK, put(kv.get(), "permanent", "w", 0)) << "0 is no deadline";
  EXPECT_EQ("none", remaining("permanent"));
}

TEST_F(CLifetime, NegativeDeadlinesAreErrors) {
  EXPECT_EQ(KVSTORE_ERROR, put(kv.get(), "k", "v", -1));
  EXPECT_EQ(KVSTORE_ERROR, put(kv.get(), "k", "v", INT64_MIN));
  EXPECT_EQ(kNotFound, get(kv.get(), "k"));
  EXPECT_EQ(KVSTORE_OK, put(kv.get(), "k", "v", INT64_MAX));
}

TEST_F(CLifetime, Purge) {
  int deleted = -1;
  EXPECT_EQ(KVSTORE_OK, kvstore_purge_expired(kv.get(), &deleted));
  EXPECT_EQ(1, deleted);
  EXPECT_EQ(KVSTORE_OK, kvstore_purge_expired(kv.get(), &deleted));
  EXPECT_EQ(0, deleted);
  EXPECT_EQ(KVSTORE_OK, kvstore_purge_expired(kv.get(), nullptr));
  EXPECT_EQ(kNotFound, seconds("expired"));
  EXPECT_EQ("v", get(kv.get(), "long"));
}

TEST_F(CLifetime, PurgeOfMoreThanOneStep) {
  for (int i = 0; i < 1000; ++i) put(kv.get(), numbered(i), "v", now - 2000 + i / 2);
  int deleted = -1;
  EXPECT_EQ(KVSTORE_OK, kvstore_purge_expired(kv.get(), &deleted));
  EXPECT_EQ(1001, deleted);
}

TEST_F(CLifetime, PurgeWithALimit) {
  for (int i = 0; i < 600; ++i) put(kv.get(), numbered(i), "v", now - 2000 + i);
  int deleted = -1;
  int more = -1;
  EXPECT_EQ(KVSTORE_OK, kvstore_purge_expired_limit(kv.get(), 0, &deleted, &more));
  EXPECT_EQ(0, deleted);
  EXPECT_EQ(KVSTORE_OK, kvstore_purge_expired_limit(kv.get(), 400, &deleted, &more));
  EXPECT_EQ(400, deleted);
  EXPECT_EQ(1, more);
  EXPECT_EQ(kNotFound, seconds(numbered(399))) << "those due longest go first";
  EXPECT_EQ("0", seconds(numbered(400)));
  EXPECT_EQ(KVSTORE_OK, kvstore_purge_expired_limit(kv.get(), 1000, &deleted, &more));
  EXPECT_EQ(201, deleted);
  EXPECT_EQ(0, more);
  EXPECT_EQ(KVSTORE_OK, kvstore_purge_expired_limit(kv.get(), 1, nullptr, nullptr));
  EXPECT_EQ(KVSTORE_ERROR, kvstore_purge_expired_limit(kv.get(), -1, &deleted, &more));
}

TEST_F(CLifetime, Expire) {
  EXPECT_EQ(KVSTORE_OK, kvstore_expire(kv.get(), "permanent", 9, now + kHourMs));
  EXPECT_EQ("an hour", remaining("permanent"));
  EXPECT_EQ(KVSTORE_OK, kvstore_expire(kv.get(), "permanent", 9, now - 1000)) << "ends it now";
  EXPECT_EQ(kNotFound, get(kv.get(), "permanent"));
  for (const char* key : {"expired", "absent"})
    EXPECT_EQ(KVSTORE_NOTFOUND, kvstore_expire(kv.get(), key, length(key), now + kHourMs)) << key;
  EXPECT_EQ(KVSTORE_ERROR, kvstore_expire(kv.get(), "long", 4, 0));
  EXPECT_EQ(KVSTORE_ERROR, kvstore_expire(kv.get(), "long", 4, -1));
}

TEST_F(CLifetime, Persist) {
  EXPECT_EQ(KVSTORE_OK, kvstore_persist(kv.get(), "long", 4));
  EXPECT_EQ("none", remaining("long"));
  EXPECT_EQ(KVSTORE_OK, kvstore_persist(kv.get(), "permanent", 9));
  for (const char* key : {"expired", "absent"})
    EXPECT_EQ(KVSTORE_NOTFOUND, kvstore_persist(kv.get(), key, length(key))) << key;
}

}  // namespace
}  // namespace lapse
