#include "store/history.h"

#include <limits>

#include "base/try.h"
#include "store/visibility.h"

namespace lapse::internal {

namespace {

// A history row where a cursor stands.
struct Found {
  HistoryKey key;
  HistoryRow row;
};

// The row at the cursor, if it is one of those under `prefix`; `family_prefix` ends where keys begin.
Result<std::optional<Found>> found_at(const engine::Cursor& cursor, std::string_view family_prefix,
                                      std::string_view prefix) {
  if (!cursor.valid() || !cursor.key().starts_with(prefix)) return std::optional<Found>();
  std::optional<HistoryKey> key = parse_history_key(cursor.key().substr(family_prefix.size()));
  if (!key) return Status(StatusCode::kCorrupt, "a history row has a key that cannot be read");
  LAPSE_TRY_ASSIGN(const HistoryRow row, decode_history_row(key->key, cursor.value()));
  return std::optional<Found>(Found{std::move(*key), row});
}

Revision to_revision(const HistoryKey& key, const HistoryRow& row) {
  const Ended ended = end_of_revision(row.deadline_ms, row.ended_at_ms, row.ending);
  return {.value = std::string(row.value),
          .revision = key.revision,
          .written_at_ms = key.written_at_ms,
          .ended_at_ms = ended.at_ms,
          .ending = ended.how,
          .deadline_ms = row.deadline_ms};
}

// The present revision: expired, if it is, whether or not it has been removed.
Revision to_revision(const Row& row, int64_t now_ms) {
  Revision revision{.value = std::string(row.value),
                    .revision = row.revision_number(),
                    .written_at_ms = row.written_at_ms(),
                    .deadline_ms = row.deadline_ms};
  if (!is_visible(row.deadline_ms, now_ms)) {
    revision.ended_at_ms = row.deadline_ms;
    revision.ending = Ending::kExpired;
  }
  return revision;
}

bool was_visible(const Revision& revision, int64_t at_ms) {
  return revision.written_at_ms <= at_ms && is_visible(revision.ended_at_ms, at_ms) &&
         is_visible(revision.deadline_ms, at_ms);
}

Result<std::optional<Row>> data_row(const engine::Reader& reader, FamilyId id, std::string_view key) {
  LAPSE_TRY_ASSIGN(const auto bytes, reader.get(data_key(id, key)));
  if (!bytes) return std::optional<Row>();
  LAPSE_TRY_ASSIGN(const Row row, decode_row(key, *bytes));
  return std::optional<Row>(row);
}

// Whether a policy still keeps a revision, when `newest_ordinal` is that of the newest one.
bool keeps(const std::optional<HistoryPolicy>& policy, const HistoryRow& row, uint64_t newest_ordinal,
           int64_t now_ms) {
  if (!policy) return false;
  if (policy->keep_last > 0 && newest_ordinal - row.ordinal >= policy->keep_last) return false;
  const int64_t ended_ms = end_of_revision(row.deadline_ms, row.ended_at_ms, row.ending).at_ms;
  return policy->keep_for.count() == 0 || ended_ms >= now_ms - policy->keep_for.count();
}

}  // namespace

Ended end_of_revision(int64_t deadline_ms, int64_t at_ms, Ending how) {
  return deadline_ms <= at_ms && deadline_ms != kNever ? Ended{deadline_ms, Ending::kExpired}
                                                       : Ended{at_ms, how};
}

Status archive(WriteTransaction* transaction, FamilyId id, std::string_view key, const Row& old,
               Ending ending, bool is_last) {
  // By the deadline, if that has come; else by the date of the commit, which is that of the revision that follows.
  Ended ended{transaction->written_at_ms(), ending};
  if (!is_visible(old.deadline_ms, transaction->now_ms())) ended = {old.deadline_ms, Ending::kExpired};
  HistoryRow row;
  row.value = old.value;
  row.ending = ended.how;
  row.ended_at_ms = ended.at_ms;
  row.ordinal = old.revision ? old.revision->ordinal : 0;
  row.deadline_ms = old.deadline_ms;
  if (is_last && old.revision) {
    row.oldest_written_at_ms = old.revision->oldest_written_at_ms;
    row.oldest_number = old.revision->oldest_number;
  }
  return transaction->put(history_key(id, key, old.written_at_ms(), old.revision_number()),
                          encode_history_row(row));
}

Status mark_newest_erased(WriteTransaction* transaction, FamilyId id, std::string_view key,
                          const HistoryState& state) {
  const std::string prefix = history_key_prefix(id, key);
  const auto cursor = transaction->engine()->cursor();
  LAPSE_TRY(seek_last_before(cursor.get(), *prefix_end(prefix)));
  LAPSE_TRY_ASSIGN(std::optional<Found> newest, found_at(*cursor, history_prefix(id), prefix));
  if (!newest || newest->row.ending != Ending::kOverwritten) return {};
  newest->row.ending = Ending::kErased;
  newest->row.oldest_written_at_ms = state.oldest_written_at_ms;
  newest->row.oldest_number = state.oldest_number;
  return transaction->put(std::string(cursor->key()), encode_history_row(newest->row));
}

Result<HistoryState> state_without_row(const engine::Reader& reader, FamilyId id, std::string_view key) {
  const std::string prefix = history_key_prefix(id, key);
  const auto cursor = reader.cursor();
  LAPSE_TRY(seek_last_before(cursor.get(), *prefix_end(prefix)));
  LAPSE_TRY_ASSIGN(const std::optional<Found> newest, found_at(*cursor, history_prefix(id), prefix));
  if (!newest) return HistoryState();
  return HistoryState{newest->row.ordinal, newest->row.oldest_written_at_ms, newest->row.oldest_number};
}

Result<uint64_t> trim(WriteTransaction* transaction, FamilyId id, std::string_view key,
                      const HistoryPolicy& policy, HistoryState* state) {
  if (policy.keep_last == 0 && policy.keep_for.count() == 0) return uint64_t{0};
  const std::string family = history_prefix(id);
  const std::string prefix = history_key_prefix(id, key);
  const auto cursor = transaction->engine()->cursor();
  uint64_t trimmed = 0;
  LAPSE_TRY(cursor->seek(history_key(id, key, state->oldest_written_at_ms, state->oldest_number)));
  for (;; ++trimmed) {
    LAPSE_TRY_ASSIGN(const std::optional<Found> oldest, found_at(*cursor, family, prefix));
    if (!oldest) break;
    // Also where it goes now: if all of it does, the next search begins at the last one.
    state->oldest_written_at_ms = oldest->key.written_at_ms;
    state->oldest_number = oldest->key.revision;
    if (keeps(policy, oldest->row, state->newest_ordinal, transaction->written_at_ms())) break;
    LAPSE_TRY(transaction->erase(std::string(cursor->key())));
    LAPSE_TRY(cursor->next());
  }
  return trimmed;
}

Result<std::optional<Revision>> revision_at(const engine::Reader& reader, FamilyId id, std::string_view key,
                                            int64_t at_ms) {
  LAPSE_TRY_ASSIGN(const std::optional<Row> row, data_row(reader, id, key));
  if (row && row->written_at_ms() <= at_ms) {
    Revision present = to_revision(*row, at_ms);
    return was_visible(present, at_ms) ? std::optional(std::move(present)) : std::nullopt;
  }
  const std::string prefix = history_key_prefix(id, key);
  const auto cursor = reader.cursor();
  LAPSE_TRY(seek_last_before(cursor.get(), history_key(id, key, at_ms + 1, 0)));
  LAPSE_TRY_ASSIGN(const std::optional<Found> last, found_at(*cursor, history_prefix(id), prefix));
  if (!last) return std::optional<Revision>();
  Revision past = to_revision(last->key, last->row);
  return was_visible(past, at_ms) ? std::optional(std::move(past)) : std::nullopt;
}

Status for_each_revision(const engine::Reader& reader, FamilyId id, std::string_view key, int64_t now_ms,
                         FunctionRef<bool(const Revision&)> visit) {
  LAPSE_TRY_ASSIGN(const std::optional<Row> row, data_row(reader, id, key));
  if (row && !visit(to_revision(*row, now_ms))) return {};
  const std::string family = history_prefix(id);
  const std::string prefix = history_key_prefix(id, key);
  const auto cursor = reader.cursor();
  for (Status status = seek_last_before(cursor.get(), *prefix_end(prefix));; status = cursor->prev()) {
    LAPSE_TRY(status);
    LAPSE_TRY_ASSIGN(const std::optional<Found> found, found_at(*cursor, family, prefix));
    if (!found || !visit(to_revision(found->key, found->row))) return {};
  }
}

Result<std::optional<Revision>> revision_numbered(const engine::Reader& reader, FamilyId id,
                                                  std::string_view key, uint64_t number, int64_t now_ms) {
  LAPSE_TRY_ASSIGN(const std::optional<Row> row, data_row(reader, id, key));
  if (row && row->revision_number() == number) return std::optional(to_revision(*row, now_ms));
  const std::string family = history_prefix(id);
  const std::string prefix = history_key_prefix(id, key);
  const auto cursor = reader.cursor();
  for (Status status = seek_last_before(cursor.get(), *prefix_end(prefix));; status = cursor->prev()) {
    LAPSE_TRY(status);
    LAPSE_TRY_ASSIGN(const std::optional<Found> found, found_at(*cursor, family, prefix));
    if (!found || found->key.revision < number) return std::optional<Revision>();
    if (found->key.revision == number) return std::optional(to_revision(found->key, found->row));
  }
}

std::optional<Revision> as_seen_at(Revision revision, int64_t at_ms) {
  if (revision.written_at_ms > at_ms) return std::nullopt;
  if (is_visible(revision.ended_at_ms, at_ms)) {
    revision.ended_at_ms = kNever;
    revision.ending = Ending::kNone;
  }
  return revision;
}

Result<uint64_t> trim_some(WriteTransaction* transaction, FamilyId id,
                           const std::optional<HistoryPolicy>& policy, uint64_t limit, std::string* from) {
  const std::string family = history_prefix(id);
  const auto cursor = transaction->engine()->cursor();
  uint64_t trimmed = 0;
  LAPSE_TRY(cursor->seek(from->empty() ? family : *from));
  from->clear();
  for (uint64_t visited = 0; cursor->valid() && cursor->key().starts_with(family); ++visited) {
    *from = cursor->key();
    if (trimmed >= limit || visited == kKeysVisited) return trimmed;
    LAPSE_TRY_ASSIGN(std::optional<Found> oldest, found_at(*cursor, family, family));
    if (!oldest) break;
    const std::string key = oldest->key.key;
    const std::string prefix = history_key_prefix(id, key);
    LAPSE_TRY_ASSIGN(const std::optional<Row> present, data_row(*transaction->engine(), id, key));
    uint64_t newest = present && present->revision ? present->revision->ordinal : 0;
    if (newest == 0) {
      LAPSE_TRY_ASSIGN(const HistoryState state, state_without_row(*transaction->engine(), id, key));
      newest = state.newest_ordinal;
    }
    while (oldest && trimmed < limit && !keeps(policy, oldest->row, newest, transaction->written_at_ms())) {
      LAPSE_TRY(transaction->erase(std::string(cursor->key())));
      ++trimmed;
      LAPSE_TRY(cursor->next());
      LAPSE_TRY_ASSIGN(oldest, found_at(*cursor, family, prefix));
    }
    if (trimmed >= limit) continue;
    LAPSE_TRY(cursor->seek(*prefix_end(prefix)));
  }
  from->clear();
  return trimmed;
}

Status forget_history(WriteTransaction* transaction, FamilyId id) {
  std::string from;
  do {
    LAPSE_TRY(trim_some(transaction, id, std::nullopt, std::numeric_limits<uint64_t>::max(), &from));
  } while (!from.empty());
  return {};
}

}  // namespace lapse::internal
