#include "bindings/c/handle.h"

namespace lapse::c {

// Ends the transaction, also if there is no memory for its commit.
class Handle::Ending {
 public:
  explicit Ending(Handle* handle) : handle_(handle) { handle_->evict_tenants(false); }
  ~Ending() { handle_->end_transaction(); }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;

 private:
  Handle* const handle_;
};

Handle::Handle(Store store, bool read_only, std::chrono::milliseconds busy_timeout)
    : store_(std::move(store)), read_only_(read_only), busy_timeout_(busy_timeout) {
  reset_counters();
}

void Handle::count_put(size_t bytes) {
  counters_.puts.fetch_add(1, std::memory_order_relaxed);
  counters_.bytes_written.fetch_add(bytes, std::memory_order_relaxed);
}

void Handle::reset_counters() {
  for (std::atomic<uint64_t>* counter :
       {&counters_.puts, &counters_.gets, &counters_.deletes, &counters_.iterations, &counters_.errors,
        &counters_.bytes_read, &counters_.bytes_written, &counters_.checkpoints, &counters_.purged})
    *counter = 0;
  const StoreStats stats = store_.stats();
  counters_.commits_before = stats.commits;
  counters_.expired_before = stats.expired_hidden;
}

Outcome Handle::check_writable() const {
  if (read_only_) return {KVSTORE_READONLY, "this handle was opened read-only"};
  if (read_) return {KVSTORE_READONLY, "the open transaction is one for reading"};
  return {};
}

Outcome Handle::begin(bool write) {
  const std::lock_guard lock(mutex_);
  if (in_transaction_.load()) return Outcome::error("this handle has a transaction open already");
  if (write) {
    KVSTORE_TRY(check_writable());
    Result<Transaction> transaction = store_.begin(busy_timeout_);
    if (!transaction.ok()) return transaction.status();
    write_.emplace(std::move(*transaction));
  } else {
    Result<Snapshot> snapshot = store_.snapshot();
    if (!snapshot.ok()) return snapshot.status();
    read_ = std::make_shared<const Snapshot>(std::move(*snapshot));
  }
  in_transaction_.store(true, std::memory_order_release);
  return {};
}

Outcome Handle::commit() {
  const std::lock_guard lock(mutex_);
  if (!in_transaction_.load()) return Outcome::error("there is no transaction to commit");
  const Ending ending(this);
  return write_ ? Outcome(write_->commit().status()) : Outcome();
}

Outcome Handle::rollback() {
  const std::lock_guard lock(mutex_);
  if (!in_transaction_.load()) return Outcome::error("there is no transaction to roll back");
  end_transaction();
  return {};
}

void Handle::end_transaction() {
  evict_tenants(false);
  write_.reset();
  read_.reset();
  in_transaction_.store(false, std::memory_order_release);
}

// Store::checkpoint() waits for the writer for as long as it takes. So this first finds out, as patiently as the
// handle's config says, whether there is one, and then waits without a lock that its end might need.
Outcome Handle::checkpoint() {
  KVSTORE_TRY(write_apart([&](Store& store) -> Outcome { return store.begin(busy_timeout_).status(); }));
  return store_.checkpoint();
}

Outcome Handle::close() {
  const std::lock_guard lock(mutex_);
  evict_tenants(true);
  end_transaction();
  return store_.close();
}

void Handle::move_in(Tenant* tenant) {
  const std::lock_guard lock(tenants_mutex_);
  tenants_.insert(tenant);
}

void Handle::move_out(Tenant* tenant) {
  const std::lock_guard lock(tenants_mutex_);
  tenants_.erase(tenant);
}

void Handle::evict_tenants(bool all) {
  const std::lock_guard lock(tenants_mutex_);
  for (Tenant* tenant : tenants_) {
    if (all || tenant->lives_in_transaction()) tenant->evict();
  }
}

}  // namespace lapse::c
