// WriteTransaction: an engine transaction, with what the store has to know about it: its date, its revision, which
// families it changed, and what is to be done when it commits.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "engine/engine.h"
#include "lapse/status.h"
#include "store/catalog.h"
#include "store/row.h"
#include "store/store_state.h"

namespace lapse::internal {

class WriteTransaction {
 public:
  // `now_ms` is the transaction's one clock reading; none: it is taken here.
  WriteTransaction(StoreState* state, std::unique_ptr<engine::Transaction> transaction,
                   std::optional<int64_t> now_ms = std::nullopt);
  ~WriteTransaction();
  WriteTransaction(const WriteTransaction&) = delete;
  WriteTransaction& operator=(const WriteTransaction&) = delete;

  int64_t now_ms() const { return now_ms_; }
  int64_t written_at_ms() const { return written_at_ms_; }
  uint64_t revision() const { return transaction_->sequence(); }
  StoreState* state() const { return state_; }
  engine::Transaction* engine() const { return transaction_.get(); }

  Status put(std::string_view key, std::string_view value);
  Status erase(std::string_view key);
  bool has_written() const { return wrote_; }
  // Of keys and values, what has been rolled back included.
  size_t written_bytes() const { return written_bytes_; }

  // What the catalog says, as of this transaction. Good until the next call.
  Result<const FamilyRecord*> record_of(const Family& family);
  // To be called for a family that is being made, before its record is written.
  void announce(const std::shared_ptr<Family>& family);
  // Writes a family's record; none drops it. Published when the transaction commits.
  Status change_record(const std::shared_ptr<Family>& family, const std::optional<FamilyRecord>& record);

  // To be called where a revision is written, with its date.
  void note_revision() { wrote_revision_ = true; }
  // To be called when a key has been removed at its deadline.
  void note_removed_expired() { removed_expired_.push_back(savepoint().writes); }
  // A hint was raised on the word of what has been written by now: to be forgotten if that comes to nothing. Where nothing
  // has been, others find the same.
  void note_raised_hint();
  bool has_raised_hints() const { return raised_hints_; }

  // A history row that went because of a revision that this transaction wrote. Where it may still erase what it wrote,
  // because more than one call is made in it, such rows may be wanted back.
  struct TrimmedRow {
    int64_t written_at_ms;
    uint64_t revision;
    std::optional<std::string>
        bytes;  // of what this transaction itself had put there; else it was there before
  };
  void remember_trimmed_rows() { remembers_trimmed_rows_ = true; }
  bool remembers_trimmed_rows() const { return remembers_trimmed_rows_; }
  // By the prefix of a key's history rows, of which the last one to go counts. After a rollback it may be there again.
  void note_trimmed(std::string prefix, TrimmedRow row) {
    trimmed_rows_.insert_or_assign(std::move(prefix), std::move(row));
  }
  const TrimmedRow* trimmed_row(const std::string& prefix) const;

  // How many keys may be swept before this transaction's first write in a family: 0 after that, and once `limit` have
  // been.
  uint64_t take_sweep(Family* family, uint64_t limit);
  void note_swept(uint64_t count) { swept_ += count; }

  engine::Savepoint savepoint() const { return transaction_->savepoint(); }
  Status rollback_to(engine::Savepoint savepoint);

  // How many rows that nobody refers to any more a commit also removes.
  static constexpr uint64_t kReclaimPerCommit = 32;
  // Erases up to `limit` of them, those of the garbage list included; fewer, where there is no room for so many. Returns how
  // many: 0, when there are no more.
  Result<uint64_t> reclaim(uint64_t limit);

  // kUnsynced: at durability full it is confirmed later, unless it changes families: handles go by those in memory, which
  // must not be ahead of what snapshots see.
  enum class Mode { kOrdinary, kUnsynced, kWithoutWaiting };
  Result<uint64_t> commit(Mode mode = Mode::kOrdinary);
  // For the end of a store: commits nothing but the time.
  Status store_time_and_commit();
  // The transaction ends here, and has done nothing.
  void abandon();

 private:
  bool has_changed(const Family& family) const;
  Status store_time();
  Result<uint64_t> reclaim_some(uint64_t limit);
  Result<uint64_t> erase_some_of(FamilyId id, uint64_t limit);
  Result<std::vector<StoreState::Change>> collect_changes();
  Result<uint64_t> commit_engine(Mode mode);
  void retract_announced();
  void forget_raised_hints();
  StoreState* const state_;
  std::unique_ptr<engine::Transaction> transaction_;
  const int64_t now_ms_;
  const int64_t written_at_ms_;
  bool open_ = true;
  bool wrote_ = false;
  size_t written_bytes_ = 0;
  bool wrote_revision_ = false;
  std::optional<StoredTime> stores_time_;
  // Whether all records are to be read from their rows: the catalog was being changed when this began. Those that are
  // changed by it are in any case.
  const bool records_by_row_;
  FamilyRecord record_by_row_;
  std::vector<std::shared_ptr<Family>> changed_;
  std::vector<std::shared_ptr<Family>> announced_;
  bool remembers_trimmed_rows_ = false;
  std::unordered_map<std::string, TrimmedRow> trimmed_rows_;
  bool raised_hints_ = false;
  size_t writes_at_last_raise_ = 0;
  std::vector<size_t> removed_expired_;  // of each such key, how much was written when it had been removed
  const uint64_t number_;                // no other has it, not even after this one came to nothing
  uint64_t swept_ = 0;
};

}  // namespace lapse::internal
