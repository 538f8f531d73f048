#include "lapse/store.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>

#include "base/memory.h"
#include "base/try.h"
#include "engine/local/local_engine.h"
#include "engine/memory/memory_engine.h"
#include "store/checks.h"
#include "store/family_changes.h"
#include "store/history.h"
#include "store/open_on_engine.h"
#include "store/purge.h"
#include "store/row_cursor.h"
#include "store/scope.h"
#include "store/verify.h"

namespace lapse {

using internal::AutoScope;
using internal::FamilyRecord;
using internal::no_function;
using internal::SnapshotScope;
using internal::StoreState;
using internal::TransactionScope;
using internal::WriteTransaction;
using std::chrono::milliseconds;

namespace {

Status invalid(std::string message) { return {StatusCode::kInvalidArgument, std::move(message)}; }

Status check_options(const Options& options) {
  if (options.durability > Durability::kNone) return invalid("durability is none of those that there are");
  if (options.clock_policy > ClockPolicy::kFollow)
    return invalid("clock_policy is none of those that there are");
  if (options.sync_interval.count() < 0) return invalid("sync_interval cannot be negative");
  if (options.busy_timeout.count() < 0) return invalid("busy_timeout cannot be negative");
  return internal::check_family_options(options.default_family);
}

// The system would take what stands before the NUL for the path: another file.
Status check_path(const std::string& path) {
  return path.find('\0') == std::string::npos ? Status() : invalid("a path cannot have a NUL in it");
}

engine::LocalOptions local_options(const Options& options) {
  engine::LocalOptions local;
  local.create_if_missing = options.create_if_missing;
  local.read_only = options.read_only;
  local.salvage = options.salvage;
  local.durability = options.durability;
  local.sync_interval_ms = options.sync_interval.count();
  local.background_drain = options.background_drain;
  local.buffer_bytes = options.buffer_bytes;
  local.max_transaction_bytes = options.max_transaction_bytes;
  local.verify_checksums = options.verify_checksums;
  return local;
}

bool is_sqlite_file(const std::string& path) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::array<char, kMagic.size()> start{};
  std::ifstream file(path, std::ios::binary);
  return file.read(start.data(), start.size()) && std::string_view(start.data(), start.size()) == kMagic;
}

// Many come with a file that SNKV wrote: they had better be told what it is than that it is no store.
Status explain(const std::string& path, const Status& refused) {
  if (refused.code() == StatusCode::kBusy || !is_sqlite_file(path)) return refused;
  return invalid(path +
                 ": a file in the format of SQLite, which is what SNKV writes. Lapse cannot read SNKV's "
                 "database files; read this one with SNKV and put its keys into a new store");
}

// Runs `work` in a transaction of its own, for changes of the catalog.
template <typename Work>
Status change_catalog(internal::Scope* scope, Work work) {
  LAPSE_TRY_ASSIGN(auto engine_transaction, scope->begin(scope->options().busy_timeout));
  WriteTransaction transaction(&scope->state(), std::move(engine_transaction));
  LAPSE_TRY(work(transaction));
  return finish_transaction(&transaction).status();
}

// Errors of a purge that keep no other family from its turn.
bool is_of_one_family(const Status& status) {
  switch (status.code()) {
    case StatusCode::kTooLarge:
    case StatusCode::kCorrupt:
    case StatusCode::kUnsupported: return true;
    default: return false;
  }
}

Status check_new_family(std::string_view name, const FamilyOptions& options) {
  LAPSE_TRY(internal::check_family_name(name));
  return internal::check_family_options(options);
}

// `is_there`: it was not made because there is one by this name.
Result<std::shared_ptr<internal::Family>> make_family(internal::Scope* scope, std::string_view name,
                                                      const FamilyOptions& options, bool* is_there) {
  LAPSE_TRY(check_new_family(name, options));
  std::shared_ptr<internal::Family> family;
  LAPSE_TRY(change_catalog(scope, [&](WriteTransaction& transaction) -> Status {
    auto made = internal::create_family(&transaction, name, options);
    *is_there = made.status().code() == StatusCode::kBusy;
    if (!made.ok()) return made.status();
    family = *std::move(made);
    return {};
  }));
  return family;
}

Status check_droppable(std::string_view name) {
  LAPSE_TRY(internal::check_family_name(name));
  if (name == internal::kDefaultFamilyName)
    return invalid("the default family cannot be dropped; clear() empties it");
  return {};
}

Status check_family_names(std::string_view a, std::string_view b) {
  LAPSE_TRY(internal::check_family_name(a));
  return internal::check_family_name(b);
}

// Those that have waited longest first, so that a limit never keeps one from its turn.
std::multimap<int64_t, std::shared_ptr<internal::Family>> by_next_deadline(internal::Scope* scope) {
  std::multimap<int64_t, std::shared_ptr<internal::Family>> sorted;
  for (const auto& family : scope->state().all_families()) {
    const Result<int64_t> next_ms = scope->next_deadline(family);
    if (next_ms.status().code() == StatusCode::kNotFound) continue;  // dropped meanwhile
    // One that cannot be read comes last: its purge will say so, and keeps no other from its turn.
    sorted.emplace(next_ms.ok() ? *next_ms : kNever, family);
  }
  return sorted;
}

Result<uint64_t> count_rows(const engine::Reader& reader, internal::FamilyId id) {
  const std::string prefix = internal::data_prefix(id);
  const auto cursor = reader.cursor({prefix, internal::prefix_end(prefix)});
  uint64_t rows = 0;
  for (Status status = cursor->first();; status = cursor->next(), ++rows) {
    LAPSE_TRY(status);
    if (!cursor->valid()) return rows;
  }
}

}  // namespace

