#include "store/scope.h"

#include <algorithm>
#include <new>
#include <span>

#include "base/clock.h"
#include "base/try.h"
#include "store/history.h"
#include "store/visibility.h"

namespace lapse::internal {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kWaitSlice{100};  // nobody notices that a signal was so late

}  // namespace

// -------------------------------------------------------------------------------------------- ReadView

ReadView::~ReadView() {
  if (expired_.empty()) return;
  owned_.reset();
  scope_->remove_expired(*family_, expired_, now_ms_);
}

void ReadView::expect(std::span<const std::string_view> keys) const {
  if (!past_) expect_rows(*reader_, id_, keys);
}

Result<std::optional<Row>> ReadView::row(std::string_view key) {
  if (past_) return past_row(key);
  LAPSE_TRY_ASSIGN(const auto bytes, reader_->get(data_key(id_, key)));
  if (!bytes) return std::optional<Row>();
  LAPSE_TRY_ASSIGN(Row row, decode_row(key, *bytes));
  if (is_visible(row.deadline_ms, now_ms_)) return std::optional<Row>(row);
  scope_->state().expired_hidden.fetch_add(1, std::memory_order_relaxed);
  expired_.push_back({std::string(key), row.deadline_ms});
  return std::optional<Row>();
}

Result<std::optional<Row>> ReadView::past_row(std::string_view key) {
  LAPSE_TRY_ASSIGN(std::optional<Revision> past, revision_at(*reader_, id_, key, now_ms_));
  if (!past) return std::optional<Row>();
  past_values_.push_back(std::make_unique<std::string>(std::move(past->value)));
  Row row;
  row.value = *past_values_.back();
  row.deadline_ms = past->deadline_ms;
  row.revision = RevisionInfo{.written_at_ms = past->written_at_ms, .number = past->revision};
  return std::optional<Row>(row);
}

int64_t ReadView::next_due_ms() const {
  return scope_->state().next_due_in(sequence_, **family_, own_raises_);
}

Entry to_entry(const Row& row, int64_t now_ms) {
  Entry entry;
  entry.value = row.value;
  entry.deadline_ms = row.deadline_ms;
  if (row.deadline_ms != kNever) entry.left = std::chrono::milliseconds(row.deadline_ms - now_ms);
  entry.revision = row.revision_number();
  entry.written_at_ms = row.written_at_ms();
  return entry;
}

// ----------------------------------------------------------------------------------------------- Scope

Result<std::unique_ptr<engine::Transaction>> Scope::begin(milliseconds timeout) const {
  if (!options_.keep_waiting) return engine_->begin(timeout);
  const Stopwatch stopwatch;
  const auto waited = [&] { return milliseconds(stopwatch.elapsed_us() / 1000); };
  for (milliseconds before(0);; before = waited()) {
    const milliseconds slice = std::clamp(timeout - before, milliseconds(0), kWaitSlice);
    auto begun = engine_->begin(slice);
    if (begun.ok() || begun.status().code() != StatusCode::kBusy) return begun;
    if (waited() < before + slice || timeout <= kWaitSlice) return begun;  // or it would wait for itself
    if (waited() >= timeout)
      return Status(StatusCode::kBusy,
                    "another transaction is open; waited " + std::to_string(timeout.count()) + " ms");
    if (!options_.keep_waiting())
      return Status(StatusCode::kBusy, "another transaction is open; the waiting for it was called off");
  }
}

Status Scope::check_process() const {
  if (!state_->inherited()) return {};
  return {StatusCode::kUnavailable, "inherited over fork(); open the store anew"};
}

Status Scope::check_family(const Family& family) const {
  LAPSE_TRY(check_process());
  if (family.store == state_.get()) return {};
  return {StatusCode::kInvalidArgument, "family " + quoted(family.name) + " belongs to another store"};
}

Result<int64_t> Scope::latest_moment(const ReadView& view) const {
  return std::max(view.now_ms(), state_->latest_committed_ms.load());
}

Status Scope::sweep_and_run(FamilyWriter* writer, Work work) const {
  WriteTransaction* transaction = writer->transaction();
  const uint64_t limit = options_.sweep_per_write == 0
                             ? 0
                             : transaction->take_sweep(writer->family().get(), options_.sweep_per_write);
  if (limit == 0 || !may_be_due(*writer->family(), writer->now_ms()) || !may_remove_due(*writer))
    return work(*writer);
  // The work itself is done, whatever becomes of the sweep, and if there is no room for both, without it.
  const engine::Savepoint before = transaction->savepoint();
  DueEntries due;
  const Result<PurgeResult> swept = remove_due(writer, limit, limit, &due);
  if (swept.ok()) {
    transaction->note_swept(swept->removed);
    Status done = work(*writer);
    if (done.code() != StatusCode::kTooLarge || swept->removed == 0) return done;
  }
  LAPSE_TRY(transaction->rollback_to(before));
  LAPSE_TRY_ASSIGN(FamilyWriter anew, FamilyWriter::make(transaction, writer->family()));
  return work(anew);
}

