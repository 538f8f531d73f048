// Moments that stay.

#include <memory>

#include "bindings/c/call.h"
#include "bindings/c/iterator.h"

// Threads share one; it ends with its handle.
struct KVSnapshot final : public lapse::c::Tenant {
 public:
  KVSnapshot(std::shared_ptr<lapse::c::Handle> owner, lapse::Family family, lapse::Snapshot moment)
      : handle(std::move(owner)), default_family(std::move(family)), snapshot(std::move(moment)) {
    handle->move_in(this);
  }
  ~KVSnapshot() override { handle->move_out(this); }
  KVSnapshot(const KVSnapshot&) = delete;
  KVSnapshot& operator=(const KVSnapshot&) = delete;

  void evict() override { snapshot.reset(); }

  const std::shared_ptr<lapse::c::Handle> handle;
  const lapse::Family default_family;
  std::optional<lapse::Snapshot> snapshot;  // none once its store has been closed
};

namespace lapse::c {

namespace {

Outcome hand_out_snapshot(KVStore* kv, Result<Snapshot> snapshot, KVSnapshot** out) {
  if (!snapshot.ok()) return snapshot.status();
  *out = new KVSnapshot(kv->default_family.handle, kv->default_family.family, std::move(*snapshot));
  return {};
}

// Runs Outcome(const Snapshot&).
template <typename Work>
int on_snapshot(KVSnapshot* snapshot, Work work) noexcept {
  if (snapshot == nullptr) return report(nullptr, KVSTORE_ERROR, "the snapshot is NULL");
  return run(snapshot->handle.get(), [&]() -> Outcome {
    if (!snapshot->snapshot) return Outcome::error("the snapshot ended with its store");
    return work(*snapshot->snapshot);
  });
}

// Runs Outcome(const Reader&) on the moment in the given family.
template <typename Work>
int on_snapshot(KVSnapshot* snapshot, const KVColumnFamily* cf, Work work) noexcept {
  return on_snapshot(snapshot, [&](const Snapshot& moment) -> Outcome {
    return work(moment.in(cf == nullptr ? snapshot->default_family : cf->family));
  });
}

}  // namespace

}  // namespace lapse::c

using namespace lapse::c;  // NOLINT(google-build-using-namespace): the functions below are in none

extern "C" {

int kvstore_snapshot_create(KVStore* kv, KVSnapshot** out) {
  clear_outputs(out);
  return on_store(kv, [&](Handle& handle) -> Outcome {
    KVSTORE_TRY(check_given(out, "out"));
    return hand_out_snapshot(kv, handle.store().snapshot(), out);
  });
}

int kvstore_snapshot_create_at(KVStore* kv, int64_t at_ms, KVSnapshot** out) {
  clear_outputs(out);
  return on_store(kv, [&](Handle& handle) -> Outcome {
    KVSTORE_TRY(check_given(out, "out"));
    return hand_out_snapshot(kv, handle.store().snapshot_at(at_ms), out);
  });
}

int kvstore_snapshot_get(KVSnapshot* snapshot, KVColumnFamily* cf, const void* key, int key_len, void** value,
                         int* value_len) {
  clear_outputs(value, value_len);
  return on_snapshot(snapshot, cf, [&](const lapse::Reader& reader) -> Outcome {
    std::string_view name;
    KVSTORE_TRY(take_bytes(key, key_len, "key", &name));
    KVSTORE_TRY(check_given(value, "value"));
    KVSTORE_TRY(check_given(value_len, "value_len"));
    const auto found = reader.get(name);
    if (!found.ok()) return found.status();
    Counters& counters = snapshot->handle->counters();
    ++counters.gets;
    if (!*found) return Outcome::key_not_found();
    counters.bytes_read += (*found)->size();
    return hand_out(**found, value, value_len);
  });
}

int kvstore_snapshot_exists(KVSnapshot* snapshot, KVColumnFamily* cf, const void* key, int key_len,
                            int* exists) {
  clear_outputs(exists);
  return on_snapshot(snapshot, cf, [&](const lapse::Reader& reader) -> Outcome {
    std::string_view name;
    KVSTORE_TRY(take_bytes(key, key_len, "key", &name));
    KVSTORE_TRY(check_given(exists, "exists"));
    const lapse::Result<bool> found = reader.exists(name);
    if (!found.ok()) return found.status();
    *exists = *found ? 1 : 0;
    return {};
  });
}

int kvstore_snapshot_count(KVSnapshot* snapshot, KVColumnFamily* cf, int64_t* count) {
  clear_outputs(count);
  return on_snapshot(snapshot, cf, [&](const lapse::Reader& reader) -> Outcome {
    KVSTORE_TRY(check_given(count, "count"));
    const lapse::Result<uint64_t> counted = reader.count();
    if (!counted.ok()) return counted.status();
    *count = static_cast<int64_t>(*counted);
    return {};
  });
}

int kvstore_snapshot_iterator_create(KVSnapshot* snapshot, KVColumnFamily* cf, const void* prefix,
                                     int prefix_len, int reverse, KVIterator** out) {
  clear_outputs(out);
  return on_snapshot(snapshot, cf, [&](const lapse::Reader& reader) -> Outcome {
    std::string_view start;
    if (prefix != nullptr || prefix_len != 0) KVSTORE_TRY(take_bytes(prefix, prefix_len, "prefix", &start));
    KVSTORE_TRY(check_given(out, "out"));
    return make_iterator(snapshot->handle, reader, start, reverse != 0, false, out);
  });
}

int kvstore_snapshot_now_ms(KVSnapshot* snapshot, int64_t* now_ms) {
  clear_outputs(now_ms);
  return on_snapshot(snapshot, [&](const lapse::Snapshot& moment) -> Outcome {
    KVSTORE_TRY(check_given(now_ms, "now_ms"));
    *now_ms = moment.now_ms();
    return {};
  });
}

void kvstore_snapshot_close(KVSnapshot* snapshot) {
  if (snapshot != nullptr) destroy(snapshot, *snapshot->handle);
}

}  // extern "C"
