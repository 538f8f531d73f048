#include "open_store.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "gil.h"
#include "lapse/process.h"

namespace lapse::python {

namespace {

// A handler of signals may run within a call and close the store, which then must not wait for that call.
thread_local int uses_of_this_thread = 0;

// Whether a handler of signals has raised an exception in this thread, for which the waiting was called off.
thread_local bool interrupted = false;

bool keep_waiting(const std::atomic<bool>& closed) {
  if (closed.load()) return false;
  const pybind11::gil_scoped_acquire gil;
  interrupted = PyErr_CheckSignals() != 0;
  return !interrupted;
}

[[noreturn]] void raise_what_interrupted() {
  interrupted = false;
  const pybind11::gil_scoped_acquire gil;
  throw pybind11::error_already_set();
}

// Kept for good: looking it up costs more than calling it. Not a static of the function that uses it: an import lets go of
// the GIL, and a thread that then took it and waited for the static to be made would keep the import from going on.
const pybind11::object* ask_for_task = nullptr;

// The stores that a thread has had transactions on. It ends with the thread.
class UsedStores {
 public:
  ~UsedStores() {
    for (const auto& weak : stores_) {
      if (const auto store = weak.lock()) store->abandon(thread_);
    }
  }

  void add(const std::shared_ptr<OpenStore>& store) {
    std::erase_if(stores_, [&](const auto& weak) { return weak.expired() || weak.lock() == store; });
    stores_.push_back(store);
  }

  bool any_in_transaction() const {
    return std::any_of(stores_.begin(), stores_.end(), [](const auto& weak) {
      const auto store = weak.lock();
      return store && store->scope();
    });
  }

