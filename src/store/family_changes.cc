#include "store/family_changes.h"

#include <utility>

#include "base/try.h"
#include "store/checks.h"
#include "store/family_writer.h"
#include "store/keys.h"

namespace lapse::internal {

Result<std::shared_ptr<Family>> family_in(WriteTransaction* transaction, std::string_view name) {
  LAPSE_TRY_ASSIGN(const FamilyRecord record, read_record(*transaction->engine(), name));
  std::shared_ptr<Family> family = transaction->state()->find_identity(name, record.identity);
  if (family) return family;
  return Status(StatusCode::kCorrupt, "family " + quoted(name) + " is in the catalog, but not known");
}

Result<std::vector<std::string>> family_names_in(const engine::Reader& reader) {
  std::vector<std::string> names;
  const auto cursor = reader.cursor();
  for (Status status = cursor->seek(kCatalogPrefix);; status = cursor->next()) {
    LAPSE_TRY(status);
    if (!cursor->valid() || !cursor->key().starts_with(kCatalogPrefix)) return names;
    names.emplace_back(cursor->key().substr(kCatalogPrefix.size()));
  }
}

Result<std::shared_ptr<Family>> create_family(WriteTransaction* transaction, std::string_view name,
                                              const FamilyOptions& options) {
  const Result<FamilyRecord> present = read_record(*transaction->engine(), name);
  if (present.ok()) return Status(StatusCode::kBusy, "there is a family " + quoted(name) + " already");
  if (present.status().code() != StatusCode::kNotFound) return present.status();
  FamilyRecord record;
  LAPSE_TRY_ASSIGN(record.id, take_family_id(transaction));
  record.identity = record.id;
  record.options = options;
  auto family = std::make_shared<Family>(transaction->state(), std::string(name), record.identity);
  transaction->announce(family);
  LAPSE_TRY(transaction->change_record(family, record));
  return family;
}

Status drop_family(WriteTransaction* transaction, std::string_view name) {
  LAPSE_TRY_ASSIGN(const auto family, family_in(transaction, name));
  LAPSE_TRY_ASSIGN(const FamilyRecord* record, transaction->record_of(*family));
  LAPSE_TRY(discard_family_id(transaction, record->id));
  return transaction->change_record(family, std::nullopt);
}

Status swap_families(WriteTransaction* transaction, std::string_view a, std::string_view b) {
  LAPSE_TRY_ASSIGN(const auto family_a, family_in(transaction, a));
  if (a == b) return {};
  LAPSE_TRY_ASSIGN(const auto family_b, family_in(transaction, b));
  LAPSE_TRY_ASSIGN(FamilyRecord record_a, read_record(*transaction->engine(), a));
  LAPSE_TRY_ASSIGN(FamilyRecord record_b, read_record(*transaction->engine(), b));
  std::swap(record_a.identity, record_b.identity);  // handles stay with the names
  LAPSE_TRY(transaction->change_record(family_a, record_b));
  return transaction->change_record(family_b, record_a);
}

}  // namespace lapse::internal
