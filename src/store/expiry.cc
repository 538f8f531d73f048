#include "store/expiry.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/try.h"
#include "store/visibility.h"

namespace lapse::internal {

namespace {

Result<ExpiryKey> parse(std::string_view key, size_t prefix_bytes) {
  const std::optional<ExpiryKey> entry = parse_expiry_key(key.substr(prefix_bytes));
  if (!entry) return Status(StatusCode::kCorrupt, "an expiry entry has a key that cannot be read");
  return *entry;
}

// Of the oldest entries that are due, at most `limit`.
Result<DueEntries> find_due(const FamilyWriter& writer, uint64_t limit) {
  const std::string prefix = expiry_prefix(writer.id());
  Family& family = *writer.family();
  const std::string& from = family.due_from;
  DueEntries due;
  due.found_at_ms = writer.now_ms();
  const auto cursor =
      writer.transaction()->engine()->cursor({from.starts_with(prefix) ? from : prefix, prefix_end(prefix)});
  for (Status status = cursor->first();; status = cursor->next()) {
    LAPSE_TRY(status);
    if (!cursor->valid()) break;
    LAPSE_TRY_ASSIGN(const ExpiryKey entry, parse(cursor->key(), prefix.size()));
    if (is_visible(entry.deadline_ms, writer.now_ms()) || due.entries.size() == limit) {
      due.next = cursor->key();
      due.next_deadline_ms = entry.deadline_ms;
      break;
    }
    due.entries.emplace_back(cursor->key());
  }
  family.found_until_ms = due.next_deadline_ms;
  due.finding = ++family.finding;
  return due;
}

// Whether the rest of `due` is still all that is due before its end: the clock has not gone back, nobody has looked again or
// added an entry, and the search still begins where the last removal left it. Entries that are gone do no harm.
bool is_up_to_date(const FamilyWriter& writer, const DueEntries& due) {
  const Family& family = *writer.family();
  return due.done < due.entries.size() && due.found_at_ms <= writer.now_ms() &&
         due.finding == family.finding && family.due_from == due.entries[due.done];
}

// Of the first few entries; returns how many.
size_t expect_keys(const FamilyWriter& writer, std::span<const std::string> entries, size_t prefix_bytes) {
  std::string_view keys[kExpectedAtOnce];
  const size_t count = std::min(entries.size(), kExpectedAtOnce);
  for (size_t i = 0; i < count; ++i) {
    if (const Result<ExpiryKey> entry = parse(entries[i], prefix_bytes); entry.ok()) keys[i] = entry->key;
  }
  writer.expect({keys, count});
  return count;
}

// From now on, the search for what is due begins behind what was removed.
Status raise_hints(FamilyWriter* writer, const DueEntries& due) {
  std::string from = due.next.empty() ? expiry_from(writer->id(), kNever) : due.next;
  int64_t deadline_ms = due.next_deadline_ms;
  if (due.done < due.entries.size()) {
    from = due.entries[due.done];
    LAPSE_TRY_ASSIGN(const ExpiryKey entry, parse(from, expiry_prefix(writer->id()).size()));
    deadline_ms = entry.deadline_ms;
  }
  WriteTransaction& transaction = *writer->transaction();
  transaction.note_raised_hint();
  Family& family = *writer->family();
  family.due_raised_by.store(transaction.revision() - (transaction.has_written() ? 0 : 1));
  family.due_from = std::move(from);
  family.next_due_ms.store(deadline_ms);
  return {};
}

}  // namespace

Result<PurgeResult> remove_due(FamilyWriter* writer, uint64_t limit, uint64_t find, DueEntries* due,
                               std::vector<Expiring>* removed) {
  if (!is_up_to_date(*writer, *due)) {
    LAPSE_TRY_ASSIGN(*due, find_due(*writer, find));
  }
  const size_t prefix_bytes = expiry_prefix(writer->id()).size();
  const size_t end = due->done + std::min<size_t>(limit, due->entries.size() - due->done);
  PurgeResult result;
  const std::span<const std::string> entries = std::span(due->entries).first(end);
  Batch batch(writer->transaction());
  for (size_t expected = due->done; due->done < end; ++due->done) {
    if (due->done == expected) expected += expect_keys(*writer, entries.subspan(expected), prefix_bytes);
    const std::string& bytes = due->entries[due->done];
    LAPSE_TRY_ASSIGN(const ExpiryKey entry, parse(bytes, prefix_bytes));
    LAPSE_TRY_ASSIGN(const std::optional<Row> row, writer->stored_row(entry.key));
    const bool is_due = row && row->deadline_ms == entry.deadline_ms;
    // Else it has been removed since it was found; or it is nobody's, which never is, and must not touch the key.
    LAPSE_TRY_ASSIGN(const bool fits, batch.take([&] {
      return is_due ? writer->remove_expired(entry.key, *row) : writer->transaction()->erase(bytes);
    }));
    if (!fits) break;
    if (!is_due) continue;
    ++result.removed;
    if (removed != nullptr) removed->push_back({std::string(entry.key), entry.deadline_ms});
  }
  result.more_due = due->done < due->entries.size() || !is_visible(due->next_deadline_ms, writer->now_ms());
  LAPSE_TRY(raise_hints(writer, *due));
  return result;
}

Result<int64_t> first_deadline(const engine::Reader& reader, FamilyId id, int64_t from_ms) {
  int64_t first_ms = kNever;
  LAPSE_TRY(for_each_expiring(reader, id, from_ms, kNever, [&](const ExpiryKey& entry) {
    first_ms = entry.deadline_ms;
    return false;
  }));
  return first_ms;
}

Result<int64_t> learn_next_due(FamilyWriter* writer) {
  writer->family()->forget_due();  // whoever asks does not trust it
  LAPSE_TRY_ASSIGN(const DueEntries due, find_due(*writer, 0));
  LAPSE_TRY(raise_hints(writer, due));
  return due.next_deadline_ms;
}

Result<size_t> remove_if_unchanged(FamilyWriter* writer, std::span<const ExpiredKey> keys) {
  Batch batch(writer->transaction());
  size_t done = 0;
  for (const ExpiredKey& key : keys.first(std::min(keys.size(), kBatchKeys))) {
    LAPSE_TRY_ASSIGN(const std::optional<Row> row, writer->stored_row(key.key));
    if (row && row->deadline_ms == key.deadline_ms) {
      LAPSE_TRY_ASSIGN(const bool fits, batch.take([&] { return writer->remove_expired(key.key, *row); }));
      if (!fits) break;
    }
    ++done;
  }
  return done;
}

Status for_each_expiring(const engine::Reader& reader, FamilyId id, int64_t from_ms, int64_t to_ms,
                         FunctionRef<bool(const ExpiryKey&)> visit) {
  const std::string prefix = expiry_prefix(id);
  const auto cursor = reader.cursor({expiry_from(id, from_ms), prefix_end(prefix)});
  for (Status status = cursor->first();; status = cursor->next()) {
    LAPSE_TRY(status);
    if (!cursor->valid()) return {};
    LAPSE_TRY_ASSIGN(const ExpiryKey entry, parse(cursor->key(), prefix.size()));
    if (entry.deadline_ms >= to_ms || !visit(entry)) return {};
  }
}

}  // namespace lapse::internal
