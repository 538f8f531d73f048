// Handle: what a KVStore stands for: a Store, the transaction that is open on it, and what is to end with either.
//
// Invariants:
//  - At most one of the two transactions is open; in_transaction_ says whether one is. They change under mutex_.
//  - A write transaction is only used under mutex_: it is for one thread at a time. So are the iterators made in it.
//  - Every write takes mutex_, so threads that share a handle never see each other as KVSTORE_BUSY. Reads outside of
//    transactions take no lock.
//  - Whatever holds a snapshot of the store is a Tenant, and is gone when the store is closed: else the file could not
//    be opened again in this process.
//
// mutex_ is taken before tenants_mutex_, and the latter is held for moments only. In a forked child neither may ever come
// free: there nothing is touched, and nothing destroyed.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "bindings/c/failures.h"
#include "bindings/c/outcome.h"
#include "lapse/kvstore.h"
#include "lapse/process.h"
#include "lapse/store.h"

namespace lapse::c {

// What ends with a handle, or with its transaction: iterators and snapshots.
class Tenant {
 public:
  virtual ~Tenant() = default;
  virtual void evict() = 0;
  virtual bool lives_in_transaction() const { return false; }
};

struct Counters {
  std::atomic<uint64_t> puts, gets, deletes, iterations, errors, bytes_read, bytes_written, checkpoints,
      purged;
  // What the store had counted when this handle began to.
  std::atomic<uint64_t> commits_before, expired_before;
};

class Handle {
 public:
  Handle(Store store, bool read_only, std::chrono::milliseconds busy_timeout);

  // Whether this is a child of the process that opened it. To be asked before anything else.
  bool forked() const { return fork_generation() != opened_in_; }

  Store& store() { return store_; }
  Counters& counters() { return counters_; }
  void count_put(size_t bytes);
  void reset_counters();
  Failures& failures() { return failures_; }
  const Failures& failures() const { return failures_; }

  // Runs `work` with the family as the calls of this handle see it: Outcome(const Reader&).
  template <typename Work>
  Outcome read(const Family& family, Work work) {
    if (!in_transaction_.load(std::memory_order_acquire)) return work(family);
    std::unique_lock lock(mutex_);
    if (write_) return work(write_->in(family));
    const std::shared_ptr<const Snapshot> snapshot = read_;
    lock.unlock();
    if (snapshot) return work(snapshot->in(family));
    return work(family);
  }

  // The same; all that `work` reads is of one moment.
  template <typename Work>
  Outcome read_one_moment(const Family& family, Work work) {
    if (in_transaction_.load(std::memory_order_acquire)) return read(family, work);
    const Result<Snapshot> snapshot = store_.snapshot();
    if (!snapshot.ok()) return snapshot.status();
    return work(snapshot->in(family));
  }

  // Runs `work` with the family, in the open transaction if there is one: Outcome(Keyspace&).
  template <typename Work>
  Outcome write(Family& family, Work work) {
    const std::lock_guard lock(mutex_);
    KVSTORE_TRY(check_writable());
    if (!write_) return work(family);
    Family joined = write_->in(family);
    return work(joined);
  }

  // Runs `work` outside of transactions, for what cannot be part of one: Outcome(Store&).
  template <typename Work>
  Outcome write_apart(Work work) {
    const std::lock_guard lock(mutex_);
    if (in_transaction_.load()) return {KVSTORE_LOCKED, "not while this handle has a transaction open"};
    KVSTORE_TRY(check_writable());
    return work(store_);
  }

  // Runs `work` with what has the families, as the calls of this handle see them: the store, or the write transaction
  // that is open on it. Outcome(auto&).
  template <typename Work>
  Outcome read_families(Work work) {
    if (!in_transaction_.load(std::memory_order_acquire)) return work(store_);
    const std::lock_guard lock(mutex_);
    return write_ ? work(*write_) : work(store_);
  }
  template <typename Work>
  Outcome write_families(Work work) {
    const std::lock_guard lock(mutex_);
    KVSTORE_TRY(check_writable());
    return write_ ? work(*write_) : work(store_);
  }

  // Makes an iterator, and says whether it is one of the write transaction: Outcome(const Reader&, bool).
  // What it is put into has to be a tenant by the time `work` returns.
  template <typename Work>
  Outcome iterate(const Family& family, Work work) {
    if (!in_transaction_.load(std::memory_order_acquire)) return work(family, false);
    const std::lock_guard lock(mutex_);
    if (write_) return work(write_->in(family), true);
    if (read_) return work(read_->in(family), false);
    return work(family, false);
  }

  // For the use of what lives in the write transaction.
  std::unique_lock<std::mutex> lock_transaction() { return std::unique_lock(mutex_); }

  Outcome begin(bool write);
  Outcome commit();
  Outcome rollback();
  Outcome checkpoint();
  Outcome close();

  void move_in(Tenant* tenant);
  void move_out(Tenant* tenant);

 private:
  class Ending;
  Outcome check_writable() const;
  // REQUIRES: mutex_ is held
  void end_transaction();
  void evict_tenants(bool all);

  const uint64_t opened_in_ = fork_generation();
  Store store_;
  const bool read_only_;
  const std::chrono::milliseconds busy_timeout_;
  Counters counters_{};
  Failures failures_;

  std::mutex mutex_;
  std::optional<Transaction> write_;
  std::shared_ptr<const Snapshot> read_;
  std::atomic<bool> in_transaction_{false};

  std::mutex tenants_mutex_;
  std::set<Tenant*> tenants_;
};

}  // namespace lapse::c

struct KVColumnFamily {
  std::shared_ptr<lapse::c::Handle> handle;
  lapse::Family family;
};

struct KVStore {
  KVColumnFamily default_family;
};
