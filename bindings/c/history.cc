// What a key held before.

#include <cstring>
#include <limits>
#include <vector>

#include "bindings/c/call.h"

namespace lapse::c {

namespace {

int64_t or_none(int64_t time_ms) { return time_ms == kNever ? KVSTORE_NO_TTL : time_ms; }

int ending_of(Ending ending) {
  switch (ending) {
    case Ending::kNone: return KVSTORE_ENDING_NONE;
    case Ending::kOverwritten: return KVSTORE_ENDING_OVERWRITTEN;
    case Ending::kErased: return KVSTORE_ENDING_DELETED;
    case Ending::kExpired: return KVSTORE_ENDING_EXPIRED;
  }
  return KVSTORE_ENDING_NONE;
}

// One block: the list, then the bytes that it points to.
KVRevision* to_block(const std::vector<Revision>& revisions) {
  size_t bytes = revisions.size() * sizeof(KVRevision);
  for (const Revision& revision : revisions) bytes += revision.value.size() + 1;
  auto* const list = static_cast<KVRevision*>(snkv_malloc(bytes));
  if (list == nullptr) throw std::bad_alloc();
  char* next = reinterpret_cast<char*>(list + revisions.size());
  for (size_t i = 0; i < revisions.size(); ++i) {
    const Revision& from = revisions[i];
    std::memcpy(next, from.value.c_str(), from.value.size() + 1);
    list[i] = {.revision = from.revision,
               .written_ms = from.written_at_ms,
               .ended_ms = or_none(from.ended_at_ms),
               .expire_ms = or_none(from.deadline_ms),
               .ending = ending_of(from.ending),
               .value_len = static_cast<int>(from.value.size()),
               .value = next};
    next += from.value.size() + 1;
  }
  return list;
}

}  // namespace

}  // namespace lapse::c

using namespace lapse::c;  // NOLINT(google-build-using-namespace): the functions below are in none

extern "C" {

int kvstore_cf_get_at(KVColumnFamily* cf, const void* key, int key_len, int64_t at_ms, void** value,
                      int* value_len) {
  clear_outputs(value, value_len);
  return on_key(cf, key, key_len,
                [&](Handle& handle, const lapse::Family& family, std::string_view name) -> Outcome {
                  KVSTORE_TRY(check_given(value, "value"));
                  KVSTORE_TRY(check_given(value_len, "value_len"));
                  return handle.read(family, [&](const lapse::Reader& reader) -> Outcome {
                    const auto found = reader.get_at(name, at_ms);
                    if (!found.ok()) return found.status();
                    ++handle.counters().gets;
                    if (!*found) return Outcome::key_not_found();
                    handle.counters().bytes_read += (*found)->size();
                    return hand_out(**found, value, value_len);
                  });
                });
}

int kvstore_cf_history(KVColumnFamily* cf, const void* key, int key_len, KVRevision** revisions, int* count) {
  clear_outputs(revisions, count);
  return on_key(cf, key, key_len,
                [&](Handle& handle, const lapse::Family& family, std::string_view name) -> Outcome {
                  KVSTORE_TRY(check_given(revisions, "revisions"));
                  KVSTORE_TRY(check_given(count, "count"));
                  return handle.read(family, [&](const lapse::Reader& reader) -> Outcome {
                    const lapse::Result<std::vector<lapse::Revision>> kept = reader.history(name);
                    if (!kept.ok()) return kept.status();
                    *revisions = to_block(*kept);
                    *count = to_int(kept->size());
                    return {};
                  });
                });
}

int kvstore_cf_restore(KVColumnFamily* cf, const void* key, int key_len, int64_t at_ms, int64_t expire_ms) {
  return on_key(cf, key, key_len,
                [&](Handle& handle, lapse::Family& family, std::string_view name) -> Outcome {
                  lapse::Lifetime lifetime;
                  KVSTORE_TRY(take_lifetime(expire_ms, &lifetime));
                  return handle.write(family, [&](lapse::Keyspace& keys) -> Outcome {
                    const lapse::Result<bool> restored = keys.restore(name, at_ms, lifetime);
                    if (!restored.ok()) return restored.status();
                    if (!*restored) return Outcome::key_not_found();
                    ++handle.counters().puts;
                    return {};
                  });
                });
}

// ------------------------------------------------------------------------------- on the default family

int kvstore_get_at(KVStore* kv, const void* key, int key_len, int64_t at_ms, void** value, int* value_len) {
  return kvstore_cf_get_at(default_of(kv), key, key_len, at_ms, value, value_len);
}

int kvstore_history(KVStore* kv, const void* key, int key_len, KVRevision** revisions, int* count) {
  return kvstore_cf_history(default_of(kv), key, key_len, revisions, count);
}

int kvstore_restore(KVStore* kv, const void* key, int key_len, int64_t at_ms, int64_t expire_ms) {
  return kvstore_cf_restore(default_of(kv), key, key_len, at_ms, expire_ms);
}

}  // extern "C"