 private:
  const uint64_t thread_ = this_thread();
  std::vector<std::weak_ptr<OpenStore>> stores_;
};

UsedStores& used_stores() {
  thread_local UsedStores stores;
  return stores;
}

}  // namespace

void find_running_task() {
  ask_for_task = new pybind11::object(pybind11::module_::import("lapse._tasks").attr("current_task_number"));
}

uint64_t running_task() { return pybind11::cast<uint64_t>((*ask_for_task)()); }

void OpenStore::check_task() const {
  const auto own = scope();
  if (own && own->task != running_task())
    throw StatusError(StatusCode::kConflict,
                      "another asyncio task of this thread has a transaction open, and has awaited something "
                      "within it: end a transaction before the next await");
}

bool thread_is_in_transaction() { return used_stores().any_in_transaction(); }

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

void Counters::add_put(size_t bytes, uint64_t keys) {
  add(puts, keys);
  add(bytes_written, bytes);
}

void Counters::add_get(std::optional<std::string_view> value) {
  add(gets);
  if (value) add(bytes_read, value->size());
}

void Counters::reset(const StoreStats& now) {
  for (auto* counter :
       {&puts, &gets, &deletes, &iterations, &errors, &bytes_read, &bytes_written, &checkpoints, &purged})
    counter->store(0);
  commits_before = now.commits;
  syncs_before = now.syncs;
  hidden_before = now.expired_hidden;
}

std::shared_ptr<OpenStore> OpenStore::open(const std::optional<std::string>& path, Options options) {
  auto flag = std::make_unique<std::atomic<bool>>(false);
  options.keep_waiting = [closed = flag.get()] { return keep_waiting(*closed); };
  Result<Store> store = path ? Store::open(*path, options) : Store::open_in_memory(options);
  if (!store.ok()) throw StatusError(store.status());
  // Without the GIL: the last handle to go closes the store, which syncs.
  return {new OpenStore(*std::move(store), options.busy_timeout, std::move(flag)),
          delete_without_gil<OpenStore>};
}

OpenStore::OpenStore(Store store, std::chrono::milliseconds busy_timeout, ClosedFlag closed)
    : opened_in_(fork_generation()),
      busy_timeout_(busy_timeout),
      closed_(std::move(closed)),
      store_(std::move(store)) {
  counters_.reset(store_.stats());
}

bool OpenStore::inherited() const { return fork_generation() != opened_in_; }

void OpenStore::check_usable() const {
  if (inherited())
    throw StatusError(StatusCode::kUnavailable, "inherited over fork(); open the store anew in this process");
}

void OpenStore::check_open() const {
  check_usable();
  if (closed()) throw StatusError(StatusCode::kUnavailable, "the store has been closed");
}

std::shared_ptr<ThreadScope> OpenStore::scope() const {
  if (scope_count_.load(std::memory_order_acquire) == 0) return nullptr;
  return scope_of(this_thread());
}

std::shared_ptr<ThreadScope> OpenStore::scope_of(uint64_t thread) const {
  const std::lock_guard lock(mutex_);
  const auto found = scopes_.find(thread);
  return found == scopes_.end() ? nullptr : found->second;
}

void OpenStore::begin(bool write, uint64_t task) {
  const Use use(*this);
  if (scope()) fail({StatusCode::kConflict, "this thread has a transaction open already"});
  auto opened = std::make_shared<ThreadScope>(ThreadScope{.task = task});
  if (write) {
    opened->transaction.emplace(take(store_.begin(busy_timeout_)));
  } else {
    opened->snapshot.emplace(take(store_.snapshot()));
  }
  used_stores().add(shared_from_this());
  const std::lock_guard lock(mutex_);
  scopes_.emplace(opened->owner, std::move(opened));
  scope_count_.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<ThreadScope> OpenStore::take_scope() {
  auto own = scope();
  if (!own) fail({StatusCode::kInvalidArgument, "no transaction is open in this thread"});
  remove_scope(own);
  return own;
}

void OpenStore::remove_scope(const std::shared_ptr<ThreadScope>& scope) {
  let_dependents_go(scope.get());
  const std::lock_guard lock(mutex_);
  scopes_.erase(scope->owner);
  scope_count_.fetch_sub(1);
}

void ThreadScope::undo() {
  if (transaction) transaction->rollback();
  snapshot.reset();
}

void OpenStore::abandon(uint64_t thread) {
  if (inherited() || closed()) return;
  try {
    const Use use(*this);
    if (const auto left = scope_of(thread)) {
      remove_scope(left);
      left->undo();
    }
  } catch (const StatusError&) {  // closed meanwhile, which did it
  }
}

uint64_t OpenStore::commit() {
  const Use use(*this);
  const auto own = take_scope();
  if (!own->transaction) return 0;
  return take(own->transaction->commit());
}

void OpenStore::rollback() {
  const Use use(*this);
  take_scope()->undo();
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
  if (closed_->exchange(true)) {
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
  std::unordered_map<uint64_t, std::shared_ptr<ThreadScope>> left;  // ended without the mutex
  {
    const std::lock_guard lock(mutex_);
    left.swap(scopes_);
    scope_count_.store(0);
  }
  for (const auto& [thread, scope] : left) scope->undo();
}

void OpenStore::add(const std::shared_ptr<Dependent>& dependent) {
  const std::lock_guard lock(mutex_);
  dependents_.emplace(dependent.get(), dependent);
}

void OpenStore::remove(const Dependent* dependent) {
  if (inherited()) return;
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
  if (interrupted) raise_what_interrupted();
  if (status.code() == StatusCode::kBusy) check_open();  // for which the waiting was called off
  throw StatusError(status);
}

void OpenStore::note(const Status& status) {
  if (inherited()) return;
  if (status.code() != StatusCode::kNotFound) Counters::add(counters_.errors);
  const std::lock_guard lock(mutex_);
  latest_error_ = status.message();
}

std::string OpenStore::latest_error() const {
  check_usable();
  const std::lock_guard lock(mutex_);
  return latest_error_;
}

}  // namespace lapse::python
