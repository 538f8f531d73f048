#include "store/history.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/try.h"
#include "store/visibility.h"

namespace lapse::internal {

namespace {

// A history row where a cursor stands.
struct Found {
  HistoryKey key;
  HistoryRow row;
};

// Where a key's history lies, from its oldest row on. Before that, and around it among the rows of other keys, may be any
// number of rows that were trimmed, and that the engine has not done with yet: whoever looks further walks over them.
engine::Range history_range(FamilyId id, std::string_view key, const HistoryState& state) {
  return {history_key(id, key, state.oldest_written_at_ms, state.oldest_number),
          prefix_end(history_key_prefix(id, key))};
}

// The row at a cursor over history; nothing if it has no position.
Result<std::optional<Found>> found_at(const engine::Cursor& cursor, FamilyId id) {
  if (!cursor.valid()) return std::optional<Found>();
  std::optional<HistoryKey> key = parse_history_key(cursor.key().substr(history_prefix(id).size()));
  if (!key) return Status(StatusCode::kCorrupt, "a history row has a key that cannot be read");
  LAPSE_TRY_ASSIGN(const HistoryRow row, decode_history_row(key->key, cursor.value()));
  return std::optional<Found>(Found{std::move(*key), row});
}

Revision to_revision(const HistoryKey& key, const HistoryRow& row) {
  return {.value = std::string(row.value),
          .revision = key.revision,
          .written_at_ms = key.written_at_ms,
          .ended_at_ms = row.ended_at_ms,
          .ending = row.ending,
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

Result<HistoryState> state_of(const engine::Reader& reader, FamilyId id, std::string_view key,
                              const std::optional<Row>& row) {
  return row ? state_with_row(*row) : state_without_row(reader, id, key);
}

// The history rows of a key that has this row, or none: newest first, until `visit` says false.
Status for_each_past(const engine::Reader& reader, FamilyId id, std::string_view key,
                     const std::optional<Row>& row, FunctionRef<bool(const Found&)> visit) {
  LAPSE_TRY_ASSIGN(const HistoryState state, state_of(reader, id, key, row));
  const auto cursor = reader.cursor(history_range(id, key, state));
  for (Status status = cursor->last();; status = cursor->prev()) {
    LAPSE_TRY(status);
    LAPSE_TRY_ASSIGN(const std::optional<Found> found, found_at(*cursor, id));
    if (!found || !visit(*found)) return {};
  }
}

// Whether a policy still keeps a revision, when `newest_ordinal` is that of the newest one. Those that it does not keep are
// older than all that it does: one whose deadline had passed when it was written ended no sooner than it was written.
bool keeps(const std::optional<HistoryPolicy>& policy, const Found& past, uint64_t newest_ordinal,
           int64_t now_ms) {
  if (!policy) return false;
  if (policy->keep_last > 0 && newest_ordinal - past.row.ordinal >= policy->keep_last) return false;
  const int64_t ended_at_ms = std::max(past.row.ended_at_ms, past.key.written_at_ms);
  return policy->keep_for.count() == 0 || ended_at_ms >= now_ms - policy->keep_for.count();
}

// Whether a revision that goes would be kept, if there were no newest one.
bool is_displaced(const std::optional<HistoryPolicy>& policy, const HistoryRow& row,
                  uint64_t newest_ordinal) {
  return policy && policy->keep_last > 0 && newest_ordinal - row.ordinal == policy->keep_last;
}

// After so many it is worth a write to spare others the walk over them.
constexpr uint64_t kManyTrimmed = 64;

// trim(), of `limit` rows at most. Without a policy everything goes.
Result<uint64_t> trim_up_to(WriteTransaction* transaction, FamilyId id, std::string_view key,
                            const std::optional<HistoryPolicy>& policy, uint64_t limit, HistoryState* state) {
  const auto cursor = transaction->engine()->cursor(history_range(id, key, *state));
  uint64_t trimmed = 0;
  for (Status status = cursor->first(); trimmed < limit; status = cursor->next(), ++trimmed) {
    LAPSE_TRY(status);
    LAPSE_TRY_ASSIGN(const std::optional<Found> oldest, found_at(*cursor, id));
    if (!oldest) break;
    // Also where it goes now: if all of it does, the next search begins at the last one.
    state->oldest_written_at_ms = oldest->key.written_at_ms;
    state->oldest_number = oldest->key.revision;
    if (keeps(policy, *oldest, state->newest_ordinal, transaction->written_at_ms())) break;
    if (transaction->remembers_trimmed_rows() && is_displaced(policy, oldest->row, state->newest_ordinal)) {
      WriteTransaction::TrimmedRow row{oldest->key.written_at_ms, oldest->key.revision, {}};
      if (policy->keep_last == 1)
        row.bytes = cursor->value();  // the one that the new revision has just replaced
      transaction->note_trimmed(history_key_prefix(id, key), std::move(row));
    }
    LAPSE_TRY(transaction->erase(std::string(cursor->key())));
  }
  return trimmed;
}

struct Ended {
  int64_t at_ms;
  Ending how;
};

// When a row ended that is being replaced. Where dates are ahead of the clock, its deadline may have come by them and not by the
// clock: those who look back saw the row until then, or, if its deadline was behind the dates from the start, never.
Ended end_of(const Row& old, const WriteTransaction& transaction, Ending how) {
  const Ended expired{old.deadline_ms, Ending::kExpired};
  if (!is_visible(old.deadline_ms, transaction.now_ms())) return expired;
  if (old.deadline_ms <= old.written_at_ms()) return {old.written_at_ms(), how};
  if (!is_visible(old.deadline_ms, transaction.written_at_ms())) return expired;
  return {transaction.written_at_ms(), how};  // the date of the revision that follows
}

// Of a key that has no row, the newest history row says where its history begins.
Status change_newest(WriteTransaction* transaction, FamilyId id, std::string_view key,
                     const HistoryState& state, FunctionRef<bool(HistoryRow*)> change) {
  const auto cursor = transaction->engine()->cursor(history_range(id, key, state));
  LAPSE_TRY(cursor->last());
  LAPSE_TRY_ASSIGN(std::optional<Found> newest, found_at(*cursor, id));
  if (!newest || !change(&newest->row)) return {};
  newest->row.oldest_written_at_ms = state.oldest_written_at_ms;
  newest->row.oldest_number = state.oldest_number;
  return transaction->put(std::string(cursor->key()), encode_history_row(newest->row));
}

// What the transaction had overwritten, it has erased in the end.
Status mark_newest_erased(WriteTransaction* transaction, FamilyId id, std::string_view key,
                          const HistoryState& state) {
  return change_newest(transaction, id, key, state, [](HistoryRow* newest) {
    return std::exchange(newest->ending, Ending::kErased) == Ending::kOverwritten;
  });
}

// Whether a row that says where a history begins is to be written again for that alone. Large ones would cost more than they
// spare.
template <typename AnyRow>
bool is_worth_noting(const HistoryState& state, const AnyRow& begins, size_t value_bytes) {
  constexpr size_t kMostValueBytes = 64 << 10;
  return value_bytes <= kMostValueBytes && (begins.oldest_written_at_ms != state.oldest_written_at_ms ||
                                            begins.oldest_number != state.oldest_number);
}

// Where the history of a key begins, by the row that says so. Without it looks back are right, too, and slower until a drain.
Status note_oldest(WriteTransaction* transaction, FamilyId id, std::string_view key,
                   const HistoryState& state) {
  LAPSE_TRY_ASSIGN(std::optional<Row> row, data_row(*transaction->engine(), id, key));
  if (!row) {
    return change_newest(transaction, id, key, state, [&](HistoryRow* newest) {
      return is_worth_noting(state, *newest, newest->value.size());
    });
  }
  if (!row->revision || row->revision->ordinal == 0) return {};  // it has no such fields
  if (!is_worth_noting(state, *row->revision, row->value.size())) return {};
  row->revision->oldest_written_at_ms = state.oldest_written_at_ms;
  row->revision->oldest_number = state.oldest_number;
  return transaction->put(data_key(id, key), encode_row(*row));
}

// The same, if there is room for it.
Status note_oldest_if_it_fits(WriteTransaction* transaction, FamilyId id, std::string_view key,
                              const HistoryState& state) {
  const engine::Savepoint before = transaction->savepoint();
  const Status noted = note_oldest(transaction, id, key, state);
  return noted.code() == StatusCode::kTooLarge ? transaction->rollback_to(before) : noted;
}

}  // namespace

Status archive(WriteTransaction* transaction, FamilyId id, std::string_view key, const Row& old,
               Ending ending, bool is_last) {
  const Ended ended = end_of(old, *transaction, ending);
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

Status withdraw(WriteTransaction* transaction, FamilyId id, std::string_view key, HistoryState* state) {
  if (const auto* trimmed = transaction->trimmed_row(history_key_prefix(id, key))) {
    const std::string row_key = history_key(id, key, trimmed->written_at_ms, trimmed->revision);
    std::optional<std::string> row = trimmed->bytes;
    if (!row) {
      LAPSE_TRY_ASSIGN(row, transaction->engine()->get_committed(row_key));
    }
    if (row) {
      state->oldest_written_at_ms = trimmed->written_at_ms;
      state->oldest_number = trimmed->revision;
      LAPSE_TRY(transaction->put(row_key, *row));
    }
  }
  return mark_newest_erased(transaction, id, key, *state);
}

HistoryState state_with_row(const Row& row) {
  const RevisionInfo revision = row.revision.value_or(RevisionInfo());
  return {revision.ordinal, revision.oldest_written_at_ms, revision.oldest_number};
}

Result<HistoryState> state_without_row(const engine::Reader& reader, FamilyId id, std::string_view key) {
  const auto cursor = reader.cursor(history_range(id, key, HistoryState()));
  LAPSE_TRY(cursor->last());
  LAPSE_TRY_ASSIGN(const std::optional<Found> newest, found_at(*cursor, id));
  if (!newest) return HistoryState();
  return HistoryState{newest->row.ordinal, newest->row.oldest_written_at_ms, newest->row.oldest_number};
}

Result<HistoryState> history_state(const engine::Reader& reader, FamilyId id, std::string_view key) {
  LAPSE_TRY_ASSIGN(const std::optional<Row> row, data_row(reader, id, key));
  return state_of(reader, id, key, row);
}

Result<uint64_t> trim(WriteTransaction* transaction, FamilyId id, std::string_view key,
                      const HistoryPolicy& policy, HistoryState* state) {
  if (policy.keep_last == 0 && policy.keep_for.count() == 0) return uint64_t{0};
  return trim_up_to(transaction, id, key, policy, std::numeric_limits<uint64_t>::max(), state);
}

Result<std::optional<Revision>> revision_at(const engine::Reader& reader, FamilyId id, std::string_view key,
                                            int64_t at_ms) {
  LAPSE_TRY_ASSIGN(const std::optional<Row> row, data_row(reader, id, key));
  if (row && row->written_at_ms() <= at_ms) {
    Revision present = to_revision(*row, at_ms);
    return was_visible(present, at_ms) ? std::optional(std::move(present)) : std::nullopt;
  }
  LAPSE_TRY_ASSIGN(const HistoryState state, state_of(reader, id, key, row));
  engine::Range written_by_then = history_range(id, key, state);
  written_by_then.to = history_key(id, key, at_ms + 1, 0);
  const auto cursor = reader.cursor(std::move(written_by_then));
  LAPSE_TRY(cursor->last());
  LAPSE_TRY_ASSIGN(const std::optional<Found> last, found_at(*cursor, id));
  if (!last) return std::optional<Revision>();
  Revision past = to_revision(last->key, last->row);
  return was_visible(past, at_ms) ? std::optional(std::move(past)) : std::nullopt;
}

Status for_each_revision(const engine::Reader& reader, FamilyId id, std::string_view key, int64_t now_ms,
                         FunctionRef<bool(const Revision&)> visit) {
  LAPSE_TRY_ASSIGN(const std::optional<Row> row, data_row(reader, id, key));
  if (row && !visit(to_revision(*row, now_ms))) return {};
  return for_each_past(reader, id, key, row,
                       [&](const Found& past) { return visit(to_revision(past.key, past.row)); });
}

Result<std::optional<Revision>> revision_numbered(const engine::Reader& reader, FamilyId id,
                                                  std::string_view key, uint64_t number, int64_t now_ms) {
  LAPSE_TRY_ASSIGN(const std::optional<Row> row, data_row(reader, id, key));
  if (row && row->revision_number() == number) return std::optional(to_revision(*row, now_ms));
  std::optional<Revision> numbered;
  LAPSE_TRY(for_each_past(reader, id, key, row, [&](const Found& past) {
    if (past.key.revision == number) numbered = to_revision(past.key, past.row);
    return past.key.revision > number;
  }));
  return numbered;
}

std::optional<Revision> as_seen_at(Revision revision, int64_t at_ms) {
  if (revision.written_at_ms > at_ms) return std::nullopt;
  if (is_visible(revision.ended_at_ms, at_ms)) {
    revision.ended_at_ms = kNever;
    revision.ending = Ending::kNone;
  }
  return revision;
}

namespace {

// trim_some(), or an error if there is no room for so much.
Result<uint64_t> trim_at_once(WriteTransaction* transaction, FamilyId id,
                              const std::optional<HistoryPolicy>& policy, uint64_t limit, std::string* from) {
  const std::string family = history_prefix(id);
  const auto cursor = transaction->engine()->cursor({family, prefix_end(family)});
  uint64_t trimmed = 0;
  LAPSE_TRY(cursor->seek(*from));
  bool may_go_on = !from->empty();  // with a key of which another step may have trimmed some
  from->clear();
  for (uint64_t visited = 0; cursor->valid(); ++visited) {
    *from = cursor->key();
    if (trimmed >= limit || visited == kKeysVisited) return trimmed;
    LAPSE_TRY_ASSIGN(const std::optional<Found> oldest, found_at(*cursor, id));
    if (!oldest) break;
    const std::string& key = oldest->key.key;
    LAPSE_TRY_ASSIGN(const std::optional<Row> present, data_row(*transaction->engine(), id, key));
    uint64_t newest = present ? state_with_row(*present).newest_ordinal : 0;
    if (newest == 0) {
      LAPSE_TRY_ASSIGN(const HistoryState state, state_without_row(*transaction->engine(), id, key));
      newest = state.newest_ordinal;
    }
    HistoryState state{newest, oldest->key.written_at_ms, oldest->key.revision};
    LAPSE_TRY_ASSIGN(const uint64_t went, trim_up_to(transaction, id, key, policy, limit - trimmed, &state));
    trimmed += went;
    const std::string all_of_it = history_key_prefix(id, key);
    const std::string rest = history_key(id, key, state.oldest_written_at_ms, state.oldest_number);
    bool is_done = trimmed < limit;
    if (!is_done) {  // unless there is no more
      LAPSE_TRY(cursor->seek(rest));
      is_done = !cursor->valid() || !cursor->key().starts_with(all_of_it);
    }
    if (is_done && (may_go_on || went >= kManyTrimmed))
      LAPSE_TRY(note_oldest_if_it_fits(transaction, id, key, state));
    may_go_on = false;
    LAPSE_TRY(cursor->seek(is_done ? *prefix_end(all_of_it) : rest));
  }
  from->clear();
  return trimmed;
}

}  // namespace

Result<uint64_t> trim_some(WriteTransaction* transaction, FamilyId id,
                           const std::optional<HistoryPolicy>& policy, uint64_t limit, std::string* from) {
  const engine::Savepoint before = transaction->savepoint();
  const std::string began_at = *from;
  for (;; limit /= 2) {
    Result<uint64_t> trimmed = trim_at_once(transaction, id, policy, limit, from);
    if (trimmed.ok() || trimmed.status().code() != StatusCode::kTooLarge || limit == 1) return trimmed;
    LAPSE_TRY(transaction->rollback_to(before));
    *from = began_at;
  }
}

Status forget_history(WriteTransaction* transaction, FamilyId id) {
  std::string from;
  do {
    LAPSE_TRY(trim_some(transaction, id, std::nullopt, std::numeric_limits<uint64_t>::max(), &from));
  } while (!from.empty());
  return {};
}

}  // namespace lapse::internal