// --------------------------------------------------------------------------------- opening and closing

Result<Store> internal::StoreOpener::open(std::unique_ptr<engine::Engine> engine, const Options& options) {
  LAPSE_TRY(check_options(options));
  const std::shared_ptr<void> shared = engine->shared_state(
      [&] { return std::static_pointer_cast<void>(std::make_shared<StoreState>(options)); });
  if (shared == nullptr) return Status(StatusCode::kUnavailable, "the store has been closed");
  const auto state = std::static_pointer_cast<StoreState>(shared);
  LAPSE_TRY(state->load(engine.get(), options));
  auto scope =
      std::make_shared<AutoScope>(std::shared_ptr<engine::Engine>(std::move(engine)), state, options);
  return Store(std::move(scope), state->find_family(kDefaultFamilyName));
}

Result<Store> Store::open(const std::string& path, const Options& options) {
  LAPSE_TRY(check_path(path));
  LAPSE_TRY(check_options(options));
  Result<std::unique_ptr<engine::Engine>> engine = engine::open_local(path, local_options(options));
  if (!engine.ok()) return explain(path, engine.status());
  return open_on_engine(*std::move(engine), options);
}

Result<Store> Store::open_in_memory(const Options& options) {
  LAPSE_TRY(check_options(options));
  engine::MemoryOptions memory;
  memory.buffer_bytes = options.buffer_bytes;
  memory.max_transaction_bytes = options.max_transaction_bytes;
  memory.background_drain = options.background_drain;
  LAPSE_TRY_ASSIGN(auto engine, engine::open_memory(memory));
  return open_on_engine(std::move(engine), options);
}

Store::~Store() {
  if (scope_) quietly([this] { (void)close(); });
}

Store::Store(Store&&) noexcept = default;

Store& Store::operator=(Store&& other) noexcept {
  if (this == &other) return *this;
  if (scope_) quietly([this] { (void)close(); });
  Keyspace::operator=(std::move(other));
  return *this;
}

Status Store::close() {
  StoreState& state = scope_->state();
  // The time, so that a clock which is set back before the next open is noticed.
  if (!scope_->options().read_only && state.clock_is_worth_storing(state.now_ms()) &&
      !state.clock_in_doubt()) {
    if (auto transaction = scope_->engine().begin(milliseconds(0)); transaction.ok()) {
      WriteTransaction last(&state, std::move(*transaction));
      (void)last.store_time_and_commit();
    }
  }
  scope_->note_closed();
  return scope_->engine().close();
}

// -------------------------------------------------------------------------------------------- families

Result<Family> Store::create_family(std::string_view name, const FamilyOptions& options) {
  bool is_there = false;
  LAPSE_TRY_ASSIGN(std::shared_ptr<internal::Family> family,
                   make_family(scope_.get(), name, options, &is_there));
  return Family(scope_, std::move(family));
}

