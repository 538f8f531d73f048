#include "store/write_transaction.h"

#include <algorithm>
#include <utility>

#include "base/memory.h"
#include "base/try.h"
#include "store/keys.h"

namespace lapse::internal {

namespace {

void raise_to(std::atomic<int64_t>* what, int64_t value) {
  int64_t seen = what->load();
  while (seen < value && !what->compare_exchange_weak(seen, value)) {
  }
}

}  // namespace

WriteTransaction::WriteTransaction(StoreState* state, std::unique_ptr<engine::Transaction> transaction,
                                   std::optional<int64_t> now_ms)
    : state_(state),
      transaction_(std::move(transaction)),
      now_ms_(now_ms ? *now_ms : state->now_ms()),
      written_at_ms_(std::max(now_ms_, state->latest_date_before(transaction_->sequence()))),
      records_by_row_(state->changes_seen() % 2 != 0),
      number_(++state->transactions_begun) {
  if (state->hints_are_wrong.load(std::memory_order_relaxed)) {
    state->forget_hints();
    state->hints_are_wrong.store(false);  // and not before: readers believe them again
  }
}

WriteTransaction::~WriteTransaction() { abandon(); }

Status WriteTransaction::put(std::string_view key, std::string_view value) {
  wrote_ = true;
  written_bytes_ += key.size() + value.size();
  return transaction_->put(key, value);
}

Status WriteTransaction::erase(std::string_view key) {
  wrote_ = true;
  written_bytes_ += key.size();
  return transaction_->erase(key);
}

Result<const FamilyRecord*> WriteTransaction::record_of(const Family& family) {
  if (!records_by_row_ && !has_changed(family)) {
    if (family.id.load(std::memory_order_relaxed) == 0) return dropped_family(family.name);
    return &family.record;
  }
  LAPSE_TRY_ASSIGN(record_by_row_, read_record_of(*transaction_, family));
  return &record_by_row_;
}

void WriteTransaction::announce(const std::shared_ptr<Family>& family) {
  announced_.push_back(family);
  state_->announce(family);
}

Status WriteTransaction::change_record(const std::shared_ptr<Family>& family,
                                       const std::optional<FamilyRecord>& record) {
  const std::string key = catalog_key(family->name);
  LAPSE_TRY(record ? put(key, encode_record(*record)) : erase(key));
  family->forget_due();  // its rows may lie elsewhere now
  if (!has_changed(*family)) changed_.push_back(family);
  return {};
}

bool WriteTransaction::has_changed(const Family& family) const {
  return std::any_of(changed_.begin(), changed_.end(), [&](const auto& one) { return one.get() == &family; });
}

const WriteTransaction::TrimmedRow* WriteTransaction::trimmed_row(const std::string& prefix) const {
  const auto found = trimmed_rows_.find(prefix);
  return found == trimmed_rows_.end() ? nullptr : &found->second;
}

uint64_t WriteTransaction::take_sweep(Family* family, uint64_t limit) {
  if (std::exchange(family->swept_by, number_) == number_) return 0;
  return limit - std::min(limit, swept_);
}

void WriteTransaction::note_raised_hint() {
  if (!wrote_) return;
  if (!std::exchange(raised_hints_, true)) state_->raises_under_way.fetch_add(1);
  writes_at_last_raise_ = savepoint().writes;
}

void WriteTransaction::forget_raised_hints() {
  if (!std::exchange(raised_hints_, false)) return;
  state_->forget_hints();
  state_->raises_under_way.fetch_sub(1);
}

Status WriteTransaction::rollback_to(engine::Savepoint savepoint) {
  LAPSE_TRY(transaction_->rollback_to(savepoint));
  if (savepoint.writes < writes_at_last_raise_) forget_raised_hints();
  while (!removed_expired_.empty() && removed_expired_.back() > savepoint.writes) removed_expired_.pop_back();
  return {};
}

Result<uint64_t> WriteTransaction::reclaim(uint64_t limit) {
  const engine::Savepoint before = savepoint();
  while (true) {
    Result<uint64_t> reclaimed = reclaim_some(limit);
    if (reclaimed.ok()) return reclaimed;
    LAPSE_TRY(rollback_to(before));
    if (reclaimed.status().code() != StatusCode::kTooLarge) return reclaimed;
    limit /= 2;
  }
}

Result<uint64_t> WriteTransaction::reclaim_some(uint64_t limit) {
  uint64_t reclaimed = 0;
  while (state_->may_have_garbage && reclaimed < limit) {
    const auto list = transaction_->cursor(
        {std::max(std::string(kGarbagePrefix), state_->garbage_list_from), prefix_end(kGarbagePrefix)});
    LAPSE_TRY(list->first());
    if (!list->valid()) {
      state_->may_have_garbage = false;
      note_raised_hint();
      break;
    }
    const std::string garbage(list->key());
    const std::optional<FamilyId> id = parse_garbage_key(garbage);
    if (!id) return Status(StatusCode::kCorrupt, "a row of the store's garbage list names no family");
    LAPSE_TRY_ASSIGN(const uint64_t erased, erase_some_of(*id, limit - reclaimed));
    reclaimed += erased;
    if (reclaimed < limit) {
      LAPSE_TRY(erase(garbage));  // a row as well
      ++reclaimed;
    }
    state_->garbage_list_from = garbage;
    note_raised_hint();
  }
  return reclaimed;
}

// Of the rows that lie under a discarded id.
Result<uint64_t> WriteTransaction::erase_some_of(FamilyId id, uint64_t limit) {
  const std::string prefix = family_prefix(id);
  const bool has_begun = state_->garbage_from.starts_with(prefix);
  const auto rows = transaction_->cursor({has_begun ? state_->garbage_from : prefix, prefix_end(prefix)});
  std::vector<std::string> keys;
  for (Status status = rows->first();; status = rows->next()) {
    LAPSE_TRY(status);
    if (!rows->valid() || keys.size() == limit) break;
    keys.emplace_back(rows->key());
  }
  for (const std::string& key : keys) LAPSE_TRY(erase(key));
  if (keys.empty()) return uint64_t{0};
  state_->garbage_from = keys.back();
  note_raised_hint();
  return keys.size();
}

// Keeps the latest date and the clock's time. Where revisions are dated, each date must be known after a reopen; the
// clock's serves to notice one that was set back meanwhile.
Status WriteTransaction::store_time() {
  // This transaction's reading may be an old one: whether the clock has gone back, only the clock can say.
  const int64_t clock_ms = now_ms_ < state_->stored_clock_ms.load() ? state_->now_ms() : now_ms_;
  const bool dates = wrote_revision_ && written_at_ms_ > state_->stored_date_ms.load();
  if (!dates && !state_->clock_is_worth_storing(clock_ms)) return {};
  stores_time_ = {.latest_date_ms = written_at_ms_, .clock_ms = clock_ms};
  wrote_ = true;
  return transaction_->put_reserved(kTimeKey, encode_time(*stores_time_));
}

Result<std::vector<StoreState::Change>> WriteTransaction::collect_changes() {
  std::vector<StoreState::Change> changes;
  for (const std::shared_ptr<Family>& family : changed_) {
    Result<FamilyRecord> record = read_record_of(*transaction_, *family);
    if (!record.ok() && record.status().code() != StatusCode::kNotFound) return record.status();
    changes.push_back({family, record.ok() ? std::optional(*record) : std::nullopt});
  }
  return changes;
}

Result<uint64_t> WriteTransaction::commit_engine(Mode mode) {
  Result<uint64_t> sequence = [&] {
    switch (mode) {
      case Mode::kOrdinary: break;
      case Mode::kUnsynced: return transaction_->commit_unsynced();
      case Mode::kWithoutWaiting: return transaction_->commit_without_waiting();
    }
    return transaction_->commit();
  }();
  open_ = !sequence.ok() && mode == Mode::kWithoutWaiting && sequence.status().code() == StatusCode::kBusy;
  return sequence;
}

namespace {

// Of the catalog, if there is one to be made; it ends also where memory runs out.
class ChangeUnderWay {
 public:
  explicit ChangeUnderWay(StoreState* state) : state_(state) {
    if (state_ != nullptr) state_->begin_change();
  }
  ~ChangeUnderWay() {
    if (state_ != nullptr) state_->end_change();
  }
  ChangeUnderWay(const ChangeUnderWay&) = delete;
  ChangeUnderWay& operator=(const ChangeUnderWay&) = delete;

