#include "server/databases.h"

#include <optional>

#include "base/try.h"
#include "server/text.h"

namespace lapse::server {

namespace {

constexpr std::string_view kDefaultFamily = "default";

std::string numbered_name(int db) {
  return db == 0 ? std::string(kDefaultFamily) : "db" + std::to_string(db);
}

// The family with a count, made if it is not there.
Result<Family> counted_family(Store* store, const std::string& name) {
  FamilyOptions counted;
  counted.counted = true;
  LAPSE_TRY_ASSIGN(Family family, store->family_or_create(name, counted));
  LAPSE_TRY_ASSIGN(FamilyOptions options, family.family_options());
  if (!options.counted) {
    options.counted = true;
    LAPSE_TRY(store->set_family_options(name, options));
  }
  return family;
}

}  // namespace

Result<Databases> Databases::open(Store* store, int numbered) {
  Databases databases(store, numbered);
  for (int db = 0; db < numbered; ++db) {
    std::string name = numbered_name(db);
    LAPSE_TRY_ASSIGN(Family family, counted_family(store, name));
    LAPSE_TRY_ASSIGN(const FamilyOptions options, family.family_options());
    databases.families_.push_back({std::move(name), std::move(family), options.history.has_value()});
  }
  LAPSE_TRY_ASSIGN(const std::vector<std::string> names, store->list_families());
  const OpenFamily open = [&](std::string_view name) { return store->family(name); };
  for (const std::string& name : names) LAPSE_TRY(databases.find(name, open));
  return databases;
}

std::string Databases::label(int db) const { return db < numbered_ ? std::to_string(db) : family_name(db); }

Result<int> Databases::find(std::string_view number_or_name, const OpenFamily& open) {
  if (const std::optional<int64_t> number = to_integer(number_or_name);
      number && *number >= 0 && *number < numbered_) {
    return static_cast<int>(*number);
  }
  LAPSE_TRY_ASSIGN(Family family, open(number_or_name));
  // Fails as long as its making is not committed.
  const Result<FamilyOptions> options = family.family_options();
  const bool history = !options.ok() || options->history.has_value();
  for (int db = 0; db < size(); ++db) {
    Known& known = families_[static_cast<size_t>(db)];
    if (known.name != number_or_name) continue;
    known.history = history;
    known.handle = std::move(family);  // it may have been dropped and made anew
    return db;
  }
  Known added{std::string(number_or_name), std::move(family), history};
  if (const std::optional<int> free = find_free(open)) {
    families_[static_cast<size_t>(*free)] = std::move(added);
    return *free;
  }
  families_.push_back(std::move(added));
  return size() - 1;
}

// Gone is a family that neither the turn knows, which may have made it just now, nor the store, where it is until its drop
// has been committed.
std::optional<int> Databases::find_free(const OpenFamily& open) const {
  const auto is_gone = [](const Result<Family>& family) {
    return !family.ok() && family.status().code() == StatusCode::kNotFound;
  };
  for (int db = numbered_; is_selected_ && db < size(); ++db) {
    const std::string& name = family_name(db);
    if (is_gone(open(name)) && is_gone(store_->family(name)) && !is_selected_(db)) return db;
  }
  return std::nullopt;
}

}  // namespace lapse::server