Result<Family> Store::family(std::string_view name) const {
  LAPSE_TRY(internal::check_family_name(name));
  LAPSE_TRY_ASSIGN(const auto snapshot, scope_->engine().snapshot());
  LAPSE_TRY_ASSIGN(const FamilyRecord record, internal::read_record(*snapshot, name));
  std::shared_ptr<internal::Family> family = scope_->state().find_identity(name, record.identity);
  if (!family) return internal::dropped_family(name);  // meanwhile
  return Family(scope_, std::move(family));
}

Result<Family> Store::family_or_create(std::string_view name, const FamilyOptions& options) {
  for (;;) {
    Result<Family> present = family(name);
    if (present.ok() || present.status().code() != StatusCode::kNotFound) return present;
    bool is_there = false;  // made by someone else, meanwhile
    auto made = make_family(scope_.get(), name, options, &is_there);
    if (made.ok()) return Family(scope_, *std::move(made));
    if (!is_there) return made.status();
    // At durability full it may be on its way to disk still, and is not to be seen before.
    if (!scope_->state().find_family(name)) LAPSE_TRY(scope_->engine().sync());
  }
}

Result<std::vector<std::string>> Store::list_families() const {
  LAPSE_TRY_ASSIGN(const auto snapshot, scope_->engine().snapshot());
  return internal::family_names_in(*snapshot);
}

Status Store::drop_family(std::string_view name) {
  LAPSE_TRY(check_droppable(name));
  return change_catalog(
      scope_.get(), [&](WriteTransaction& transaction) { return internal::drop_family(&transaction, name); });
}

Status Store::set_family_options(std::string_view name, const FamilyOptions& options) {
  LAPSE_TRY(internal::check_family_name(name));
  LAPSE_TRY(internal::check_family_options(options));
  // What is left of a history that was turned off does not go on: there is a gap. Most of it is removed in batches.
  if (options.history) {
    LAPSE_TRY_ASSIGN(Family before, family(name));
    LAPSE_TRY_ASSIGN(const FamilyOptions present, before.family_options());
    if (!present.history) LAPSE_TRY(before.purge_history());
  }
  return change_catalog(scope_.get(), [&](WriteTransaction& transaction) -> Status {
    LAPSE_TRY_ASSIGN(const auto family, internal::family_in(&transaction, name));
    LAPSE_TRY_ASSIGN(const FamilyRecord* present, transaction.record_of(*family));
    FamilyRecord record = *present;
    if (options.history && !record.options.history)
      LAPSE_TRY(internal::forget_history(&transaction, record.id));
    if (options.counted && !record.options.counted) {
      LAPSE_TRY_ASSIGN(const uint64_t rows, count_rows(*transaction.engine(), record.id));
      LAPSE_TRY(internal::write_count(&transaction, record.id, rows));
    }
    record.options = options;
    return transaction.change_record(family, record);
  });
}

Status Store::swap_families(std::string_view a, std::string_view b) {
  LAPSE_TRY(check_family_names(a, b));
  return change_catalog(scope_.get(), [&](WriteTransaction& transaction) {
    return internal::swap_families(&transaction, a, b);
  });
}

// ---------------------------------------------------------------------------- transactions, snapshots

Result<Transaction> Store::begin(milliseconds timeout) {
  if (timeout.count() < 0)
    return invalid("begin(): a timeout of " + std::to_string(timeout.count()) + " ms is negative");
  LAPSE_TRY_ASSIGN(auto engine_transaction, scope_->begin(timeout));
  return Transaction(std::make_shared<TransactionScope>(scope_, std::move(engine_transaction)), family_);
}

Status Store::update(const std::function<Status(Transaction&)>& work) {
  if (!work) return no_function("update()");
  for (;;) {
    LAPSE_TRY_ASSIGN(Transaction transaction, begin(scope_->options().busy_timeout));
    LAPSE_TRY(work(transaction));
    if (transaction.has_ended()) return {};  // `work` has seen to that itself
    Status status = transaction.commit().status();
    if (status.code() != StatusCode::kConflict) return status;
  }
}

