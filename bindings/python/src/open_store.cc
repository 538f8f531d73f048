#include "open_store.h"

#include <utility>

#include "base/process.h"

namespace lapse::python {

uint64_t this_thread() {
  static std::atomic<uint64_t> next{1};
  thread_local const uint64_t own = next.fetch_add(1);
  return own;
}

void ThreadScope::let_dependents_go() {
  for (const auto& weak : std::exchange(dependents, {})) {
    if (const auto dependent = weak.lock()) dependent->let_go();
  }
}

void Counters::reset() {
  for (auto* counter :
       {&puts, &gets, &deletes, &iterations, &errors, &bytes_read, &bytes_written, &commits, &checkpoints})
    counter->store(0);
}

OpenStore::OpenStore(Store store, std::chrono::milliseconds busy_timeout)
    : opened_in_(fork_generation()), busy_timeout_(busy_timeout), store_(std::move(store)) {}

void OpenStore::check_usable() const {
  if (fork_generation() != opened_in_)
    throw StatusError(StatusCode::kUnavailable, "inherited over fork(); open the store anew in this process");
}

void OpenStore::check_open() const {
  check_usable();
  if (closed()) throw StatusError(StatusCode::kUnavailable, "the store has been closed");
}

std::shared_ptr<ThreadScope> OpenStore::scope() const {
  if (scope_count_.load(std::memory_order_acquire) == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = scopes_.find(this_thread());
  return found == scopes_.end() ? nullptr : found->second;
}

void OpenStore::begin(bool write) {
  check_open();
  if (scope()) fail({StatusCode::kConflict, "this thread has a transaction open already"});
  auto opened = std::make_shared<ThreadScope>();
  if (write) {
    opened->transaction.emplace(take(store_.begin(busy_timeout_)));
  } else {
    opened->snapshot.emplace(take(store_.snapshot()));
  }
  const std::lock_guard lock(mutex_);
  scopes_.emplace(opened->owner, std::move(opened));
  scope_count_.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<ThreadScope> OpenStore::take_scope() {
  check_usable();
  auto own = scope();
  if (!own) fail({StatusCode::kInvalidArgument, "no transaction is open in this thread"});
  own->let_dependents_go();
  const std::lock_guard lock(mutex_);
  scopes_.erase(own->owner);
  scope_count_.fetch_sub(1);
  return own;
}

uint64_t OpenStore::commit() {
  const auto own = take_scope();
  if (!own->transaction) return 0;
  const uint64_t revision = take(own->transaction->commit());
  Counters::add(counters_.commits);
  return revision;
}

void OpenStore::rollback() { (void)take_scope(); }

std::shared_ptr<ThreadScope> OpenStore::transaction_scope() const {
  check_usable();
  auto own = scope();
  if (!own || !own->transaction)
    throw StatusError(StatusCode::kInvalidArgument, "no write transaction is open in this thread");
  return own;
}

Savepoint OpenStore::savepoint() const { return transaction_scope()->transaction->savepoint(); }

void OpenStore::rollback_to(Savepoint savepoint) {
  take(transaction_scope()->transaction->rollback_to(savepoint));
}

void OpenStore::close() {
  check_usable();
  if (closed_.exchange(true)) return;
  if (scope()) rollback();
  take(store_.close());
}

void OpenStore::fail(const Status& status) {
  Counters::add(counters_.errors);
  {
    const std::lock_guard lock(mutex_);
    latest_error_ = status.message();
  }
  throw StatusError(status);
}

std::string OpenStore::latest_error() const {
  check_usable();
  const std::lock_guard lock(mutex_);
  return latest_error_;
}

}  // namespace lapse::python
