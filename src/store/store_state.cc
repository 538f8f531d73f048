#include "store/store_state.h"

#include <algorithm>
#include <cstdlib>

#include "base/try.h"
#include "store/row.h"

namespace lapse::internal {

namespace {

constexpr uint64_t kFormatVersion = 1;
constexpr FamilyId kDefaultFamilyId = 1;
constexpr int64_t kStoreClockEveryMs = 1000;

}  // namespace

StoreState::StoreState(const Options& options) : clock_(options.clock) {
  if (clock_ != nullptr) return;
  if (options.clock_policy == ClockPolicy::kFollow) {
    clock_ = WallClock::instance();
    return;
  }
  own_clock_ = std::make_unique<GuardedClock>(WallClock::instance(), BootClock::instance());
  clock_ = own_clock_.get();
}

int64_t StoreState::now_ms() {
  Clock* const clock = inherited() ? WallClock::instance() : clock_;  // which has no lock
  return std::clamp<int64_t>(clock->now_ms(), 0, kNever - 1);
}

bool StoreState::may_remove_what_was_due(int64_t at_ms) {
  // Before and after: this reading may begin a doubt, and another thread's may end one.
  return !clock_->in_doubt() && at_ms <= now_ms() && !clock_->in_doubt();
}

bool StoreState::clock_is_worth_storing(int64_t now_ms) const {
  const int64_t stored_ms = stored_clock_ms.load();
  return stored_ms < 0 || std::abs(now_ms - stored_ms) >= kStoreClockEveryMs;
}

Status StoreState::load(engine::Engine* engine, const Options& options) {
  std::lock_guard lock(mutex_);
  if (loaded_) return {};
  LAPSE_TRY(read_catalog(engine));
  if (families_.empty()) {
    LAPSE_TRY(begin_catalog(engine, options));
    LAPSE_TRY(read_catalog(engine));
  }
  loaded_ = true;
  return {};
}

// REQUIRES: mutex_
Status StoreState::read_catalog(engine::Engine* engine) {
  LAPSE_TRY_ASSIGN(const auto snapshot, engine->snapshot());
  LAPSE_TRY_ASSIGN(const auto version, read_number(*snapshot, kVersionKey));
  if (!version) return {};
  if (*version > kFormatVersion)
    return {StatusCode::kUnsupported, "the store's format is version " + std::to_string(*version) +
                                          "; this version of Lapse knows up to " +
                                          std::to_string(kFormatVersion)};
  LAPSE_TRY_ASSIGN(const auto time, read_time(*snapshot));
  if (time) {
    last_dated_.date_ms = time->latest_date_ms;
    latest_committed_ms = stored_date_ms = time->latest_date_ms;
    stored_clock_ms = time->clock_ms;
    clock_->resume_from(time->clock_ms);
  }
  const auto cursor = snapshot->cursor();
  for (Status status = cursor->seek(kCatalogPrefix);; status = cursor->next()) {
    LAPSE_TRY(status);
    if (!cursor->valid() || !cursor->key().starts_with(kCatalogPrefix)) break;
    const std::string name(cursor->key().substr(kCatalogPrefix.size()));
    LAPSE_TRY_ASSIGN(FamilyRecord record, decode_record(name, cursor->value()));
    auto family = std::make_shared<Family>(this, name, record.identity);
    family->id = record.id;
    family->published_by = snapshot->sequence();
    family->record = record;
    families_.emplace(name, std::move(family));
  }
  if (families_.find(kDefaultFamilyName) == families_.end())
    return {StatusCode::kCorrupt, "the store's catalog has no default family"};
  return {};
}

// REQUIRES: mutex_
Status StoreState::begin_catalog(engine::Engine* engine, const Options& options) {
  LAPSE_TRY(check_family_options(options.default_family));
  LAPSE_TRY_ASSIGN(const auto transaction, engine->begin());
  const auto cursor = transaction->cursor();
  LAPSE_TRY(cursor->first());
  if (cursor->valid())
    return {StatusCode::kInvalidArgument,
            "this is a Lapse engine's file, but not a store: it holds other data"};
  FamilyRecord record;
  record.id = record.identity = kDefaultFamilyId;
  record.options = options.default_family;
  LAPSE_TRY(transaction->put(kVersionKey, encode_number(kFormatVersion)));
  LAPSE_TRY(transaction->put(kNextIdKey, encode_number(kDefaultFamilyId + 1)));
  LAPSE_TRY(transaction->put(catalog_key(kDefaultFamilyName), encode_record(record)));
  LAPSE_TRY(transaction->commit());
  return {};
}

std::shared_ptr<Family> StoreState::find_identity(std::string_view name, uint64_t identity) const {
  std::lock_guard lock(mutex_);
  const auto [first, last] = families_.equal_range(name);
  const auto found =
      std::find_if(first, last, [&](const auto& named) { return named.second->identity == identity; });
  return found == last ? nullptr : found->second;
}

std::shared_ptr<Family> StoreState::find_family(std::string_view name) const {
  std::lock_guard lock(mutex_);
  const auto [first, last] = families_.equal_range(name);
  const auto found =
      std::find_if(first, last, [](const auto& named) { return named.second->id.load() != 0; });
  return found == last ? nullptr : found->second;
}

void StoreState::announce(const std::shared_ptr<Family>& family) {
  std::lock_guard lock(mutex_);
  families_.emplace(family->name, family);
}

void StoreState::retract(const std::shared_ptr<Family>& family) {
  std::lock_guard lock(mutex_);
  remove(family);
}

void StoreState::remove(const std::shared_ptr<Family>& family) noexcept {
  const auto [first, last] = families_.equal_range(family->name);
  const auto found = std::find_if(first, last, [&](const auto& named) { return named.second == family; });
  if (found != last) families_.erase(found);
}

std::vector<std::shared_ptr<Family>> StoreState::all_families() const {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Family>> families;
  for (const auto& [name, family] : families_) {
    if (family->id.load() != 0) families.push_back(family);
  }
  return families;
}

int64_t StoreState::latest_date_before(uint64_t sequence) const {
  return (last_dated_.sequence < sequence ? last_dated_ : dated_before_last_).date_ms;
}

void StoreState::note_date(uint64_t sequence, int64_t date_ms) {
  if (last_dated_.sequence < sequence) dated_before_last_ = last_dated_;
  last_dated_ = {sequence, date_ms};
}

void StoreState::forget_hints() {
  may_have_garbage = true;
  garbage_list_from.clear();
  garbage_from.clear();
  std::lock_guard lock(mutex_);
  for (const auto& [name, family] : families_) family->forget_due();
}

std::optional<int64_t> StoreState::next_due(const Family& family, int own_raises) const {
  const int64_t known_ms = family.next_due_ms.load();
  if (known_ms == 0 || raises_under_way.load() != own_raises || hints_are_wrong.load()) return std::nullopt;
  // Once more: whoever raised it may have taken it back before the second look.
  if (family.next_due_ms.load() != known_ms) return std::nullopt;
  return known_ms;
}

int64_t StoreState::next_due_in(uint64_t sequence, const Family& family, int own_raises) const {
  const std::optional<int64_t> known_ms = next_due(family, own_raises);
  return known_ms && family.due_raised_by.load() <= sequence ? *known_ms : 0;
}

uint64_t StoreState::changes_seen() const {
  // Done first: what has begun since then makes the two differ.
  const uint64_t done = changes_done_.load();
  const uint64_t begun = changes_begun_.load();
  return begun == done ? 2 * begun : 2 * begun + 1;
}

Result<FamilyId> StoreState::id_in(const engine::Snapshot& snapshot, const Family& family,
                                   uint64_t changes) const {
  const FamilyId id = family.id.load();
  if (changes % 2 == 0 && changes_seen() == changes) {
    if (id == 0) return dropped_family(family.name);
    return id;
  }
  LAPSE_TRY_ASSIGN(const FamilyRecord record, read_record_of(snapshot, family));
  return record.id;
}

void StoreState::publish(const std::vector<Change>& changes, uint64_t sequence) noexcept {
  std::lock_guard lock(mutex_);
  for (const auto& [family, record] : changes) {
    if (family->published_by > sequence) continue;  // a later change was quicker
    family->published_by = sequence;
    if (record) family->record = *record;
    family->id = record ? record->id : 0;
    if (!record) remove(family);
  }
}

}  // namespace lapse::internal
