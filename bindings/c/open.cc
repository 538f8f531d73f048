// Opening, closing, and what went wrong.

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "bindings/c/call.h"

namespace lapse::c {

namespace {

using std::chrono::milliseconds;

// How long single operations of other threads, and the removal of keys that reads met expired, may hold the writer
// at most before a handle that does not wish to wait is told KVSTORE_BUSY.
constexpr milliseconds kGrace{50};

Outcome take_config(const KVStoreConfig* config, Options* options) {
  const KVStoreConfig given = config == nullptr ? KVStoreConfig{} : *config;
  switch (given.syncLevel) {
    case KVSTORE_SYNC_OFF:  // 0, so it may be nobody's wish: see kvstore.h
    case KVSTORE_SYNC_NORMAL: options->durability = Durability::kNormal; break;
    case KVSTORE_SYNC_FULL: options->durability = Durability::kFull; break;
    default:
      return Outcome::error("syncLevel is " + std::to_string(given.syncLevel) + ": it goes from 0 to 2");
  }
  if (given.busyTimeout < 0)
    return Outcome::error("busyTimeout is " + std::to_string(given.busyTimeout) +
                          " ms: it cannot be negative");
  options->read_only = given.readOnly != 0;
  options->busy_timeout = std::max(milliseconds(given.busyTimeout), kGrace);
  return {};
}

Outcome open(const char* path, const KVStoreConfig* config, KVStore** out) {
  KVSTORE_TRY(check_given(out, "out"));
  Options options;
  KVSTORE_TRY(take_config(config, &options));
  const bool in_memory = path == nullptr || std::string_view(path) == ":memory:";
  Result<Store> store = in_memory ? Store::open_in_memory(options) : Store::open(path, options);
  if (!store.ok()) return store.status();
  Result<Family> family = store->family("default");
  if (!family.ok()) return family.status();
  auto handle = std::make_shared<Handle>(std::move(*store), options.read_only, options.busy_timeout);
  *out = new KVStore{{std::move(handle), std::move(*family)}};
  return {};
}

}  // namespace

}  // namespace lapse::c

using namespace lapse::c;  // NOLINT(google-build-using-namespace): the functions below are in none

extern "C" {

int kvstore_open(const char* path, KVStore** out, int journal_mode) {
  KVStoreConfig config{};
  config.journalMode = journal_mode;
  return kvstore_open_v2(path, out, &config);
}

int kvstore_open_v2(const char* path, KVStore** out, const KVStoreConfig* config) {
  clear_outputs(out);
  return run(nullptr, [&]() -> Outcome { return open(path, config, out); });
}

int kvstore_close(KVStore* kv) {
  if (kv == nullptr) return report(nullptr, KVSTORE_ERROR, "the handle is NULL");
  Handle& handle = *kv->default_family.handle;
  if (handle.forked()) return KVSTORE_OK;  // all that a child may do
  const std::unique_ptr<KVStore> owned(kv);
  // There is no handle to ask any more, so the message is this thread's.
  return run(nullptr, [&]() -> Outcome { return handle.close(); });
}

const char* kvstore_errmsg(KVStore* kv) {
  if (kv == nullptr) return Failures::latest_without_handle();
  Handle& handle = *kv->default_family.handle;
  return handle.forked() ? handle.failures().latest_in_thread() : handle.failures().latest();
}

}  // extern "C"
