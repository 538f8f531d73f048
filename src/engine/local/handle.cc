#include "engine/local/handle.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "base/file.h"
#include "base/memory.h"
#include "base/try.h"
#include "engine/local/per_process.h"

namespace lapse::engine {

namespace {

constexpr size_t kCopyStepBytes = 16 << 20;  // of one commit of compact_to()

// Of all writes in the process, also those that were rolled back, only one has it.
uint64_t next_write_number() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

class LocalSnapshot final : public Snapshot {
 public:
  LocalSnapshot(CoreRef core, ReadPoint point) : core_(std::move(core)), point_(std::move(point)) {
    core_->add_guest();
  }
  ~LocalSnapshot() override { core_->remove_guest(); }
  LocalSnapshot(const LocalSnapshot&) = delete;
  LocalSnapshot& operator=(const LocalSnapshot&) = delete;

  Result<std::optional<std::string_view>> get(std::string_view key) const override { return point_.get(key); }
  void expect(std::span<const std::string_view> keys) const override { point_.expect(keys); }
  std::unique_ptr<Cursor> cursor(Range range) const override {
    return std::make_unique<MergeCursor>(&point_, std::move(range));
  }
  Result<uint64_t> estimate_entries(std::string_view from, std::string_view to) const override {
    return point_.estimate_entries(from, to);
  }
  uint64_t sequence() const override { return point_.sequence; }

 private:
  CoreRef core_;
  ReadPoint point_;
};

class LocalTransaction final : public Transaction {
 public:
  explicit LocalTransaction(CoreRef core)
      : core_(std::move(core)), writes_(core_->own_writes()), point_(core_->write_point()) {
    core_->add_guest();
    point_.own = writes_;
    point_.own_changes = &changes_;
    point_.transaction_open = &open_;
  }
  ~LocalTransaction() override {
    if (open_ && !core_->forked()) core_->end_write();
    core_->remove_guest();
  }
  LocalTransaction(const LocalTransaction&) = delete;
  LocalTransaction& operator=(const LocalTransaction&) = delete;

  Result<std::optional<std::string_view>> get(std::string_view key) const override {
    LAPSE_TRY(check_open());
    return point_.get(key);
  }
  Result<std::optional<std::string_view>> get_committed(std::string_view key) const override {
    LAPSE_TRY(check_open());
    ReadPoint below = point_;
    below.own = nullptr;
    return below.get(key);
  }

  void expect(std::span<const std::string_view> keys) const override { point_.expect(keys); }

  std::unique_ptr<Cursor> cursor(Range range) const override {
    return std::make_unique<MergeCursor>(&point_, std::move(range));
  }

  Result<uint64_t> estimate_entries(std::string_view from, std::string_view to) const override {
    LAPSE_TRY(check_open());
    return point_.estimate_entries(from, to);
  }

  Status put(std::string_view key, std::string_view value) override {
    if (value.size() > kMaxValueBytes) return too_large("value", value.size(), kMaxValueBytes);
    return write(key, value, core_->options().max_transaction_bytes);
  }

  Status erase(std::string_view key) override {
    return write(key, std::nullopt, core_->options().max_transaction_bytes);
  }

  Status put_reserved(std::string_view key, std::string_view value) override {
    const size_t reserved = encoded_write_bytes(kReservedBytes, 0);
    return write(key, value, core_->options().max_transaction_bytes + reserved);
  }

  Savepoint savepoint() const override { return {undo_.size(), number_of_write(undo_.size())}; }

  Status rollback_to(Savepoint savepoint) override {
    LAPSE_TRY(check_open());
    if (savepoint.writes > undo_.size() || savepoint.last_write != number_of_write(savepoint.writes))
      return {StatusCode::kInvalidArgument,
              "this savepoint has been rolled back already, or is another transaction's"};
    for (; undo_.size() > savepoint.writes; undo_.pop_back()) {
      writes_->undo(undo_.back().entry);
      bytes_ -= undo_.back().bytes;
    }
    ++changes_;
    return {};
  }

  uint64_t sequence() const override { return point_.sequence + 1; }

  Result<uint64_t> commit() override { return commit(Core::Confirmation::kNow); }
  Result<uint64_t> commit_unsynced() override { return commit(Core::Confirmation::kLater); }
  Result<uint64_t> commit_without_waiting() override { return append(Core::Patience::kNone); }

