// Expiry: removing what is due, by the expiry index, at a cost that grows with what is removed.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "lapse/keyspace.h"
#include "lapse/status.h"
#include "store/batch.h"
#include "store/family_writer.h"
#include "store/keys.h"

namespace lapse::internal {

// The first entries of a family's expiry index, as far as they are due. A purge of many transactions keeps what it has
// found for the next one, so that the index is not searched for each of them anew.
struct DueEntries {
  std::vector<std::string> entries;
  size_t done = 0;   // of entries: these have been removed
  std::string next;  // the first entry behind them; empty: there is none
  int64_t next_deadline_ms = kNever;
  int64_t found_at_ms = 0;  // they are due by this reading of the clock
  uint64_t finding = 0;     // Family::finding, as it was then
};

// A purge finds so many keys at a time.
inline constexpr uint64_t kFoundAtOnce = 16 * kBatchKeys;

// Removes up to `limit` keys that are due, oldest deadline first, and adds them to `removed`, if that is given; fewer, where
// they are too large for one batch. If
// nothing useful is left in `due`, up to `find` are found. REQUIRES: may_remove_due()
Result<PurgeResult> remove_due(FamilyWriter* writer, uint64_t limit, uint64_t find, DueEntries* due,
                               std::vector<Expiring>* removed = nullptr);

// The earliest deadline in the expiry index from `from_ms` on: kNever if there is none.
Result<int64_t> first_deadline(const engine::Reader& reader, FamilyId id, int64_t from_ms);
// The same, as the writer sees it, and remembered from then on.
Result<int64_t> learn_next_due(FamilyWriter* writer);

// Whether remove_due() may find anything: one comparison.
inline bool may_be_due(const Family& family, int64_t now_ms) {
  return now_ms >= family.next_due_ms.load(std::memory_order_relaxed);
}

// Whether what is due by the transaction's reading of the clock may also be removed.
inline bool may_remove_due(const FamilyWriter& writer) {
  return writer.transaction()->state()->may_remove_what_was_due(writer.now_ms());
}

// A key that a read found to be expired.
struct ExpiredKey {
  std::string key;
  int64_t deadline_ms;
};
// Removes those that are still as they were found, a batch of them; returns how many it has looked at. REQUIRES:
// may_remove_due()
Result<size_t> remove_if_unchanged(FamilyWriter* writer, std::span<const ExpiredKey> keys);

// Calls `visit` for the entries with deadlines in [from_ms, to_ms), in order, until it says false.
Status for_each_expiring(const engine::Reader& reader, FamilyId id, int64_t from_ms, int64_t to_ms,
                         FunctionRef<bool(const ExpiryKey&)> visit);

}  // namespace lapse::internal