Status Store::view(const std::function<Status(const Snapshot&)>& work) const {
  if (!work) return no_function("view()");
  LAPSE_TRY_ASSIGN(const Snapshot snapshot, this->snapshot());
  return work(snapshot);
}

Status Store::write(const WriteBatch& batch) {
  return update([&](Transaction& transaction) -> Status {
    for (const WriteBatch::Write& write : batch.writes_) {
      Keyspace& keys = transaction;
      std::optional<Family> other;
      if (write.family) other.emplace(transaction.in(*write.family));
      Keyspace& target = other ? *other : keys;
      LAPSE_TRY(write.value ? target.put(write.key, *write.value, write.lifetime)
                            : internal::to_status(target.erase(write.key)));
    }
    return {};
  });
}

Result<Snapshot> Store::snapshot() const {
  const int64_t now_ms = scope_->state().now_ms();
  const int64_t latest_ms = scope_->state().latest_committed_ms.load();
  LAPSE_TRY_ASSIGN(auto snapshot, scope_->engine().snapshot());
  return Snapshot(std::make_shared<SnapshotScope>(*scope_, std::move(snapshot), now_ms, latest_ms), family_);
}

Result<Snapshot> Store::snapshot_at(int64_t at_ms) const {
  StoreState& state = scope_->state();
  LAPSE_TRY(internal::check_past(at_ms, std::max(state.now_ms(), state.latest_committed_ms.load())));
  LAPSE_TRY_ASSIGN(auto snapshot, scope_->engine().snapshot());
  return Snapshot(std::make_shared<SnapshotScope>(*scope_, std::move(snapshot), at_ms), family_);
}

Reader Snapshot::in(const Family& family) const { return Reader(scope_, family.family_); }

int64_t Snapshot::now_ms() const { return static_cast<const SnapshotScope&>(*scope_).now_ms(); }

Transaction::~Transaction() {
  if (scope_) rollback();
}

Transaction::Transaction(Transaction&&) noexcept = default;

Transaction& Transaction::operator=(Transaction&& other) noexcept {
  if (this == &other) return *this;
  if (scope_) rollback();
  Keyspace::operator=(std::move(other));
  return *this;
}

bool Transaction::has_ended() const { return !scope_ || !scope()->check_open().ok(); }

TransactionScope* Transaction::scope() const { return static_cast<TransactionScope*>(scope_.get()); }

Family Transaction::in(const Family& family) const { return Family(scope_, family.family_); }

Result<Family> Transaction::create_family(std::string_view name, const FamilyOptions& options) {
  LAPSE_TRY(check_new_family(name, options));
  std::shared_ptr<internal::Family> family;
  LAPSE_TRY(scope()->run([&]() -> Status {
    LAPSE_TRY_ASSIGN(family, internal::create_family(&scope()->transaction(), name, options));
    return {};
  }));
  return Family(scope()->store(), family);
}

Status Transaction::drop_family(std::string_view name) {
  LAPSE_TRY(check_droppable(name));
  return scope()->run([&] { return internal::drop_family(&scope()->transaction(), name); });
}

Status Transaction::swap_families(std::string_view a, std::string_view b) {
  LAPSE_TRY(check_family_names(a, b));
  return scope()->run([&] { return internal::swap_families(&scope()->transaction(), a, b); });
}

Result<Family> Transaction::family(std::string_view name) const {
  LAPSE_TRY(internal::check_family_name(name));
  LAPSE_TRY(scope()->check_open());
  LAPSE_TRY_ASSIGN(auto family, internal::family_in(&scope()->transaction(), name));
  return Family(scope()->store(), std::move(family));
}

Result<std::vector<std::string>> Transaction::list_families() const {
  LAPSE_TRY(scope()->check_open());
  return internal::family_names_in(*scope()->transaction().engine());
}

Result<uint64_t> Transaction::commit() { return scope()->commit(WriteTransaction::Mode::kOrdinary); }
Result<uint64_t> Transaction::commit_unsynced() { return scope()->commit(WriteTransaction::Mode::kUnsynced); }
void Transaction::rollback() { scope()->rollback(); }
Savepoint Transaction::savepoint() const {
  const engine::Savepoint here = scope()->transaction().savepoint();
  return {here.writes, here.last_write};
}
Status Transaction::rollback_to(Savepoint savepoint) {
  return scope()->rollback_to({savepoint.writes, savepoint.last_write});
}
uint64_t Transaction::revision() const { return scope()->transaction().revision(); }
int64_t Transaction::now_ms() const { return scope()->transaction().now_ms(); }
size_t Transaction::written_bytes() const { return scope()->transaction().written_bytes(); }

