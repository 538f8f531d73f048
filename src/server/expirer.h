// Expirer: keys go at their deadline, not when someone happens by.
//
// It stands on the head of the expiry index. The loop sleeps no longer than until the next deadline (wakeup_ms), and the
// turn that it wakes for begins with removing what is due, at most kPerTurn keys: when a million are due at once, clients
// have their turns between the portions, and when the store's drains fall behind, the portions become small and rare, but
// do not end: who writes a lot must not make keys stay for ever. Databases take their turns in the order of their earliest
// deadlines. What is due and not removed yet is hidden by the store in any case; so when removing fails, as on a full disk,
// it is tried again after a while, and nothing spins meanwhile.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "lapse/keyspace.h"
#include "lapse/status.h"
#include "server/databases.h"
#include "server/turn.h"

namespace lapse::server {

class Expirer {
 public:
  static constexpr uint64_t kPerTurn = 512;   // about a millisecond
  static constexpr int64_t kRetryMs = 1'000;  // after a failure
  static constexpr double kMostBacklog =
      0.25;  // of the store: with more, clients would soon wait for the disk
  static constexpr uint64_t kPerTurnBehind = 32;
  static constexpr int64_t kRestBehindMs = 20;

  Expirer(Databases* databases, Turn* turn) : databases_(databases), turn_(turn) {}

  using Removed = std::function<void(int db, std::string_view key)>;
  // Removes up to `limit` keys that are due at `now_ms`, in this turn. Returns how many went; `more_due`, if given, is
  // told whether there are more.
  Result<uint64_t> remove_due(int64_t now_ms, uint64_t limit, const Removed& removed,
                              bool* more_due = nullptr);
  // The same in one database.
  Result<PurgeResult> remove_due_of(int db, int64_t now_ms, uint64_t limit, const Removed& removed);
  // After each turn: looks where the head of the index is now, of the databases that the turn may have changed.
  Status find_next();
  // Lets it rest: removing, or committing what was removed, has failed.
  void back_off(int64_t now_ms) { retry_at_ms_ = now_ms + kRetryMs; }
  // How much may be removed in a turn, by the store's backlog. If that is less than usual, it rests for a moment after it.
  uint64_t next_portion(int64_t now_ms, double backlog) {
    if (backlog <= kMostBacklog) return kPerTurn;
    retry_at_ms_ = now_ms + kRestBehindMs;
    return kPerTurnBehind;
  }

  // The earliest deadline of all databases; kNever: there is none.
  int64_t next_deadline_ms() const { return next_ms_; }
  // When there is something to do next; kNever: nothing.
  int64_t wakeup_ms() const { return enabled_ ? std::max(next_ms_, retry_at_ms_) : kNever; }
  bool is_due(int64_t now_ms) const { return now_ms >= wakeup_ms(); }

  // DEBUG SET-ACTIVE-EXPIRE.
  void enable(bool enabled) { enabled_ = enabled; }
  bool enabled() const { return enabled_; }

  int64_t lag_ms() const { return lag_ms_; }  // how late the last key went
  int64_t longest_lag_ms() const { return longest_lag_ms_; }
  void reset_statistics() { longest_lag_ms_ = 0; }

 private:
  Result<int64_t> next_deadline(int db) const;
  Result<std::vector<int>> due_databases(int64_t now_ms);

  Databases* databases_;
  Turn* turn_;
  bool enabled_ = true;
  std::vector<int64_t> next_by_db_;  // as it was when looked at last
  int64_t next_ms_ = 0;              // not looked yet
  int64_t retry_at_ms_ = 0;
  int64_t lag_ms_ = 0;
  int64_t longest_lag_ms_ = 0;
};

}  // namespace lapse::server