 private:
  static constexpr size_t kFirstUndos = 4;  // a put with a deadline and the time make three
  struct Undo {
    WriteBuffer::Entry* entry;
    size_t bytes;
    uint64_t number;
  };

  // Of the n-th that stands; counted from 1.
  uint64_t number_of_write(size_t n) const { return n == 0 ? 0 : undo_[n - 1].number; }

  static Status too_large(std::string_view what, size_t bytes, size_t limit) {
    return {StatusCode::kTooLarge, std::string(what) + " of " + std::to_string(bytes) +
                                       " bytes: the limit is " + std::to_string(limit)};
  }

  Result<uint64_t> commit(Core::Confirmation confirmation) {
    Result<uint64_t> sequence = append(Core::Patience::kWait);
    if (!sequence.ok() || *sequence == point_.sequence) return sequence;
    LAPSE_TRY(core_->finish_commit(*sequence, confirmation));
    return sequence;
  }

  // Ends the transaction, unless it would have to wait and must not. Returns the number of the latest commit, if this
  // one wrote nothing.
  Result<uint64_t> append(Core::Patience patience) {
    LAPSE_TRY(check_open());
    Result<uint64_t> sequence = point_.sequence;
    if (!undo_.empty()) sequence = core_->append_commit(patience);
    if (patience == Core::Patience::kNone && sequence.status().code() == StatusCode::kBusy) return sequence;
    open_ = false;
    core_->end_write();
    return sequence;
  }

  Status check_open() const {
    LAPSE_TRY(point_.check_usable());
    core_->note_writer_thread();
    return {};
  }

  Status write(std::string_view key, std::optional<std::string_view> value, size_t limit) {
    LAPSE_TRY(check_open());
    if (key.size() > kMaxKeyBytes) return too_large("key", key.size(), kMaxKeyBytes);
    const size_t bytes = encoded_write_bytes(key.size(), value ? value->size() : 0);
    if (bytes_ + bytes > limit) return too_large("transaction", bytes_ + bytes, limit);
    // Room first: a write that was made must be one that can be undone.
    if (undo_.size() == undo_.capacity()) undo_.reserve(std::max<size_t>(kFirstUndos, 2 * undo_.size()));
    undo_.push_back({writes_->insert(key, undo_.size(), value), bytes, next_write_number()});
    bytes_ += bytes;
    ++changes_;
    return {};
  }

  CoreRef core_;
  WriteBuffer* writes_;
  ReadPoint point_;
  bool open_ = true;
  uint64_t changes_ = 0;
  size_t bytes_ = 0;
  std::vector<Undo> undo_;
};

// Copies a snapshot into a fresh tree, a step at a time: first the short keys, in order, which fills pages to
// the brim; then the long ones, whose rows lie elsewhere.
class CopySteps {
 public:
  explicit CopySteps(const Snapshot& snapshot) : cursor_(snapshot.cursor()) {}

  Result<bool> next(TreeBatch* batch) {
    if (!started_) {
      started_ = true;
      LAPSE_TRY(cursor_->first());
    }
    size_t bytes = 0;
    while (cursor_->valid() && bytes < kCopyStepBytes) {
      const bool is_long = cursor_->key().size() > kLongestShortKey;
      if (is_long != long_keys_) {
        any_long_keys_ |= is_long;
      } else {
        LAPSE_TRY(is_long ? batch->put(cursor_->key(), cursor_->value())
                          : batch->append(cursor_->key(), cursor_->value()));
        bytes += cursor_->key().size() + cursor_->value().size();
      }
      LAPSE_TRY(cursor_->next());
    }
    if (cursor_->valid()) return true;
    if (long_keys_ || !any_long_keys_) return false;
    long_keys_ = true;
    started_ = false;
    return true;
  }

 private:
  static constexpr size_t kLongestShortKey = 509;  // tree_rows.h

  std::unique_ptr<Cursor> cursor_;
  bool started_ = false;
  bool long_keys_ = false;
  bool any_long_keys_ = false;
};

class LocalHandle final : public Engine {
 public:
  LocalHandle(std::shared_ptr<Core> core, bool read_only) : core_(std::move(core)), read_only_(read_only) {
    core_->add_handle();
  }
  ~LocalHandle() override {
    quietly([this] { (void)close(); });
  }
  LocalHandle(const LocalHandle&) = delete;
  LocalHandle& operator=(const LocalHandle&) = delete;

