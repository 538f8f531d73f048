#include "open_store.h"

#include <utility>
#include <vector>

#include "base/process.h"

namespace lapse::python {

namespace {

// A handler of signals may run within a call and close the store, which then must not wait for that call.
thread_local int uses_of_this_thread = 0;

}  // namespace

uint64_t this_thread() {
  static std::atomic<uint64_t> next{1};
  thread_local const uint64_t own = next.fetch_add(1);
  return own;
}

Use::Use(OpenStore& store) : store_(store) {
  store_.check_usable();
  store_.uses_.fetch_add(1);
  ++uses_of_this_thread;
  if (!store_.closed()) return;
  end();
  store_.check_open();
}

Use::~Use() { end(); }

void Use::end() {
  --uses_of_this_thread;
  store_.uses_.fetch_sub(1);
  if (store_.closed()) store_.uses_.notify_all();
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
  const Use use(*this);
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
  auto own = scope();
  if (!own) fail({StatusCode::kInvalidArgument, "no transaction is open in this thread"});
  let_dependents_go(own.get());
  const std::lock_guard lock(mutex_);
  scopes_.erase(own->owner);
  scope_count_.fetch_sub(1);
  return own;
}

uint64_t OpenStore::commit() {
  const Use use(*this);
  const auto own = take_scope();
  if (!own->transaction) return 0;
  const uint64_t revision = take(own->transaction->commit());
  Counters::add(counters_.commits);
  return revision;
}

void OpenStore::rollback() {
  const Use use(*this);
  (void)take_scope();
}

std::shared_ptr<ThreadScope> OpenStore::transaction_scope() const {
  auto own = scope();
  if (!own || !own->transaction)
    throw StatusError(StatusCode::kInvalidArgument, "no write transaction is open in this thread");
  return own;
}

Savepoint OpenStore::savepoint() {
  const Use use(*this);
  return transaction_scope()->transaction->savepoint();
}

void OpenStore::rollback_to(Savepoint savepoint) {
  const Use use(*this);
  take(transaction_scope()->transaction->rollback_to(savepoint));
}

void OpenStore::close() {
  check_usable();
  if (closed_.exchange(true)) {
    if (uses_of_this_thread == 0) close_is_done_.wait(false);
    return;
  }
  for (int uses = uses_.load(); uses > uses_of_this_thread; uses = uses_.load()) uses_.wait(uses);
  let_dependents_go(nullptr);
  let_scopes_go();
  const Status closed = store_.close();
  close_is_done_.store(true);
  close_is_done_.notify_all();
  take(closed);
}

void OpenStore::let_scopes_go() {
  const std::lock_guard lock(mutex_);
  scopes_.clear();
  scope_count_.store(0);
}

void OpenStore::add(const std::shared_ptr<Dependent>& dependent) {
  const std::lock_guard lock(mutex_);
  dependents_.emplace(dependent.get(), dependent);
}

void OpenStore::remove(const Dependent* dependent) {
  if (fork_generation() != opened_in_) return;
  const std::lock_guard lock(mutex_);
  dependents_.erase(dependent);
}

void OpenStore::let_dependents_go(const ThreadScope* scope) {
  std::vector<std::shared_ptr<Dependent>> all;  // none of them may go while the mutex is held
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [pointer, weak] : dependents_) all.push_back(weak.lock());
  }
  for (const auto& dependent : all) {
    if (dependent && (scope == nullptr || dependent->lives_in(*scope))) dependent->let_go();
  }
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
