// Scope: in what a call takes place. The same calls (keyspace.h) are made on a store, in a transaction and on a
// snapshot; what differs is where they read, and when what they write takes effect:
//
//   AutoScope         a fresh snapshot for each read, a transaction of its own for each write
//   TransactionScope  all in one transaction, each call under a savepoint
//   SnapshotScope     one moment, of the present or of the past; no writes

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/function_ref.h"
#include "engine/engine.h"
#include "lapse/options.h"
#include "lapse/status.h"
#include "store/expiry.h"
#include "store/family_writer.h"
#include "store/store_state.h"
#include "store/write_transaction.h"

namespace lapse::internal {

class Scope;

// Where a call reads a family's rows, and by which time.
class ReadView {
 public:
  ReadView(Scope* scope, const std::shared_ptr<Family>& family, const engine::Reader* reader, FamilyId id,
           int64_t now_ms)
      : scope_(scope), family_(&family), reader_(reader), id_(id), now_ms_(now_ms) {}
  // Removes the expired keys that were met, if that can be done right away.
  ~ReadView();
  ReadView(ReadView&&) noexcept = default;
  ReadView& operator=(ReadView&&) = delete;

  // The view keeps the snapshot that it reads from.
  void own(std::unique_ptr<engine::Snapshot> snapshot) {
    owned_ = std::move(snapshot);
    reader_ = owned_.get();
    see_up_to(owned_->sequence());
  }
  std::unique_ptr<engine::Snapshot> release() { return std::move(owned_); }
  // All is to be seen as it was at now_ms().
  void look_back() { past_ = true; }
  // Which commits it sees, and in how many open transactions hints were raised that it sees as well.
  void see_up_to(uint64_t sequence, int own_raises = 0) {
    sequence_ = sequence;
    own_raises_ = own_raises;
  }

  const engine::Reader& reader() const { return *reader_; }
  FamilyId id() const { return id_; }
  int64_t now_ms() const { return now_ms_; }
  bool is_past() const { return past_; }
  // No key has an earlier deadline. Where that is known, a search need not walk over entries that a purge has removed.
  int64_t next_due_ms() const;

  // Reader::expect()
  void expect(std::span<const std::string_view> keys) const;
  // The visible row; its value is good as long as the view.
  Result<std::optional<Row>> row(std::string_view key);

 private:
  Result<std::optional<Row>> past_row(std::string_view key);

  Scope* scope_;
  const std::shared_ptr<Family>* family_;
  const engine::Reader* reader_;
  FamilyId id_;
  int64_t now_ms_;
  bool past_ = false;
  uint64_t sequence_ = 0;
  int own_raises_ = 0;
  std::unique_ptr<engine::Snapshot> owned_;
  std::vector<ExpiredKey> expired_;
  std::vector<std::unique_ptr<std::string>> past_values_;
};

// What get_entry() says about a visible row.
Entry to_entry(const Row& row, int64_t now_ms);

class Scope {
 public:
  Scope(std::shared_ptr<engine::Engine> engine, std::shared_ptr<StoreState> state, const Options& options)
      : engine_(std::move(engine)), state_(std::move(state)), options_(options) {}
  virtual ~Scope() = default;
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  virtual Result<ReadView> read(const std::shared_ptr<Family>& family) = 0;

  struct Manner {
    bool sweeps = true;  // whether it may also remove a few keys that are due
  };
  // Runs `work`, and makes what it wrote take effect if it returns ok; nothing of it if not. It may be run several times:
  // only the last of them counts.
  using Work = FunctionRef<Status(FamilyWriter&)>;
  virtual Status write(const std::shared_ptr<Family>& family, Work work, const Manner& manner) = 0;
  Status write(const std::shared_ptr<Family>& family, Work work) { return write(family, work, Manner()); }

  // No key of the family has an earlier deadline.
  virtual Result<int64_t> next_deadline(const std::shared_ptr<Family>& family) = 0;

  // What counts as now for who looks back: the reading, or the latest date that the view may show, if that is later.
  virtual Result<int64_t> latest_moment(const ReadView& view) const;

  // Whether several write()s take effect apart from each other.
  virtual bool commits_each_write() const { return false; }
  // Runs what is made of several write()s: if it fails, those that do not take effect by themselves are undone.
  virtual Status run(FunctionRef<Status()> work) { return work(); }
  // Removes keys that were found expired at `now_ms`, if the writer is free and nothing has to be waited for.
  virtual void remove_expired(const std::shared_ptr<Family>& /*family*/,
                              const std::vector<ExpiredKey>& /*keys*/, int64_t /*now_ms*/) {}

