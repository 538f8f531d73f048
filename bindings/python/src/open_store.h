// OpenStore: a Store as Python's handles share it, with what belongs to a handle rather than to the store: the
// transaction of each thread, the counters, the latest error.
//
// Rules that keep it from deadlocks and damage:
//  - Nothing here needs the GIL, and nothing here asks for it while a mutex is held. Those who wait for the writer ask for
//    it now and then, to look after signals: so none of them holds a mutex.
//  - After fork() no mutex is touched: check_usable() comes first, everywhere.
//  - Whatever uses the store is a Use. close() waits for those that are under way and lets none begin after it; so what
//    it then takes away, from iterators, snapshots and transactions, is used by nobody.
//  - A transaction belongs to the thread that began it. Calls of that thread join it; those of others do not see it.
//    Of asyncio's tasks in that thread only the one that began it may: see check_task().
//    If the thread ends first, so does the transaction: else nobody could write any more.

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "errors.h"
#include "lapse/store.h"

namespace lapse::python {

// A number for the calling thread that is never used again, unlike the system's.
uint64_t this_thread();

// What begin() opened in one thread: a transaction, or for reading only a snapshot.
struct ThreadScope {
  const uint64_t owner = this_thread();
  const uint64_t task = 0;  // asyncio's, of those in the thread
  std::optional<Transaction> transaction = {};
  std::optional<Snapshot> snapshot = {};

  // Ends it now. To let go of it would not do: an iterator that another thread is just dropping holds it as well.
  void undo();
};

// What holds a moment of the store, an iterator or a snapshot, and lets it go when its transaction ends or the store is
// closed: else the file would stay open.
class Dependent {
 public:
  virtual ~Dependent() = default;
  virtual void let_go() = 0;
  virtual bool lives_in(const ThreadScope& /*scope*/) const { return false; }
};

// By the rule of KVStoreStats, in kvstore.h.
struct Counters {
  std::atomic<uint64_t> puts{0}, gets{0}, deletes{0}, iterations{0}, errors{0}, bytes_read{0},
      bytes_written{0}, checkpoints{0}, purged{0};
  // What the store had counted when this handle began to.
  std::atomic<uint64_t> commits_before{0}, syncs_before{0}, hidden_before{0};

  static void add(std::atomic<uint64_t>& counter, uint64_t by = 1) {
    counter.fetch_add(by, std::memory_order_relaxed);
  }
  void add_put(size_t bytes, uint64_t keys = 1);
  void add_get(std::optional<std::string_view> value);
  void reset(const StoreStats& now);
};

// A number for the asyncio task that is running, or 0. REQUIRES: the GIL, and that the module has been set up
uint64_t running_task();

// Sets it up, once, while the module is imported.
void find_running_task();

// Whether this thread has a transaction open, on any store.
bool thread_is_in_transaction();

class OpenStore : public std::enable_shared_from_this<OpenStore> {
 public:
  // As Store::open(), without a path as open_in_memory(). Throws what they return.
  static std::shared_ptr<OpenStore> open(const std::optional<std::string>& path, Options options);

  // Whether this is a forked child.
  bool inherited() const;
  // Throws kUnavailable in one.
  void check_usable() const;
  // Also once it is closed.
  void check_open() const;

  Store& store() { return store_; }
  Counters& counters() { return counters_; }
  std::chrono::milliseconds busy_timeout() const { return busy_timeout_; }

  // Throws kConflict if the thread's transaction is that of another task than the running one. REQUIRES: the GIL
  void check_task() const;

  // The calling thread's, or null.
  std::shared_ptr<ThreadScope> scope() const;
  void begin(bool write, uint64_t task);
  // The commit's number; of a read transaction, the latest one that it sees is of no interest: 0.
  uint64_t commit();
  void rollback();
  Savepoint savepoint();
  void rollback_to(Savepoint savepoint);

  // Rolls back what is open, in whichever thread; once: later ones do nothing.
  void close();
  bool closed() const { return closed_->load(); }

  // REQUIRES: within a Use, so that close() comes afterwards and finds it.
  void add(const std::shared_ptr<Dependent>& dependent);
  void remove(const Dependent* dependent);

  // Rolls back what a thread that ends has left open.
  void abandon(uint64_t thread);

  // Unwraps, or throws the error.
  template <typename T>
  T take(Result<T> result) {
    if (!result.ok()) fail(result.status());
    return *std::move(result);
  }
  void take(const Status& status) {
    if (!status.ok()) fail(status);
  }
  [[noreturn]] void fail(const Status& status);

  // What a call has ended with, for latest_error() and the counters. Nothing in a forked child.
  void note(const Status& status);
  std::string latest_error() const;

 private:
  using ClosedFlag = std::unique_ptr<std::atomic<bool>>;

  OpenStore(Store store, std::chrono::milliseconds busy_timeout, ClosedFlag closed);

  friend class Use;

  std::shared_ptr<ThreadScope> scope_of(uint64_t thread) const;
  void remove_scope(const std::shared_ptr<ThreadScope>& scope);
  std::shared_ptr<ThreadScope> take_scope();
  void let_dependents_go(const ThreadScope* scope);  // null: all of them
  void let_scopes_go();
  std::shared_ptr<ThreadScope> transaction_scope() const;

  const uint64_t opened_in_;
  const std::chrono::milliseconds busy_timeout_;
  const ClosedFlag closed_;  // apart, for those who wait: the store is made with it
  Store store_;
  Counters counters_;
  std::atomic<bool> close_is_done_{false};
  std::atomic<int> uses_{0};  // under way

  std::atomic<int> scope_count_{0};  // so that those who use no transactions pay one load
  mutable std::mutex mutex_;         // of what follows
  std::unordered_map<uint64_t, std::shared_ptr<ThreadScope>> scopes_;
  std::unordered_map<const Dependent*, std::weak_ptr<Dependent>> dependents_;
  std::string latest_error_ = "no error";
};

// A use of the store, for as long as it takes. Throws as check_open().
class Use {
 public:
  explicit Use(OpenStore& store);
  ~Use();
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  void end();

  OpenStore& store_;
};

}  // namespace lapse::python
