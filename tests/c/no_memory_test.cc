// Out of memory: every allocation of a read fails once. The call says KVSTORE_NOMEM or succeeds, and nothing comes out of it
// but a code.

#include <cstdlib>
#include <functional>
#include <new>

#include "c_store.h"

namespace {

thread_local int allocations_left = -1;  // below 0: any number

void* allocate(size_t bytes) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t bytes) { return allocate(bytes); }
void* operator new[](size_t bytes) { return allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace lapse {
namespace {

// Makes the call with 0, 1, 2, … allocations, until it has enough. Returns how often it had not.
int starve(const std::function<int()>& call) {
  for (int allowed = 0;; ++allowed) {
    allocations_left = allowed;
    const int code = call();
    const bool enough = allocations_left > 0;
    allocations_left = -1;
    if (enough) {
      EXPECT_EQ(KVSTORE_OK, code);
      return allowed;
    }
    EXPECT_TRUE(code == KVSTORE_OK || code == KVSTORE_NOMEM) << code << " with " << allowed;
    if (allowed > 1000) {
      ADD_FAILURE() << "never enough";
      return allowed;
    }
  }
}

TEST(CNoMemory, Reads) {
  const auto kv = open_store();
  put(kv.get(), "key", std::string(1000, 'v'));
  EXPECT_GT(starve([&] {
              void* value = nullptr;
              int size = 0;
              const int code = kvstore_get(kv.get(), "key", 3, &value, &size);
              EXPECT_EQ(code == KVSTORE_OK, value != nullptr);
              snkv_free(value);
              return code;
            }),
            0);
  EXPECT_STREQ("out of memory", kvstore_errmsg(kv.get()));
  EXPECT_GT(starve([&] {
              char** names = nullptr;
              int count = 0;
              const int code = kvstore_cf_list(kv.get(), &names, &count);
              for (int i = 0; i < count; ++i) snkv_free(names[i]);
              snkv_free(names);
              return code;
            }),
            0);
  EXPECT_GT(starve([&] {
              KVIterator* it = nullptr;
              const int code = kvstore_iterator_create(kv.get(), &it);
              kvstore_iterator_close(it);
              return code;
            }),
            0);
  EXPECT_EQ(1, count(kv.get()));
}

}  // namespace
}  // namespace lapse