  // The writer's place. Waits for it for `timeout`, or until Options::keep_waiting says no.
  Result<std::unique_ptr<engine::Transaction>> begin(std::chrono::milliseconds timeout) const;

  engine::Engine& engine() const { return *engine_; }
  StoreState& state() const { return *state_; }
  const std::shared_ptr<engine::Engine>& shared_engine() const { return engine_; }
  const std::shared_ptr<StoreState>& shared_state() const { return state_; }
  const Options& options() const { return options_; }
  Status check_process() const;
  void note_closed() { closed_.store(true); }

 protected:
  // That it is one of this store's, and the store one of this process.
  Status check_family(const Family& family) const;
  // Runs `work` in a transaction that, before its first write in a family, may also remove a few keys that are due: what it
  // writes itself is never swept.
  Status sweep_and_run(FamilyWriter* writer, Work work) const;

  const std::shared_ptr<engine::Engine> engine_;
  const std::shared_ptr<StoreState> state_;
  const Options options_;
  std::atomic<bool> closed_{false};  // by its Store
};

class AutoScope final : public Scope {
 public:
  using Scope::Scope;
  Result<ReadView> read(const std::shared_ptr<Family>& family) override;
  using Scope::write;
  Status write(const std::shared_ptr<Family>& family, Work work, const Manner& manner) override;
  Result<int64_t> next_deadline(const std::shared_ptr<Family>& family) override;
  bool commits_each_write() const override { return true; }
  void remove_expired(const std::shared_ptr<Family>& family, const std::vector<ExpiredKey>& keys,
                      int64_t now_ms) override;

 private:
  void remove_in_batches(const std::shared_ptr<Family>& family, const std::vector<ExpiredKey>& keys,
                         int64_t now_ms);
};

class SnapshotScope final : public Scope {
 public:
  // `latest_ms`: the date of the latest commit when it was taken.
  SnapshotScope(const Scope& store, std::unique_ptr<engine::Snapshot> snapshot, int64_t now_ms,
                int64_t latest_ms)
      : Scope(store.shared_engine(), store.shared_state(), store.options()),
        snapshot_(std::move(snapshot)),
        now_ms_(now_ms),
        latest_ms_(latest_ms),
        past_(false) {}
  // Of the past, as it was at `at_ms`.
  SnapshotScope(const Scope& store, std::unique_ptr<engine::Snapshot> snapshot, int64_t at_ms)
      : Scope(store.shared_engine(), store.shared_state(), store.options()),
        snapshot_(std::move(snapshot)),
        now_ms_(at_ms),
        latest_ms_(at_ms),
        past_(true) {}
  Result<ReadView> read(const std::shared_ptr<Family>& family) override;
  using Scope::write;
  Status write(const std::shared_ptr<Family>& family, Work work, const Manner& manner) override;
  Result<int64_t> next_deadline(const std::shared_ptr<Family>& family) override;
  Result<int64_t> latest_moment(const ReadView& view) const override;
  int64_t now_ms() const { return now_ms_; }

 private:
  const std::unique_ptr<engine::Snapshot> snapshot_;
  const int64_t now_ms_;
  const int64_t latest_ms_;
  const bool past_;
  std::mutex mutex_;  // guards ids_
  // By identity: a family that is gone may leave its address to another.
  std::unordered_map<uint64_t, FamilyId> ids_;
};

class TransactionScope final : public Scope {
 public:
  TransactionScope(std::shared_ptr<Scope> store, std::unique_ptr<engine::Transaction> transaction)
      : Scope(store->shared_engine(), store->shared_state(), store->options()),
        store_(std::move(store)),
        transaction_(&state(), std::move(transaction)) {
    transaction_.remember_trimmed_rows();
  }
  Result<ReadView> read(const std::shared_ptr<Family>& family) override;
  using Scope::write;
  Status write(const std::shared_ptr<Family>& family, Work work, const Manner& manner) override;
  Result<int64_t> next_deadline(const std::shared_ptr<Family>& family) override;
  Status run(FunctionRef<Status()> work) override;

  WriteTransaction& transaction() { return transaction_; }
  // Where what it made is to be found when it has been committed.
  const std::shared_ptr<Scope>& store() const { return store_; }
  Status check_open() const;
  Result<uint64_t> commit(WriteTransaction::Mode mode);
  void rollback();
  Status rollback_to(engine::Savepoint savepoint);

 private:
  const std::shared_ptr<Scope> store_;
  WriteTransaction transaction_;
  bool open_ = true;
};

// What every store transaction does at its end: a little of the work that nobody waits for, then the commit.
Result<uint64_t> finish_transaction(WriteTransaction* transaction,
                                    WriteTransaction::Mode mode = WriteTransaction::Mode::kOrdinary);

}  // namespace lapse::internal
