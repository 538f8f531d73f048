// Removing what is due.

#include <algorithm>
#include <limits>

#include "bindings/c/call.h"

namespace lapse::c {

namespace {

constexpr uint64_t kStep = 256;  // what Lapse removes in one transaction

// In steps, so that other threads on the handle get to write in between.
Outcome purge(Handle& handle, Family& family, uint64_t limit, PurgeResult* total) {
  do {
    const PurgeOptions step{.limit = std::min(kStep, limit - total->removed)};
    uint64_t removed = 0;
    KVSTORE_TRY(handle.write(family, [&](Keyspace& keys) -> Outcome {
      const Result<PurgeResult> purged = keys.purge_expired(step);
      if (!purged.ok()) return purged.status();
      removed = purged->removed;
      total->more_due = purged->more_due;
      return {};
    }));
    total->removed += removed;
    handle.counters().purged += removed;
    if (removed == 0) break;
  } while (total->more_due && total->removed < limit);
  return {};
}

}  // namespace

}  // namespace lapse::c

using namespace lapse::c;  // NOLINT(google-build-using-namespace): the functions below are in none

extern "C" {

int kvstore_cf_purge_expired(KVColumnFamily* cf, int* deleted) {
  clear_outputs(deleted);
  return on_family(cf, [&](Handle& handle, lapse::Family& family) -> Outcome {
    lapse::PurgeResult total;
    KVSTORE_TRY(purge(handle, family, std::numeric_limits<uint64_t>::max(), &total));
    set_if_given(deleted, to_int(total.removed));
    return {};
  });
}

int kvstore_cf_purge_expired_limit(KVColumnFamily* cf, int limit, int* deleted, int* more) {
  clear_outputs(deleted, more);
  return on_family(cf, [&](Handle& handle, lapse::Family& family) -> Outcome {
    if (limit < 0)
      return Outcome::error("a limit of " + std::to_string(limit) + " keys: it cannot be negative");
    lapse::PurgeResult total;
    KVSTORE_TRY(purge(handle, family, static_cast<uint64_t>(limit), &total));
    set_if_given(deleted, to_int(total.removed));
    set_if_given(more, total.more_due ? 1 : 0);
    return {};
  });
}

// ------------------------------------------------------------------------------- on the default family

int kvstore_purge_expired(KVStore* kv, int* deleted) {
  return kvstore_cf_purge_expired(default_of(kv), deleted);
}

int kvstore_purge_expired_limit(KVStore* kv, int limit, int* deleted, int* more) {
  return kvstore_cf_purge_expired_limit(default_of(kv), limit, deleted, more);
}

}  // extern "C"
