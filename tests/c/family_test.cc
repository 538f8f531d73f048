// Column families.

#include "c_store.h"

namespace lapse {
namespace {

std::string names(KVStore* kv) {
  char** list = nullptr;
  int size = -1;
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_list(kv, &list, &size));
  std::string all;
  for (int i = 0; i < size; ++i) {
    all += (i == 0 ? "" : " ") + std::string(list[i]);
    snkv_free(list[i]);
  }
  snkv_free(list);
  return all;
}

int create(KVStore* kv, const char* name) {
  KVColumnFamily* cf = reinterpret_cast<KVColumnFamily*>(1);
  const int code = kvstore_cf_create(kv, name, &cf);
  EXPECT_EQ(code == KVSTORE_OK, cf != nullptr);
  kvstore_cf_close(cf);
  return code;
}

int open(KVStore* kv, const char* name) {
  KVColumnFamily* cf = reinterpret_cast<KVColumnFamily*>(1);
  const int code = kvstore_cf_open(kv, name, &cf);
  EXPECT_EQ(code == KVSTORE_OK, cf != nullptr);
  kvstore_cf_close(cf);
  return code;
}

TEST(CFamily, CreatedOpenedListedDropped) {
  const auto kv = open_store();
  EXPECT_EQ("default", names(kv.get()));
  EXPECT_EQ(KVSTORE_NOTFOUND, open(kv.get(), "users"));
  EXPECT_EQ(KVSTORE_OK, create(kv.get(), "users"));
  EXPECT_EQ(KVSTORE_OK, create(kv.get(), "a"));
  EXPECT_EQ("a default users", names(kv.get()));
  EXPECT_EQ(KVSTORE_OK, open(kv.get(), "users"));
  EXPECT_EQ(KVSTORE_ERROR, create(kv.get(), "users"));
  EXPECT_NE(std::string::npos, std::string(kvstore_errmsg(kv.get())).find("users"));
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_drop(kv.get(), "users"));
  EXPECT_EQ(KVSTORE_NOTFOUND, kvstore_cf_drop(kv.get(), "users"));
  EXPECT_EQ(KVSTORE_NOTFOUND, open(kv.get(), "users"));
  EXPECT_EQ("a default", names(kv.get()));
}

TEST(CFamily, NamesThatAreRefused) {
  const auto kv = open_store();
  for (const std::string& name :
       {std::string("__x"), std::string("__"), std::string(), std::string(256, 'n')}) {
    EXPECT_EQ(KVSTORE_ERROR, create(kv.get(), name.c_str())) << name;
    EXPECT_EQ(KVSTORE_ERROR, open(kv.get(), name.c_str())) << name;
    EXPECT_EQ(KVSTORE_ERROR, kvstore_cf_drop(kv.get(), name.c_str())) << name;
  }
  EXPECT_EQ(KVSTORE_OK, create(kv.get(), "_x"));
  EXPECT_EQ(KVSTORE_OK, create(kv.get(), std::string(255, 'n').c_str()));
}

TEST(CFamily, TheDefaultOneIsThatOfTheStore) {
  const auto kv = open_store();
  const auto cf = default_family(kv);
  put(kv.get(), "k", "v");
  EXPECT_EQ("v", get(cf.get(), "k"));
  EXPECT_EQ(KVSTORE_ERROR, kvstore_cf_drop(kv.get(), "default"));
  EXPECT_EQ(KVSTORE_ERROR, create(kv.get(), "default"));
}

TEST(CFamily, TheyAreIsolated) {
  const auto kv = open_store();
  const auto a = create_family(kv, "a");
  const auto b = create_family(kv, "b");
  put(a.get(), "k", "in a", kvstore_now_ms() - 1000);
  put(b.get(), "k", "in b", kvstore_now_ms() - 1000);
  put(b.get(), "l", "in b");
  int deleted = -1;
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_purge_expired(a.get(), &deleted));
  EXPECT_EQ(1, deleted);
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_clear(a.get()));
  EXPECT_EQ("in b", get(b.get(), "l"));
  EXPECT_EQ(kNotFound, get(kv.get(), "l"));
}

TEST(CFamily, HandlesOfADroppedFamilyFindNothing) {
  const auto kv = open_store();
  const auto cf = create_family(kv, "f");
  put(cf.get(), "k", "v");
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_drop(kv.get(), "f"));
  EXPECT_EQ(kNotFound, get(cf.get(), "k"));
  EXPECT_EQ(KVSTORE_NOTFOUND, put(cf.get(), "k", "v"));
  const auto again = create_family(kv, "f");
  EXPECT_EQ(KVSTORE_NOTFOUND, put(cf.get(), "k", "v")) << "also if there is one of its name";
  EXPECT_EQ(kNotFound, get(again.get(), "k"));
}