Result<uint64_t> finish_transaction(WriteTransaction* transaction, WriteTransaction::Mode mode) {
  // What fails there is undone, and can be done another time.
  if (transaction->has_written() && transaction->state()->may_have_garbage)
    (void)transaction->reclaim(WriteTransaction::kReclaimPerCommit);
  return transaction->commit(mode);
}

// ------------------------------------------------------------------------------------------- AutoScope

Result<ReadView> AutoScope::read(const std::shared_ptr<Family>& family) {
  LAPSE_TRY(check_family(*family));
  const int64_t now_ms = state_->now_ms();
  const uint64_t changes = state_->changes_seen();
  LAPSE_TRY_ASSIGN(std::unique_ptr<engine::Snapshot> snapshot, engine_->snapshot());
  LAPSE_TRY_ASSIGN(const FamilyId id, state_->id_in(*snapshot, *family, changes));
  ReadView view(this, family, nullptr, id, now_ms);
  view.own(std::move(snapshot));
  return view;
}

Status AutoScope::write(const std::shared_ptr<Family>& family, Work work, const Manner& manner) {
  LAPSE_TRY(check_family(*family));
  for (;;) {
    LAPSE_TRY_ASSIGN(auto engine_transaction, begin(options_.busy_timeout));
    WriteTransaction transaction(state_.get(), std::move(engine_transaction));
    LAPSE_TRY_ASSIGN(FamilyWriter writer, FamilyWriter::make(&transaction, family));
    LAPSE_TRY(manner.sweeps ? sweep_and_run(&writer, work) : work(writer));
    Status status = finish_transaction(&transaction).status();
    if (status.code() != StatusCode::kConflict) return status;
  }
}

Result<int64_t> AutoScope::next_deadline(const std::shared_ptr<Family>& family) {
  LAPSE_TRY(check_family(*family));
  if (closed_.load()) return Status(StatusCode::kUnavailable, "the store has been closed");
  if (const std::optional<int64_t> known_ms = state_->next_due(*family, 0);
      known_ms && family->id.load() != 0)
    return *known_ms;
  // Only the writer may remember what it finds. If that is someone else now, this is looked up another time again.
  if (auto engine_transaction = engine_->begin(std::chrono::milliseconds(0)); engine_transaction.ok()) {
    WriteTransaction transaction(state_.get(), std::move(*engine_transaction));
    LAPSE_TRY_ASSIGN(FamilyWriter writer, FamilyWriter::make(&transaction, family));
    return learn_next_due(&writer);
  }
  LAPSE_TRY_ASSIGN(const ReadView view, read(family));
  return first_deadline(view.reader(), view.id(), view.next_due_ms());
}

void AutoScope::remove_expired(const std::shared_ptr<Family>& family, const std::vector<ExpiredKey>& keys,
                               int64_t now_ms) {
  if (options_.read_only || state_->inherited() || state_->clock_in_doubt()) return;
  try {
    remove_in_batches(family, keys, now_ms);
  } catch (const std::bad_alloc&) {  // destructors call this, and the keys are hidden in any case
  }
}

void AutoScope::remove_in_batches(const std::shared_ptr<Family>& family, const std::vector<ExpiredKey>& keys,
                                  int64_t now_ms) {
  for (size_t done = 0; done < keys.size();) {
    auto engine_transaction = engine_->begin(std::chrono::milliseconds(0));
    if (!engine_transaction.ok()) return;
    WriteTransaction transaction(state_.get(), std::move(*engine_transaction), now_ms);
    Result<FamilyWriter> writer = FamilyWriter::make(&transaction, family);
    if (!writer.ok() || !may_remove_due(*writer)) return;
    const Result<size_t> removed = remove_if_unchanged(&*writer, std::span(keys).subspan(done));
    if (!removed.ok()) return;
    done += *removed;
    if (!transaction.commit(WriteTransaction::Mode::kWithoutWaiting).ok()) return;
  }
}

// --------------------------------------------------------------------------------------- SnapshotScope

Result<ReadView> SnapshotScope::read(const std::shared_ptr<Family>& family) {
  LAPSE_TRY(check_family(*family));
  FamilyId id = 0;
  {
    std::lock_guard lock(mutex_);
    FamilyId& known = ids_[family->identity];
    if (known == 0) {
      const Result<FamilyRecord> record = read_record_of(*snapshot_, *family);
      if (record.status().code() == StatusCode::kNotFound && family->id.load() != 0)
        return Status(StatusCode::kNotFound,
                      "family " + quoted(family->name) + " is younger than this snapshot");
      if (!record.ok()) return record.status();
      if (past_ && !record->options.history)
        return Status(StatusCode::kInvalidArgument, "family " + quoted(family->name) + " keeps no history");
      known = record->id;
    }
    id = known;
  }
  ReadView view(this, family, snapshot_.get(), id, now_ms_);
  view.see_up_to(snapshot_->sequence());
  if (past_) view.look_back();
  return view;
}

