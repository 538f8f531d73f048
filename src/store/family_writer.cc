#include "store/family_writer.h"

#include <algorithm>
#include <utility>

#include "base/checksum.h"
#include "base/try.h"
#include "store/deadlines.h"
#include "store/history.h"
#include "store/visibility.h"

namespace lapse::internal {

Result<FamilyWriter> FamilyWriter::make(WriteTransaction* transaction,
                                        const std::shared_ptr<Family>& family) {
  LAPSE_TRY_ASSIGN(const FamilyRecord* record, transaction->record_of(*family));
  return FamilyWriter(transaction, family, *record);
}

Result<std::optional<Row>> FamilyWriter::stored_row(std::string_view key) const {
  LAPSE_TRY_ASSIGN(const auto bytes, transaction_->engine()->get(data_key(id(), key)));
  if (!bytes) return std::optional<Row>();
  LAPSE_TRY_ASSIGN(Row row, decode_row(key, *bytes));
  return std::optional<Row>(row);
}

Result<std::optional<Row>> FamilyWriter::visible_row(std::string_view key) const {
  Result<std::optional<Row>> row = stored_row(key);
  if (row.ok() && *row && !is_visible((*row)->deadline_ms, now_ms())) return std::optional<Row>();
  return row;
}

Result<int64_t> FamilyWriter::deadline_for(std::string_view key, const Lifetime& lifetime,
                                           std::optional<int64_t> present_deadline_ms) const {
  DeadlineRequest request{
      .lifetime = lifetime, .now_ms = now_ms(), .present_deadline_ms = present_deadline_ms, .jitter_seed = 0};
  if (options().jitter_percent > 0) request.jitter_seed = checksum(key, transaction_->revision());
  return internal::deadline_for(request, options());
}

Status FamilyWriter::put(std::string_view key, std::string_view value, const Lifetime& lifetime) {
  std::optional<Row> old;
  if (record_.reads_before_writes() || lifetime.kind() == Lifetime::Kind::kKeep) {
    LAPSE_TRY_ASSIGN(old, stored_row(key));
  }
  return put_over(key, old, value, lifetime);
}

Status FamilyWriter::put_over(std::string_view key, const std::optional<Row>& old, std::string_view value,
                              const Lifetime& lifetime) {
  std::optional<int64_t> present_deadline_ms;
  if (old && is_visible(old->deadline_ms, now_ms())) present_deadline_ms = old->deadline_ms;
  LAPSE_TRY_ASSIGN(const int64_t deadline_ms, deadline_for(key, lifetime, present_deadline_ms));
  return replace(key, old, NewRow{value, deadline_ms}, Ending::kOverwritten);
}

Result<bool> FamilyWriter::erase(std::string_view key) {
  LAPSE_TRY_ASSIGN(const std::optional<Row> old, stored_row(key));
  if (!old) return false;
  const bool was_visible = is_visible(old->deadline_ms, now_ms());
  LAPSE_TRY(erase_row(key, *old));
  return was_visible;
}

Status FamilyWriter::erase_row(std::string_view key, const Row& old) {
  return replace(key, old, std::nullopt, Ending::kErased);
}

Status FamilyWriter::remove_expired(std::string_view key, const Row& old) {
  LAPSE_TRY(replace(key, old, std::nullopt, Ending::kExpired));
  transaction_->note_removed_expired();
  return {};
}

Status FamilyWriter::set_deadline(std::string_view key, const Row& old, int64_t deadline_ms) {
  const std::string value(old.value);
  return put_row(key, old, NewRow{value, deadline_ms}, old.revision);
}

std::optional<RevisionInfo> FamilyWriter::new_revision() const {
  if (!record_.keeps_revisions()) return std::nullopt;
  transaction_->note_revision();
  return RevisionInfo{.written_at_ms = transaction_->written_at_ms(), .number = transaction_->revision()};
}

// The one place where a key changes.
Status FamilyWriter::replace(std::string_view key, const std::optional<Row>& old,
                             const std::optional<NewRow>& next, Ending ending) {
  std::optional<RevisionInfo> revision = next ? new_revision() : std::nullopt;
  const int64_t old_deadline_ms = old ? old->deadline_ms : kNever;
  const bool had_row = old.has_value();
  if (options().history) {
    HistoryState state;
    if (!old) {
      LAPSE_TRY_ASSIGN(state, state_without_row(*transaction_->engine(), id(), key));
    } else {
      state = state_with_row(*old);
      // What this transaction wrote itself was never there for anyone.
      if (old->revision_number() == transaction_->revision()) {
        --state.newest_ordinal;
        if (!next) LAPSE_TRY(withdraw(transaction_, id(), key, &state));
      } else {
        transaction_->note_revision();
        LAPSE_TRY(archive(transaction_, id(), key, *old, ending, !next));
      }
    }
    if (next) ++state.newest_ordinal;
    LAPSE_TRY(trim(transaction_, id(), key, *options().history, &state));
    if (next) {
      revision->ordinal = state.newest_ordinal;
      revision->oldest_written_at_ms = state.oldest_written_at_ms;
      revision->oldest_number = state.oldest_number;
    }
  }
  if (next) {
    Row before;
    before.deadline_ms = old_deadline_ms;
    LAPSE_TRY(put_row(key, had_row ? std::optional(before) : std::nullopt, *next, revision));
  } else {
    LAPSE_TRY(transaction_->erase(data_key(id(), key)));
    LAPSE_TRY(move_expiry(key, old_deadline_ms, kNever));
  }
  if (options().counted && had_row != next.has_value()) return change_count(next ? 1 : -1);
  return {};
}

Status FamilyWriter::put_row(std::string_view key, const std::optional<Row>& old, const NewRow& next,
                             std::optional<RevisionInfo> revision) {
  Row row;
  row.value = next.value;
  row.deadline_ms = next.deadline_ms;
  row.revision = revision;
  LAPSE_TRY(transaction_->put(data_key(id(), key), encode_row(row)));
  return move_expiry(key, old ? old->deadline_ms : kNever, next.deadline_ms);
}

Status FamilyWriter::move_expiry(std::string_view key, int64_t old_deadline_ms, int64_t new_deadline_ms) {
  if (old_deadline_ms == new_deadline_ms) return {};
  if (old_deadline_ms != kNever) LAPSE_TRY(transaction_->erase(expiry_key(id(), old_deadline_ms, key)));
  if (new_deadline_ms == kNever) return {};
  if (!record_.used_ttl) LAPSE_TRY(remember_ttl_use());
  std::string entry = expiry_key(id(), new_deadline_ms, key);
  LAPSE_TRY(transaction_->put(entry, {}));
  if (entry < family_->due_from) family_->due_from = std::move(entry);
  if (new_deadline_ms <= family_->found_until_ms) ++family_->finding;
  if (new_deadline_ms < family_->next_due_ms.load(std::memory_order_relaxed))
    family_->next_due_ms.store(new_deadline_ms);
  return {};
}

// From now on, writes must look for deadlines that they replace.
Status FamilyWriter::remember_ttl_use() {
  record_.used_ttl = true;
  return transaction_->change_record(family_, record_);
}

Status FamilyWriter::change_count(int64_t by) {
  LAPSE_TRY_ASSIGN(const uint64_t count, read_count(*transaction_->engine(), id()));
  return write_count(transaction_, id(), count + static_cast<uint64_t>(by));
}

Status FamilyWriter::clear() {
  LAPSE_TRY(discard_family_id(transaction_, record_.id));
  LAPSE_TRY_ASSIGN(record_.id, take_family_id(transaction_));
  record_.used_ttl = false;
  return transaction_->change_record(family_, record_);
}

Result<FamilyId> take_family_id(WriteTransaction* transaction) {
  LAPSE_TRY_ASSIGN(const std::optional<FamilyId> next, read_number(*transaction->engine(), kNextIdKey));
  if (!next) return Status(StatusCode::kCorrupt, "the store's catalog has lost its numbering");
  StoreState& state = *transaction->state();
  const FamilyId id = std::max(*next, state.unused_family_id);
  LAPSE_TRY(transaction->put(kNextIdKey, encode_number(id + 1)));
  state.unused_family_id = id + 1;
  return id;
}

Status discard_family_id(WriteTransaction* transaction, FamilyId id) {
  StoreState& state = *transaction->state();
  const std::string key = garbage_key(id);
  state.may_have_garbage = true;
  state.garbage_list_from = std::min(state.garbage_list_from, key);
  return transaction->put(key, {});
}

Status write_count(WriteTransaction* transaction, FamilyId id, uint64_t count) {
  return transaction->put(count_key(id), encode_number(count));
}

Result<uint64_t> read_count(const engine::Reader& reader, FamilyId id) {
  LAPSE_TRY_ASSIGN(const std::optional<uint64_t> count, read_number(reader, count_key(id)));
  return count.value_or(0);
}

}  // namespace lapse::internal