TEST(CFamily, InATransactionTheyArePartOfIt) {
  const TempDir dir;
  const auto kv = open_store(dir.file("my.db").c_str());
  const auto other = open_store(dir.file("my.db").c_str());
  const auto old = create_family(kv, "old");
  put(old.get(), "k", "v");
  for (const bool commits : {false, true}) {
    ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 1));
    const auto made = create_family(kv, "made");
    EXPECT_EQ(KVSTORE_OK, put(made.get(), "k", "v"));
    EXPECT_EQ(KVSTORE_ERROR, create(kv.get(), "made"));
    EXPECT_EQ(KVSTORE_OK, open(kv.get(), "made"));
    EXPECT_EQ(KVSTORE_OK, kvstore_cf_drop(kv.get(), "old"));
    EXPECT_EQ(KVSTORE_NOTFOUND, open(kv.get(), "old"));
    EXPECT_EQ(kNotFound, get(old.get(), "k"));
    EXPECT_EQ("default made", names(kv.get()));
    EXPECT_EQ("default old", names(other.get()));
    EXPECT_EQ(KVSTORE_NOTFOUND, open(other.get(), "made"));
    ASSERT_EQ(KVSTORE_OK, commits ? kvstore_commit(kv.get()) : kvstore_rollback(kv.get()));
    EXPECT_EQ(commits ? "default made" : "default old", names(kv.get()));
    EXPECT_EQ(commits ? "v" : kNotFound, get(made.get(), "k"));
    EXPECT_EQ(commits ? kNotFound : "v", get(old.get(), "k"));
    EXPECT_EQ(commits ? KVSTORE_OK : KVSTORE_NOTFOUND, put(made.get(), "l", "v"));
    EXPECT_EQ(commits ? KVSTORE_OK : KVSTORE_NOTFOUND, open(other.get(), "made"));
  }
}

TEST(CFamily, InATransactionPoliciesStayAndOneForReadingChangesNothing) {
  const auto kv = open_store();
  const auto cf = create_family(kv, "f");
  const KVFamilyConfig config = {};
  for (const int write : {0, 1}) {
    ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), write));
    EXPECT_EQ(KVSTORE_LOCKED, kvstore_cf_configure(kv.get(), "f", &config));
    if (write == 0) {
      EXPECT_EQ(KVSTORE_READONLY, create(kv.get(), "g"));
      EXPECT_EQ(KVSTORE_READONLY, kvstore_cf_drop(kv.get(), "f"));
    }
    EXPECT_EQ(KVSTORE_OK, open(kv.get(), "f"));
    EXPECT_EQ("default f", names(kv.get()));
    EXPECT_EQ(KVSTORE_OK, kvstore_commit(kv.get()));
  }
}

TEST(CFamily, Policies) {
  const auto kv = open_store();
  const auto brief = create_family(kv, "brief", {.defaultTtlMs = kHourMs});
  int64_t left = 0;
  put(brief.get(), "k", "v");
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_ttl_remaining(brief.get(), "k", 1, &left));
  EXPECT_LE(left, kHourMs);
  EXPECT_GT(left, kHourMs / 2);
  const auto strict = create_family(kv, "strict", {.requireTtl = 1, .counted = 1});
  EXPECT_EQ(KVSTORE_ERROR, put(strict.get(), "k", "v"));
  EXPECT_EQ(KVSTORE_OK, put(strict.get(), "k", "v", kvstore_now_ms() + kHourMs));
  const KVFamilyConfig lenient = {.maxTtlMs = kHourMs};
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_configure(kv.get(), "strict", &lenient));
  EXPECT_EQ(KVSTORE_OK, put(strict.get(), "k", "v"));
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_ttl_remaining(strict.get(), "k", 1, &left));
  EXPECT_LE(left, kHourMs);
  EXPECT_EQ(KVSTORE_NOTFOUND, kvstore_cf_configure(kv.get(), "absent", &lenient));
}

TEST(CFamily, PoliciesThatMakeNoSense) {
  const auto kv = open_store();
  KVColumnFamily* cf = nullptr;
  for (const KVFamilyConfig& config :
       {KVFamilyConfig{.history = 1, .historyKeepLast = -1},
        KVFamilyConfig{.history = 1, .historyKeepForMs = -1}, KVFamilyConfig{.historyKeepLast = 3},
        KVFamilyConfig{.defaultTtlMs = -1}, KVFamilyConfig{.maxTtlMs = -1}}) {
    EXPECT_EQ(KVSTORE_ERROR, kvstore_cf_create_v2(kv.get(), "f", &config, &cf));
    EXPECT_EQ(nullptr, cf);
    EXPECT_EQ(KVSTORE_ERROR, kvstore_cf_configure(kv.get(), "default", &config));
  }
}

}  // namespace
}  // namespace lapse
