// Iterators.

#include "c_store.h"

namespace lapse {
namespace {

class CIterator : public testing::Test {
 protected:
  CIterator() {
    for (const char* key : {"a1", "a2", "a3", "b1", "b2"}) put(kv.get(), key, std::string(1, key[1]));
    put(kv.get(), "a2x", "expired", kvstore_now_ms() - 1000);
  }
  Owned<KVIterator> forward(const char* prefix = nullptr) {
    KVIterator* it = nullptr;
    EXPECT_EQ(KVSTORE_OK, prefix == nullptr
                              ? kvstore_iterator_create(kv.get(), &it)
                              : kvstore_prefix_iterator_create(kv.get(), prefix, length(prefix), &it));
    return Owned<KVIterator>(it);
  }
  Owned<KVIterator> reverse(const char* prefix = nullptr) {
    KVIterator* it = nullptr;
    EXPECT_EQ(KVSTORE_OK, prefix == nullptr ? kvstore_reverse_iterator_create(kv.get(), &it)
                                            : kvstore_reverse_prefix_iterator_create(kv.get(), prefix,
                                                                                     length(prefix), &it));
    return Owned<KVIterator>(it);
  }
  const Owned<KVStore> kv = open_store();
};

TEST_F(CIterator, Forward) {
  const auto it = forward();
  EXPECT_EQ(KVSTORE_OK, kvstore_iterator_first(it.get()));
  EXPECT_EQ("a1=1 a2=2 a3=3 b1=1 b2=2", walk(it.get()));
  EXPECT_EQ(KVSTORE_OK, kvstore_iterator_first(it.get()));
  EXPECT_EQ("a1=1 a2=2 a3=3 b1=1 b2=2", walk(it.get())) << "again";
}

TEST_F(CIterator, Reverse) {
  const auto it = reverse();
  EXPECT_EQ(KVSTORE_OK, kvstore_iterator_last(it.get()));
  EXPECT_EQ("b2=2 b1=1 a3=3 a2=2 a1=1", walk(it.get(), true));
}

TEST_F(CIterator, PrefixIteratorsArePositionedWhenCreated) {
  EXPECT_EQ("a1=1 a2=2 a3=3", walk(forward("a").get()));
  EXPECT_EQ("b2=2 b1=1", walk(reverse("b").get(), true));
  EXPECT_EQ("a1=1 a2=2 a3=3 b1=1 b2=2", walk(forward("").get())) << "the empty prefix";
  EXPECT_EQ("", walk(forward("c").get()));
  EXPECT_EQ("", walk(reverse("A").get(), true));
}

TEST_F(CIterator, SoArePlainOnes) {
  EXPECT_EQ("a1=1 a2=2 a3=3 b1=1 b2=2", walk(forward().get()));
  EXPECT_EQ("b2=2 b1=1 a3=3 a2=2 a1=1", walk(reverse().get(), true));
}

TEST_F(CIterator, EachDirectionHasItsOwnCalls) {
  const auto up = forward();
  const auto down = reverse();
  EXPECT_EQ(KVSTORE_ERROR, kvstore_iterator_last(up.get()));
  EXPECT_EQ(KVSTORE_ERROR, kvstore_iterator_prev(up.get()));
  EXPECT_EQ(KVSTORE_ERROR, kvstore_iterator_first(down.get()));
  EXPECT_EQ(KVSTORE_ERROR, kvstore_iterator_next(down.get()));
  EXPECT_EQ("a1=1 a2=2 a3=3 b1=1 b2=2", walk(up.get())) << "they moved nothing";
  EXPECT_NE(std::string::npos, std::string(kvstore_errmsg(kv.get())).find("reverse"));
}

TEST_F(CIterator, Seek) {
  const auto up = forward();
  EXPECT_EQ(KVSTORE_OK, kvstore_iterator_seek(up.get(), "a3", 2));
  EXPECT_EQ("a3=3 b1=1 b2=2", walk(up.get()));
  EXPECT_EQ(KVSTORE_OK, kvstore_iterator_seek(up.get(), "a4", 2));
  EXPECT_EQ("b1=1 b2=2", walk(up.get()));
  EXPECT_EQ(KVSTORE_OK, kvstore_iterator_seek(up.get(), "c", 1));
  EXPECT_EQ(1, kvstore_iterator_eof(up.get()));
  const auto down = reverse();
  EXPECT_EQ(KVSTORE_OK, kvstore_iterator_seek(down.get(), "a9", 2));
  EXPECT_EQ("a3=3 a2=2 a1=1", walk(down.get(), true));
  const auto prefixed = forward("a");
  EXPECT_EQ(KVSTORE_OK, kvstore_iterator_seek(prefixed.get(), "A", 1));
  EXPECT_EQ("a1=1 a2=2 a3=3", walk(prefixed.get())) << "within the prefix";
  EXPECT_EQ(KVSTORE_OK, kvstore_iterator_seek(prefixed.get(), "b", 1));
  EXPECT_EQ("", walk(prefixed.get()));
}

TEST_F(CIterator, AtTheEnd) {
  const auto it = forward("b2");
  EXPECT_EQ(0, kvstore_iterator_eof(it.get()));
  EXPECT_EQ(KVSTORE_OK, kvstore_iterator_next(it.get())) << "to the end";
  EXPECT_EQ(1, kvstore_iterator_eof(it.get()));
  EXPECT_EQ(KVSTORE_NOTFOUND, kvstore_iterator_next(it.get())) << "beyond it";
  void* bytes = &bytes;
  int size = 1;
  EXPECT_EQ(KVSTORE_ERROR, kvstore_iterator_key(it.get(), &bytes, &size));
  EXPECT_EQ(nullptr, bytes);
  EXPECT_EQ(KVSTORE_ERROR, kvstore_iterator_value(it.get(), &bytes, &size));
  EXPECT_EQ(0, size);
}

TEST_F(CIterator, KeyAndValueStayUntilItMoves) {
  const auto it = forward();
  void* key = nullptr;
  void* value = nullptr;
  int key_len = 0;
  int value_len = 0;
  ASSERT_EQ(KVSTORE_OK, kvstore_iterator_key(it.get(), &key, &key_len));
  ASSERT_EQ(KVSTORE_OK, kvstore_iterator_value(it.get(), &value, &value_len));
  put(kv.get(), "a1", "changed");
  for (int i = 0; i < 1000; ++i) put(kv.get(), numbered(i), "v");
  EXPECT_EQ("a1", std::string(static_cast<char*>(key), static_cast<size_t>(key_len)));
  EXPECT_EQ("1", std::string(static_cast<char*>(value), static_cast<size_t>(value_len)));
}

TEST_F(CIterator, SeesTheStoreAsOfItsCreation) {
  const auto it = forward();
  put(kv.get(), "a0", "new");
  erase(kv.get(), "a2");
  EXPECT_EQ(KVSTORE_OK, kvstore_iterator_first(it.get()));
  EXPECT_EQ("a1=1 a2=2 a3=3 b1=1 b2=2", walk(it.get()));
}

TEST_F(CIterator, EmptyValuesAreNotNull) {
  put(kv.get(), "e", "");
  const auto it = forward("e");
  void* value = nullptr;
  int size = -1;
  EXPECT_EQ(KVSTORE_OK, kvstore_iterator_value(it.get(), &value, &size));
  EXPECT_NE(nullptr, value);
  EXPECT_EQ(0, size);
}

TEST_F(CIterator, OverAFamily) {
  const auto cf = create_family(kv, "f");
  put(cf.get(), "x1", "1");
  put(cf.get(), "y1", "2");
  KVIterator* it = nullptr;
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_iterator_create(cf.get(), &it));
  EXPECT_EQ("x1=1 y1=2", walk(it));
  kvstore_iterator_close(it);
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_prefix_iterator_create(cf.get(), "y", 1, &it));
  EXPECT_EQ("y1=2", walk(it));
  kvstore_iterator_close(it);
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_reverse_iterator_create(cf.get(), &it));
  EXPECT_EQ("y1=2 x1=1", walk(it, true));
  kvstore_iterator_close(it);
  EXPECT_EQ(KVSTORE_OK, kvstore_cf_reverse_prefix_iterator_create(cf.get(), "x", 1, &it));
  EXPECT_EQ("x1=1", walk(it, true));
  kvstore_iterator_close(it);
}

