// History: what a key held before, and when.
//
// A revision was visible from its written_at until it ended: when it was overwritten or erased, or at its deadline,
// whichever came first. The present revision is the data row; those before it are history rows (keys.h, row.h), in the
// order in which they were written. Of several revisions with one date only the last was ever visible.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "engine/engine.h"
#include "lapse/keyspace.h"
#include "lapse/status.h"
#include "store/keys.h"
#include "store/row.h"
#include "store/write_transaction.h"

namespace lapse::internal {

// How a key's history stands after trimming. Its row remembers that; if it has none, its newest history row does.
struct HistoryState {
  uint64_t newest_ordinal = 0;  // 0: there is none
  int64_t oldest_written_at_ms = 0;
  uint64_t oldest_number = 0;
};
Result<HistoryState> history_state(const engine::Reader& reader, FamilyId id, std::string_view key);
HistoryState state_with_row(const Row& row);
// Of a key that has no row.
Result<HistoryState> state_without_row(const engine::Reader& reader, FamilyId id, std::string_view key);

// Moves a row that is being replaced into history; `is_last`, if no row follows it.
// REQUIRES: no write since the row was read
Status archive(WriteTransaction* transaction, FamilyId id, std::string_view key, const Row& old,
               Ending ending, bool is_last);

// The newest value is erased by the transaction that wrote it, as if it had never been: what it overwrote was erased, and the
// revision that had to make room for it is kept. `state` is without it already; to be trimmed afterwards.
Status withdraw(WriteTransaction* transaction, FamilyId id, std::string_view key, HistoryState* state);

// Removes what the policy no longer keeps of a key, starting at `state`, and brings that up to date. Returns how many
// went.
Result<uint64_t> trim(WriteTransaction* transaction, FamilyId id, std::string_view key,
                      const HistoryPolicy& policy, HistoryState* state);

// What was visible at `at_ms`.
Result<std::optional<Revision>> revision_at(const engine::Reader& reader, FamilyId id, std::string_view key,
                                            int64_t at_ms);
Result<std::optional<Revision>> revision_numbered(const engine::Reader& reader, FamilyId id,
                                                  std::string_view key, uint64_t number, int64_t now_ms);
// Newest first, until `visit` says false.
Status for_each_revision(const engine::Reader& reader, FamilyId id, std::string_view key, int64_t now_ms,
                         FunctionRef<bool(const Revision&)> visit);

// A revision as it was to be seen at `at_ms`: nothing if it was written later, and not ended if it ended later.
std::optional<Revision> as_seen_at(Revision revision, int64_t at_ms);

// One step of purge_history(): trims the keys from `*from` on until `limit` revisions went, or kKeysVisited keys have
// been looked at: where there is little to trim, the writer is to be let go as well. Fewer, where there is no room for so
// many. `*from` is where to go on; empty when it is done. Without a policy everything goes.
inline constexpr uint64_t kKeysVisited = 1024;
Result<uint64_t> trim_some(WriteTransaction* transaction, FamilyId id,
                           const std::optional<HistoryPolicy>& policy, uint64_t limit, std::string* from);

// Removes all of it.
Status forget_history(WriteTransaction* transaction, FamilyId id);

}  // namespace lapse::internal
