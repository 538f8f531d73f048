#include "server/expirer.h"

#include <algorithm>

#include "base/try.h"

namespace lapse::server {

// The earliest deadline in a database; kNever in one whose family has been dropped.
Result<int64_t> Expirer::next_deadline(int db) const {
  const Result<int64_t> next_ms = databases_->family(db).next_deadline();
  if (!next_ms.ok() && next_ms.status().code() == StatusCode::kNotFound) return kNever;
  return next_ms;
}

Result<uint64_t> Expirer::remove_due(int64_t now_ms, uint64_t limit, const Removed& removed, bool* more_due) {
  uint64_t gone = 0;
  bool more = false;
  for (int db = 0; db < databases_->size() && !more; ++db) {
    LAPSE_TRY_ASSIGN(const int64_t next_ms, next_deadline(db));
    if (now_ms < next_ms) continue;
    LAPSE_TRY_ASSIGN(Keyspace * keys, turn_->write(db));
    PurgeOptions options;
    options.limit = limit - gone;
    options.removed = [&](const RemovedKey& key) {
      lag_ms_ = now_ms - key.deadline_ms;
      longest_lag_ms_ = std::max(longest_lag_ms_, lag_ms_);
      removed(db, key.key, key.deadline_ms);
    };
    LAPSE_TRY_ASSIGN(const PurgeResult result, keys->purge_expired(options));
    gone += result.removed;
    more = result.more_due;
  }
  if (more_due != nullptr) *more_due = more;
  return gone;
}

Status Expirer::find_next() {
  next_ms_ = kNever;
  for (int db = 0; db < databases_->size(); ++db) {
    LAPSE_TRY_ASSIGN(const int64_t next_ms, next_deadline(db));
    next_ms_ = std::min(next_ms_, next_ms);
  }
  return {};
}

}  // namespace lapse::server