TEST_F(CIterator, InAWriteTransactionItSeesItsWritesAndEndsWithIt) {
  for (const bool commits : {true, false}) {
    ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 1));
    put(kv.get(), "b3", "3");
    const auto it = forward("b");
    EXPECT_EQ("b1=1 b2=2 b3=3", walk(it.get()));
    EXPECT_EQ(KVSTORE_OK, kvstore_iterator_first(it.get()));
    ASSERT_EQ(KVSTORE_OK, commits ? kvstore_commit(kv.get()) : kvstore_rollback(kv.get()));
    EXPECT_EQ(1, kvstore_iterator_eof(it.get()));
    EXPECT_EQ(KVSTORE_ERROR, kvstore_iterator_next(it.get()));
    EXPECT_EQ(KVSTORE_ERROR, kvstore_iterator_first(it.get()));
    EXPECT_EQ(KVSTORE_ERROR, kvstore_iterator_seek(it.get(), "b", 1));
    erase(kv.get(), "b3");
  }
}

TEST_F(CIterator, OneOfAReadTransactionOutlivesIt) {
  ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 0));
  const auto it = forward("b");
  ASSERT_EQ(KVSTORE_OK, kvstore_commit(kv.get()));
  put(kv.get(), "b3", "3");
  EXPECT_EQ("b1=1 b2=2", walk(it.get()));
}

TEST_F(CIterator, OneFromBeforeATransactionGoesOn) {
  const auto it = forward("b");
  ASSERT_EQ(KVSTORE_OK, kvstore_begin(kv.get(), 1));
  put(kv.get(), "b3", "3");
  EXPECT_EQ("b1=1 b2=2", walk(it.get()));
  ASSERT_EQ(KVSTORE_OK, kvstore_commit(kv.get()));
  EXPECT_EQ(KVSTORE_OK, kvstore_iterator_first(it.get()));
  EXPECT_EQ("b1=1 b2=2", walk(it.get()));
}

}  // namespace
}  // namespace lapse
