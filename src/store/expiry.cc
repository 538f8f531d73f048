#include "store/expiry.h"

#include <optional>

#include "base/try.h"
#include "store/visibility.h"

namespace lapse::internal {

namespace {

Result<ExpiryKey> parse(std::string_view key, std::string_view prefix) {
  const std::optional<ExpiryKey> entry = parse_expiry_key(key.substr(prefix.size()));
  if (!entry) return Status(StatusCode::kCorrupt, "an expiry entry has a key that cannot be read");
  return *entry;
}

// The oldest entries that are due, at most `limit`, and where the next one after them is (empty: nowhere).
struct DueEntries {
  std::vector<std::string> entries;
  std::string next;
  bool next_is_due = false;
  int64_t next_deadline_ms = kNever;
};

Result<DueEntries> find_due(const FamilyWriter& writer, uint64_t limit) {
  const std::string prefix = expiry_prefix(writer.id());
  const std::string& from = writer.family()->due_from;
  DueEntries due;
  const auto cursor = writer.transaction()->engine()->cursor();
  LAPSE_TRY(cursor->seek(from.starts_with(prefix) ? from : prefix));
  for (; cursor->valid() && cursor->key().starts_with(prefix);) {
    LAPSE_TRY_ASSIGN(const ExpiryKey entry, parse(cursor->key(), prefix));
    const bool is_due = !is_visible(entry.deadline_ms, writer.now_ms());
    if (!is_due || due.entries.size() == limit) {
      due.next = cursor->key();
      due.next_is_due = is_due;
      due.next_deadline_ms = entry.deadline_ms;
      break;
    }
    due.entries.emplace_back(cursor->key());
    LAPSE_TRY(cursor->next());
  }
  return due;
}

// From now on, the search for what is due begins behind what was found.
void raise_hints(FamilyWriter* writer, DueEntries* due) {
  // Without writes, what was found is what others find as well.
  if (writer->transaction()->has_written()) writer->transaction()->note_raised_hint();
  Family& family = *writer->family();
  family.due_from = due->next.empty() ? expiry_from(writer->id(), kNever) : std::move(due->next);
  family.next_due_ms.store(due->next_deadline_ms);
}

}  // namespace

Result<PurgeResult> remove_due(FamilyWriter* writer, uint64_t limit, std::vector<Expiring>* removed) {
  const std::string prefix = expiry_prefix(writer->id());
  LAPSE_TRY_ASSIGN(DueEntries due, find_due(*writer, limit));
  PurgeResult result;
  for (const std::string& bytes : due.entries) {
    LAPSE_TRY_ASSIGN(const ExpiryKey entry, parse(bytes, prefix));
    LAPSE_TRY_ASSIGN(const std::optional<Row> row, writer->stored_row(entry.key));
    if (row && row->deadline_ms == entry.deadline_ms) {
      LAPSE_TRY(writer->remove_expired(entry.key, *row));
      ++result.removed;
      if (removed != nullptr) removed->push_back({std::string(entry.key), entry.deadline_ms});
    } else {
      // Nobody leaves such an entry behind; should one be there, it must not touch the key.
      LAPSE_TRY(writer->transaction()->erase(bytes));
    }
  }
  result.more_due = due.next_is_due;
  raise_hints(writer, &due);
  return result;
}

Result<int64_t> first_deadline(const engine::Reader& reader, FamilyId id) {
  int64_t first_ms = kNever;
  LAPSE_TRY(for_each_expiring(reader, id, 0, kNever, [&](const ExpiryKey& entry) {
    first_ms = entry.deadline_ms;
    return false;
  }));
  return first_ms;
}

Result<int64_t> learn_next_due(FamilyWriter* writer) {
  writer->family()->forget_due();  // whoever asks does not trust it
  LAPSE_TRY_ASSIGN(DueEntries due, find_due(*writer, 0));
  const int64_t next_ms = due.next_deadline_ms;
  raise_hints(writer, &due);
  return next_ms;
}

Status remove_if_unchanged(FamilyWriter* writer, const ExpiredKey* keys, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    LAPSE_TRY_ASSIGN(const std::optional<Row> row, writer->stored_row(keys[i].key));
    if (row && row->deadline_ms == keys[i].deadline_ms) LAPSE_TRY(writer->remove_expired(keys[i].key, *row));
  }
  return {};
}

Status for_each_expiring(const engine::Reader& reader, FamilyId id, int64_t from_ms, int64_t to_ms,
                         FunctionRef<bool(const ExpiryKey&)> visit) {
  const std::string prefix = expiry_prefix(id);
  const auto cursor = reader.cursor();
  for (Status status = cursor->seek(expiry_from(id, from_ms));; status = cursor->next()) {
    LAPSE_TRY(status);
    if (!cursor->valid() || !cursor->key().starts_with(prefix)) return {};
    LAPSE_TRY_ASSIGN(const ExpiryKey entry, parse(cursor->key(), prefix));
    if (entry.deadline_ms >= to_ms || !visit(entry)) return {};
  }
}

}  // namespace lapse::internal