void WriteBatch::put(std::string_view key, std::string_view value, Lifetime lifetime) {
  writes_.push_back({std::nullopt, std::string(key), std::string(value), lifetime});
}

void WriteBatch::put(const Family& family, std::string_view key, std::string_view value, Lifetime lifetime) {
  writes_.push_back({family, std::string(key), std::string(value), lifetime});
}

void WriteBatch::erase(std::string_view key) {
  writes_.push_back({std::nullopt, std::string(key), std::nullopt, {}});
}

void WriteBatch::erase(const Family& family, std::string_view key) {
  writes_.push_back({family, std::string(key), std::nullopt, {}});
}

// ----------------------------------------------------------------------------------------- maintenance

Result<PurgeResult> Store::purge_all_expired(const PurgeOptions& options) {
  LAPSE_TRY(scope_->check_process());
  PurgeResult total;
  PurgeOptions rest = options;
  const Stopwatch stopwatch;
  Status failure;
  bool is_used_up = false;
  for (const auto& [next_ms, family] : by_next_deadline(scope_.get())) {
    if (is_used_up) {
      total.more_due |= scope_->state().may_remove_what_was_due(next_ms);
      continue;
    }
    PurgeResult purged;
    const Status status = internal::purge_family(scope_.get(), family, rest, &purged);
    total.removed += purged.removed;
    total.more_due |= purged.more_due && status.ok();
    rest.limit -= purged.removed;
    if (options.budget != kForever)
      rest.budget = std::max(milliseconds(0), options.budget - milliseconds(stopwatch.elapsed_us() / 1000));
    is_used_up = rest.limit == 0 || rest.budget == milliseconds(0);
    if (status.ok() || status.code() == StatusCode::kNotFound) continue;  // it has been dropped meanwhile
    if (!is_of_one_family(status)) return status;
    if (failure.ok()) failure = status;
  }
  LAPSE_TRY(failure);
  return total;
}

Status Store::sync() { return scope_->engine().sync(); }

Status Store::wait_durable(uint64_t revision) {
  Status status = scope_->engine().wait_durable(revision);
  if (status.code() != StatusCode::kIoError && status.code() != StatusCode::kNoSpace) return status;
  return {StatusCode::kUnknown, "commit " + std::to_string(revision) +
                                    " may or may not survive a power cut: " + std::string(status.message())};
}

Status Store::checkpoint() { return scope_->engine().checkpoint(); }
Status Store::compact_to(const std::string& path) const {
  if (path.empty()) return invalid("compact_to(): the path is empty");
  LAPSE_TRY(check_path(path));
  return scope_->engine().compact_to(path);
}

Status Store::verify() const {
  LAPSE_TRY(scope_->engine().verify());
  LAPSE_TRY_ASSIGN(const auto snapshot, scope_->engine().snapshot());
  return internal::verify_store(*snapshot);
}

double Store::backlog() const { return scope_->engine().backlog(); }

StoreStats Store::stats() const {
  const engine::EngineStats engine = scope_->engine().stats();
  StoreState& state = scope_->state();
  return {.last_revision = engine.last_sequence,
          .durable_revision = engine.durable_sequence,
          .commits = engine.commits,
          .syncs = engine.syncs,
          .expired_hidden = state.expired_hidden.load(),
          .expired_removed = state.expired_removed.load(),
          .file_bytes = engine.tree_file_bytes,
          .free_bytes = engine.tree_free_bytes,
          .journal_bytes = engine.journal_bytes,
          .buffer_bytes = engine.buffer_bytes,
          .unsynced_age_ms = engine.unsynced_age_ms,
          .oldest_snapshot_ms = engine.oldest_snapshot_ms,
          .clock_in_doubt = state.clock_in_doubt(),
          .background_error = engine.background_error};
}

int64_t Store::now_ms() const { return scope_->state().now_ms(); }

}  // namespace lapse
