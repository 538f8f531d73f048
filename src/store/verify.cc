#include "store/verify.h"

#include <set>
#include <string>
#include <utility>

#include "base/try.h"
#include "store/catalog.h"
#include "store/expiry.h"
#include "store/family_writer.h"
#include "store/history.h"
#include "store/keys.h"
#include "store/row.h"

namespace lapse::internal {

namespace {

Status corrupt(const std::string& family, std::string message) {
  return {StatusCode::kCorrupt, "family " + quoted(family) + ": " + std::move(message)};
}

// Calls `visit` with the entries whose keys start with `prefix`, which is cut off.
template <typename Visit>
Status for_each(const engine::Reader& reader, const std::string& prefix, Visit visit) {
  const auto cursor = reader.cursor();
  for (Status status = cursor->seek(prefix);; status = cursor->next()) {
    LAPSE_TRY(status);
    if (!cursor->valid() || !cursor->key().starts_with(prefix)) return {};
    LAPSE_TRY(visit(cursor->key().substr(prefix.size()), cursor->value()));
  }
}

struct RowCounts {
  uint64_t rows = 0;
  uint64_t with_deadline = 0;
};

Result<RowCounts> check_data(const engine::Reader& reader, const std::string& name,
                             const FamilyRecord& record) {
  RowCounts counts;
  LAPSE_TRY(
      for_each(reader, data_prefix(record.id), [&](std::string_view key, std::string_view value) -> Status {
        LAPSE_TRY_ASSIGN(const Row row, decode_row(key, value));
        ++counts.rows;
        if (row.deadline_ms == kNever) return {};
        ++counts.with_deadline;
        LAPSE_TRY_ASSIGN(const auto entry, reader.get(expiry_key(record.id, row.deadline_ms, key)));
        return entry ? Status() : corrupt(name, quoted(key) + " has a deadline, but no expiry entry");
      }));
  if (counts.with_deadline > 0 && !record.used_ttl)
    return corrupt(name, "has deadlines that its catalog row denies");
  return counts;
}

Result<uint64_t> check_expiry(const engine::Reader& reader, const std::string& name, FamilyId id) {
  uint64_t entries = 0;
  LAPSE_TRY(for_each(reader, expiry_prefix(id), [&](std::string_view key, std::string_view) -> Status {
    ++entries;
    return parse_expiry_key(key) ? Status() : corrupt(name, "has an expiry entry that cannot be read");
  }));
  return entries;
}

// Nothing looks for a key's history before the place where that is said to begin.
Status check_beginning(const engine::Reader& reader, const std::string& name, FamilyId id,
                       const HistoryKey& oldest) {
  LAPSE_TRY_ASSIGN(const HistoryState state, history_state(reader, id, oldest.key));
  const bool is_found = std::pair(oldest.written_at_ms, oldest.revision) >=
                        std::pair(state.oldest_written_at_ms, state.oldest_number);
  return is_found ? Status()
                  : corrupt(name, "the history of " + quoted(oldest.key) + " begins before its beginning");
}

Status check_history(const engine::Reader& reader, const std::string& name, FamilyId id) {
  HistoryKey last;
  uint64_t last_ordinal = 0;
  return for_each(reader, history_prefix(id), [&](std::string_view key, std::string_view value) -> Status {
    std::optional<HistoryKey> parsed = parse_history_key(key);
    if (!parsed) return corrupt(name, "has a history row whose key cannot be read");
    LAPSE_TRY_ASSIGN(const HistoryRow row, decode_history_row(parsed->key, value));
    const bool goes_on = last_ordinal > 0 && parsed->key == last.key;
    if (goes_on && (row.ordinal != last_ordinal + 1 || parsed->revision <= last.revision))
      return corrupt(name, "the history of " + quoted(parsed->key) + " is out of order");
    if (!goes_on) LAPSE_TRY(check_beginning(reader, name, id, *parsed));
    last = std::move(*parsed);
    last_ordinal = row.ordinal;
    return {};
  });
}

Status check_family_rows(const engine::Reader& reader, const std::string& name, const FamilyRecord& record) {
  LAPSE_TRY_ASSIGN(const RowCounts counts, check_data(reader, name, record));
  LAPSE_TRY_ASSIGN(const uint64_t entries, check_expiry(reader, name, record.id));
  if (entries != counts.with_deadline)
    return corrupt(name, std::to_string(counts.with_deadline) + " rows with deadlines, but " +
                             std::to_string(entries) + " expiry entries");
  LAPSE_TRY(check_history(reader, name, record.id));
  if (!record.options.counted) return {};
  LAPSE_TRY_ASSIGN(const uint64_t count, read_count(reader, record.id));
  if (count == counts.rows) return {};
  return corrupt(name, std::to_string(counts.rows) + " rows, counted as " + std::to_string(count));
}

// Jumps from range to range: each must belong to someone.
Status check_ranges(const engine::Reader& reader, const std::set<std::string>& owned) {
  const auto cursor = reader.cursor();
  std::string from(1, '\x01');
  for (;;) {
    LAPSE_TRY(cursor->seek(from));
    if (!cursor->valid()) return {};
    const auto behind = owned.upper_bound(std::string(cursor->key()));
    if (behind == owned.begin() || !cursor->key().starts_with(*std::prev(behind)))
      return {StatusCode::kCorrupt, "rows at " + quoted(cursor->key()) + " belong to no family"};
    const std::optional<std::string> end = prefix_end(*std::prev(behind));
    if (!end) return {};
    from = *end;
  }
}

}  // namespace

Status verify_store(const engine::Reader& reader) {
  std::set<std::string> owned;
  LAPSE_TRY(for_each(reader, std::string(kCatalogPrefix),
                     [&](std::string_view name, std::string_view value) -> Status {
                       LAPSE_TRY_ASSIGN(const FamilyRecord record, decode_record(name, value));
                       if (!owned.insert(family_prefix(record.id)).second)
                         return corrupt(std::string(name), "shares its rows with another family");
                       return check_family_rows(reader, std::string(name), record);
                     }));
  LAPSE_TRY(
      for_each(reader, std::string(kGarbagePrefix), [&](std::string_view id, std::string_view) -> Status {
        if (owned.insert(std::string(id)).second) return {};
        return {StatusCode::kCorrupt, "a family's rows are marked as garbage"};
      }));
  return check_ranges(reader, owned);
}

}  // namespace lapse::internal