  void never_ends() { state_ = nullptr; }

 private:
  StoreState* state_;
};

}  // namespace

Result<uint64_t> WriteTransaction::commit(Mode mode) {
  if (!wrote_) return commit_engine(mode);
  LAPSE_TRY(store_time());
  LAPSE_TRY_ASSIGN(const std::vector<StoreState::Change> changes, collect_changes());
  const bool is_dated = savepoint().writes > 0;  // else all of it was rolled back, and there is no commit
  if (is_dated) state_->note_date(revision(), written_at_ms_);
  ChangeUnderWay change(changes.empty() ? nullptr : state_);
  const bool is_confirmed_now = mode == Mode::kUnsynced && !changes.empty();
  Result<uint64_t> sequence = commit_engine(is_confirmed_now ? Mode::kOrdinary : mode);
  // It may be seen until the reopen.
  const bool is_unknown = sequence.status().code() == StatusCode::kUnknown;
  if (sequence.ok()) {
    state_->publish(changes, *sequence);
    state_->expired_removed.fetch_add(removed_expired_.size(), std::memory_order_relaxed);
    if (stores_time_) {
      raise_to(&state_->stored_date_ms, stores_time_->latest_date_ms);
      state_->stored_clock_ms = stores_time_->clock_ms;
    }
  } else if (raised_hints_) {
    state_->hints_are_wrong.store(true);
  }
  if (is_dated && (sequence.ok() || is_unknown)) raise_to(&state_->latest_committed_ms, written_at_ms_);
  if (is_unknown) change.never_ends();
  if (!open_ && std::exchange(raised_hints_, false)) state_->raises_under_way.fetch_sub(1);
  if (!sequence.ok() && !is_unknown && !open_) retract_announced();
  return sequence;
}

void WriteTransaction::retract_announced() {
  for (const std::shared_ptr<Family>& family : announced_) state_->retract(family);
}

Status WriteTransaction::store_time_and_commit() {
  LAPSE_TRY(store_time());
  return commit().status();
}

void WriteTransaction::abandon() {
  if (!open_) return;
  open_ = false;
  if (state_->inherited()) return;
  forget_raised_hints();
  retract_announced();
  // Ends the transaction, but leaves the object to iterators that may still look at it.
  quietly([&] {
    if (transaction_->rollback_to({}).ok()) (void)transaction_->commit();
  });
}

}  // namespace lapse::internal