// What is remembered is about the present.
Result<int64_t> SnapshotScope::next_deadline(const std::shared_ptr<Family>& family) {
  LAPSE_TRY_ASSIGN(const ReadView view, read(family));
  if (past_)
    return Status(StatusCode::kInvalidArgument,
                  "next_deadline() is about the present: a snapshot of the past has none");
  return first_deadline(view.reader(), view.id(), view.next_due_ms());
}

// By what it holds: what the store has committed since is its future.
Result<int64_t> SnapshotScope::latest_moment(const ReadView& view) const {
  if (past_) return now_ms_;
  LAPSE_TRY_ASSIGN(const std::optional<StoredTime> time, read_time(view.reader()));
  return std::max({now_ms_, latest_ms_, time ? time->latest_date_ms : 0});
}

Status SnapshotScope::write(const std::shared_ptr<Family>& /*family*/, Work /*work*/,
                            const Manner& /*manner*/) {
  return {StatusCode::kReadOnly, "a snapshot cannot be written to"};
}

// ------------------------------------------------------------------------------------ TransactionScope

namespace {

// Undoes what is written from now on, unless it is kept: also if an exception ends it.
class Attempt {
 public:
  explicit Attempt(WriteTransaction* transaction)
      : transaction_(transaction), before_(transaction->savepoint()) {}
  ~Attempt() {
    if (!kept_) (void)transaction_->rollback_to(before_);  // fails only where nothing can be committed either
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;
  void keep() { kept_ = true; }

 private:
  WriteTransaction* const transaction_;
  const engine::Savepoint before_;
  bool kept_ = false;
};

// Ends a transaction, also if there is no memory for its commit.
class Ending {
 public:
  explicit Ending(WriteTransaction* transaction) : transaction_(transaction) {}
  ~Ending() { transaction_->abandon(); }  // nothing, if it has been committed
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;

 private:
  WriteTransaction* const transaction_;
};

}  // namespace

Status TransactionScope::check_open() const {
  if (open_) return {};
  return {StatusCode::kInvalidArgument, "this transaction has ended"};
}

Result<ReadView> TransactionScope::read(const std::shared_ptr<Family>& family) {
  LAPSE_TRY(check_open());
  LAPSE_TRY(check_family(*family));
  LAPSE_TRY_ASSIGN(const FamilyRecord* record, transaction_.record_of(*family));
  ReadView view(this, family, transaction_.engine(), record->id, transaction_.now_ms());
  view.see_up_to(transaction_.revision(), transaction_.has_raised_hints() ? 1 : 0);
  return view;
}

Status TransactionScope::write(const std::shared_ptr<Family>& family, Work work, const Manner& manner) {
  LAPSE_TRY(check_open());
  LAPSE_TRY(check_family(*family));
  LAPSE_TRY_ASSIGN(FamilyWriter writer, FamilyWriter::make(&transaction_, family));
  return run([&] { return manner.sweeps ? sweep_and_run(&writer, work) : work(writer); });
}

Result<int64_t> TransactionScope::next_deadline(const std::shared_ptr<Family>& family) {
  LAPSE_TRY(check_open());
  LAPSE_TRY(check_family(*family));
  LAPSE_TRY(transaction_.record_of(*family));  // whether it is there
  const int own_raises = transaction_.has_raised_hints() ? 1 : 0;
  if (const std::optional<int64_t> known_ms = state_->next_due(*family, own_raises)) return *known_ms;
  LAPSE_TRY_ASSIGN(FamilyWriter writer, FamilyWriter::make(&transaction_, family));
  return learn_next_due(&writer);
}

Status TransactionScope::run(FunctionRef<Status()> work) {
  LAPSE_TRY(check_open());
  Attempt attempt(&transaction_);
  LAPSE_TRY(work());
  attempt.keep();
  return {};
}

Result<uint64_t> TransactionScope::commit(WriteTransaction::Mode mode) {
  LAPSE_TRY(check_open());
  open_ = false;
  const Ending ending(&transaction_);
  return finish_transaction(&transaction_, mode);
}

void TransactionScope::rollback() {
  open_ = false;
  transaction_.abandon();
}

Status TransactionScope::rollback_to(engine::Savepoint savepoint) {
  LAPSE_TRY(check_open());
  return transaction_.rollback_to(savepoint);
}

}  // namespace lapse::internal