  Result<std::unique_ptr<Snapshot>> snapshot() override {
    LAPSE_TRY_ASSIGN(CoreRef core, core_to_read());
    ReadPoint point = core->read_point();
    return std::unique_ptr<Snapshot>(std::make_unique<LocalSnapshot>(std::move(core), std::move(point)));
  }

  Result<std::unique_ptr<Transaction>> begin(std::chrono::milliseconds timeout) override {
    LAPSE_TRY_ASSIGN(CoreRef core, core_to_write());
    LAPSE_TRY(core->begin_write(timeout));
    try {
      return std::unique_ptr<Transaction>(std::make_unique<LocalTransaction>(core));
    } catch (const std::bad_alloc&) {
      core->end_write();
      throw;
    }
  }

  Status wait_durable(uint64_t sequence) override {
    LAPSE_TRY_ASSIGN(const CoreRef core, core_to_read());
    return core->wait_durable(sequence);
  }

  Status sync() override {
    LAPSE_TRY_ASSIGN(const CoreRef core, core_to_read());
    return core->wait_durable(core->appended_sequence());
  }

  Status checkpoint() override {
    LAPSE_TRY_ASSIGN(const CoreRef core, core_to_write());
    return core->checkpoint();
  }

  Status compact_to(const std::string& path) override {
    LAPSE_TRY_ASSIGN(const std::unique_ptr<Snapshot> snapshot, this->snapshot());
    LAPSE_TRY_ASSIGN(const std::string target, canonical_path(path));
    LAPSE_TRY(Tree::check_absent(target));  // before all the work, and once more after it
    LAPSE_TRY_ASSIGN(const auto journals, find_journal_slots(target, true));
    if (!journals.empty())
      return {StatusCode::kInvalidArgument,
              journals[0].file.path() + ": is the journal of another store; remove it first"};
    StoreMeta meta;
    meta.store_id = new_store_id();
    meta.drained_sequence = snapshot->sequence();
    meta.target_sequence = snapshot->sequence();
    CopySteps steps(*snapshot);
    return Tree::create(target, meta, [&](TreeBatch* batch) { return steps.next(batch); });
  }

  Status verify() override {
    LAPSE_TRY_ASSIGN(const CoreRef core, core_to_read());
    return core->verify();
  }

  EngineStats stats() override {
    const Result<CoreRef> core = core_to_read();
    if (core.ok()) return (*core)->stats();
    EngineStats stats;
    stats.background_error = core.status();
    return stats;
  }

  double backlog() override {
    const Result<CoreRef> core = core_to_read();
    return core.ok() ? std::max(0.0, (*core)->drain_arrears()) : 0;
  }

  std::shared_ptr<void> shared_state(const std::function<std::shared_ptr<void>()>& make) override {
    const Result<CoreRef> core = core_to_read();
    return core.ok() ? (*core)->shared_state(make) : nullptr;
  }

  Status close() override {
    LAPSE_TRY_ASSIGN(CoreRef core, core_to_read());
    bool was_last = false;
    {
      const std::lock_guard handles_lock(handles_mutex());
      const std::lock_guard lock(mutex_);
      if (!core_) return closed();  // by another thread
      core_.reset();
      was_last = core->remove_handle();
    }
    return was_last ? core->close() : Status();
  }

 private:
  static Status closed() { return {StatusCode::kUnavailable, "the store has been closed"}; }

  // A reference that lasts for the call, whoever closes the handle meanwhile.
  Result<CoreRef> core_to_read() const {
    if (fork_generation() != opened_in_)
      return Status(StatusCode::kUnavailable, "inherited over fork(); open the store anew");
    CoreRef core;
    {
      std::lock_guard lock(mutex_);
      core = core_;
    }
    if (!core) return closed();
    LAPSE_TRY(core->check_usable());
    return core;
  }

  Result<CoreRef> core_to_write() const {
    Result<CoreRef> core = core_to_read();
    if (core.ok() && read_only_) return Status(StatusCode::kReadOnly, "this handle was opened read-only");
    return core;
  }

  const uint64_t opened_in_ = fork_generation();
  mutable std::mutex mutex_;  // guards core_
  CoreRef core_;
  const bool read_only_;
};

}  // namespace

std::recursive_mutex& handles_mutex() {
  static PerProcess<std::recursive_mutex> mutex;
  return mutex.get();
}

std::unique_ptr<Engine> make_handle(std::shared_ptr<Core> core, bool read_only) {
  return std::make_unique<LocalHandle>(std::move(core), read_only);
}

}  // namespace lapse::engine
