#include "server/expirer.h"

#include <utility>
#include <vector>

#include "base/try.h"

namespace lapse::server {

// The earliest deadline in a database; kNever in one whose family has been dropped.
Result<int64_t> Expirer::next_deadline(int db) const {
  Result<int64_t> next_ms = databases_->family(db).next_deadline();
  if (!next_ms.ok() && next_ms.status().code() == StatusCode::kNotFound) return kNever;
  return next_ms;
}

// Those with keys that are due, the one with the earliest deadline first.
Result<std::vector<int>> Expirer::due_databases(int64_t now_ms) {
  std::vector<std::pair<int64_t, int>> by_deadline;
  next_by_db_.resize(static_cast<size_t>(databases_->size()));
  for (int db = 0; db < databases_->size(); ++db) {
    LAPSE_TRY_ASSIGN(const int64_t next_ms, next_deadline(db));
    next_by_db_[static_cast<size_t>(db)] = next_ms;
    if (now_ms >= next_ms) by_deadline.emplace_back(next_ms, db);
  }
  std::sort(by_deadline.begin(), by_deadline.end());
  std::vector<int> due;
  due.reserve(by_deadline.size());
  for (const auto& [next_ms, db] : by_deadline) due.push_back(db);
  return due;
}

Result<uint64_t> Expirer::remove_due(int64_t now_ms, uint64_t limit, const Removed& removed, bool* more_due) {
  LAPSE_TRY_ASSIGN(const std::vector<int> due, due_databases(now_ms));
  uint64_t gone = 0;
  bool more = false;
  for (size_t i = 0; i < due.size() && !more; ++i) {
    LAPSE_TRY_ASSIGN(const PurgeResult result, remove_due_of(due[i], now_ms, limit - gone, removed));
    gone += result.removed;
    more = result.more_due;
  }
  if (more_due != nullptr) *more_due = more;
  return gone;
}

Result<PurgeResult> Expirer::remove_due_of(int db, int64_t now_ms, uint64_t limit, const Removed& removed) {
  LAPSE_TRY_ASSIGN(Keyspace * keys, turn_->write(db));
  PurgeOptions options;
  options.limit = limit;
  options.removed = [&](const RemovedKey& key) {
    lag_ms_ = now_ms - key.deadline_ms;
    longest_lag_ms_ = std::max(longest_lag_ms_, lag_ms_);
    removed(db, key.key);
  };
  return keys->purge_expired(options);
}

Status Expirer::find_next() {
  next_by_db_.resize(static_cast<size_t>(databases_->size()));
  for (int db = 0; db < databases_->size(); ++db) {
    if (!turn_->may_have_changed(db)) continue;
    LAPSE_TRY_ASSIGN(next_by_db_[static_cast<size_t>(db)], next_deadline(db));
  }
  turn_->forget_changes();
  next_ms_ = *std::min_element(next_by_db_.begin(), next_by_db_.end());
  return {};
}

}  // namespace lapse::server
