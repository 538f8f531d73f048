// The handles that Python holds: readers, keyspaces, stores, families, snapshots. Each finds out, call by call, what it
// reads from or writes to: the thread's transaction if it has one open, else the store.

#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "convert.h"
#include "open_store.h"

namespace lapse::python {

namespace py = pybind11;

// What an iterator hangs on besides its store.
struct Ground {
  std::shared_ptr<ThreadScope> scope;        // a transaction's
  std::shared_ptr<const Snapshot> snapshot;  // of a Snapshot handle, or of a read transaction
};

class ReaderHandle : public NeverWithoutInit {
 public:
  virtual ~ReaderHandle() = default;

  // Runs `call(const Reader&, Ground)` without the GIL, and returns what is in its Result.
  template <typename Call>
  auto read_on(Call call) {
    const auto store = usable();
    check_joinable();
    const py::gil_scoped_release release;
    const Use use(*store);
    using Returned = decltype(call(std::declval<const Reader&>(), std::declval<const Ground&>()));
    std::optional<Returned> result;
    visit([&](const Reader& reader, const Ground& ground) { result.emplace(call(reader, ground)); });
    return store->take(*std::move(result));
  }
  template <typename Call>
  auto read(Call call) {
    return read_on([&](const Reader& reader, const Ground&) { return call(reader); });
  }

  // The store, if this handle may be used: not closed, not inherited.
  std::shared_ptr<OpenStore> usable() const;
  const std::shared_ptr<OpenStore>& shared() const { return store_; }
  Counters& counters() { return store_->counters(); }

 protected:
  using Visitor = std::function<void(const Reader&, const Ground&)>;

  explicit ReaderHandle(std::shared_ptr<OpenStore> store) : store_(std::move(store)) {}
  virtual void visit(const Visitor& visitor) = 0;
  // Whether the running task may read or write in the transaction that visit() would join, if it would.
  virtual void check_joinable() const {}

  std::shared_ptr<OpenStore> store_;
  bool closed_ = false;  // under the GIL
};

class KeyspaceHandle : public ReaderHandle {
 public:
  // Runs `call(Keyspace&)`, which takes several steps, in the thread's transaction or in one of its own.
  template <typename Call>
  auto write_together(Call call) {
    if (usable()->scope()) return write(call);
    const py::gil_scoped_release release;
    const Use use(*store_);
    std::optional<decltype(call(std::declval<Keyspace&>()))> result;
    const Status status = store_->store().update([&](Transaction& transaction) {
      if (family_) {
        Family family = transaction.in(*family_);
        result.emplace(call(static_cast<Keyspace&>(family)));
      } else {
        result.emplace(call(static_cast<Keyspace&>(transaction)));
      }
      return result->status();
    });
    store_->take(status);
    return store_->take(*std::move(result));
  }

  // Runs `call(Keyspace&)` without the GIL.
  template <typename Call>
  auto write(Call call) {
    const auto store = usable();
    check_joinable();
    const py::gil_scoped_release release;
    const Use use(*store);
    if (const auto scope = store->scope()) {
      check_writable();
      if (!family_) return store->take(call(static_cast<Keyspace&>(*scope->transaction)));
      Family family = scope->transaction->in(*family_);
      return store->take(call(static_cast<Keyspace&>(family)));
    }
    if (!family_) return store->take(call(static_cast<Keyspace&>(store->store())));
    Family family = *family_;  // a thread's own: a handle is only a reference
    return store->take(call(static_cast<Keyspace&>(family)));
  }

 protected:
  KeyspaceHandle(std::shared_ptr<OpenStore> store, std::optional<Family> family)
      : ReaderHandle(std::move(store)), family_(std::move(family)) {}
  void visit(const Visitor& visitor) override;
  void check_joinable() const override { store_->check_task(); }
  void check_writable() const;  // that no read transaction is open

  const std::optional<Family> family_;  // none: the default one

  friend class SnapshotHandle;
};

class StoreHandle final : public KeyspaceHandle {
 public:
  explicit StoreHandle(std::shared_ptr<OpenStore> store) : KeyspaceHandle(std::move(store), std::nullopt) {}

  // The store itself, for what concerns all families; runs without the GIL.
  template <typename Call>
  auto whole(Call call) {
    const auto store = usable();
    const py::gil_scoped_release release;
    const Use use(*store);
    return store->take(call(store->store()));
  }
  // The same, for what cannot be part of a transaction.
  template <typename Call>
  auto apart(Call call) {
    if (usable()->scope())
      store_->fail({StatusCode::kConflict, "not while this thread has a transaction open: end it first"});
    return whole(call);
  }

  // What has the families: the store, or the thread's transaction if it has one for writing. `call(auto&)` runs without
  // the GIL.
  template <typename Call>
  auto read_families(Call call) {
    const auto store = usable();
    check_joinable();
    const py::gil_scoped_release release;
    const Use use(*store);
    const auto scope = store->scope();
    return store->take(scope && scope->transaction ? call(*scope->transaction) : call(store->store()));
  }
  template <typename Call>
  auto write_families(Call call) {
    check_writable();
    return read_families(call);
  }
};

class FamilyHandle final : public KeyspaceHandle {
 public:
  FamilyHandle(std::shared_ptr<OpenStore> store, std::optional<Family> family)
      : KeyspaceHandle(std::move(store), std::move(family)) {}
  void close() { closed_ = true; }
};

class SnapshotHandle final : public ReaderHandle, public Dependent {
 public:
  SnapshotHandle(std::shared_ptr<OpenStore> store, std::shared_ptr<const Snapshot> snapshot)
      : ReaderHandle(std::move(store)), snapshot_(std::move(snapshot)) {}
  ~SnapshotHandle() override { store_->remove(this); }
  SnapshotHandle(const SnapshotHandle&) = delete;
  SnapshotHandle& operator=(const SnapshotHandle&) = delete;

  std::shared_ptr<SnapshotHandle> in(const KeyspaceHandle& family) const;
  int64_t now_ms() const;
  void close();
  void let_go() override;

 protected:
  void visit(const Visitor& visitor) override;

 private:
  std::shared_ptr<const Snapshot> held() const;

  mutable std::mutex mutex_;  // of the pointer: one thread may close while others read
  std::shared_ptr<const Snapshot> snapshot_;
  std::optional<Family> family_;
};

// Where it is noted that a call on this handle has failed.
inline OpenStore& store_of(const ReaderHandle& handle) { return *handle.shared(); }

// `call`, whose first argument is a handle: what it throws is noted, for errmsg() and stats(), and goes on.
template <typename Call, typename Return, typename Self, typename... Args>
auto noting(Call call, Return (* /*signature*/)(Self, Args...)) {
  return [call](Self self, Args... args) -> Return {
    try {
      return call(self, std::forward<Args>(args)...);
    } catch (const StatusError& error) {
      store_of(self).note(error.status());
      throw;
    } catch (const py::stop_iteration&) {
      throw;
    } catch (const py::builtin_exception& error) {  // an argument of the wrong type
      store_of(self).note({StatusCode::kInvalidArgument, error.what()});
      throw;
    }
  };
}
template <typename Call>
auto noting(Call call) {
  return noting(call, static_cast<py::detail::function_signature_t<Call>*>(nullptr));
}

// A Python class all of whose methods do.
template <typename... Types>
class HandleClass {
 public:
  template <typename... Extra>
  explicit HandleClass(py::module_& module, const char* name, const Extra&... extra)
      : class_(module, name, extra...) {}

  // Those with a handle as their first argument are to be given as noting(factory).
  template <typename Factory, typename... Extra>
  HandleClass& init(Factory factory, const Extra&... extra) {
    class_.def(py::init(factory), extra...);
    return *this;
  }
  template <typename Call, typename... Extra>
  HandleClass& def(const char* name, Call call, const Extra&... extra) {
    class_.def(name, noting(call), extra...);
    return *this;
  }
  template <typename Call, typename... Extra>
  HandleClass& def_property_readonly(const char* name, Call call, const Extra&... extra) {
    class_.def_property_readonly(name, noting(call), extra...);
    return *this;
  }

 private:
  py::class_<Types...> class_;
};

// Declare the handles' Python classes.
void define_handles(py::module_& module);
void define_iterator(py::module_& module);

// An iterator over what `handle` reads. `prefix`, `from` and `to` are keys or None.
py::object iterate(ReaderHandle& handle, bool reverse, py::handle prefix, py::handle from, py::handle to);

}  // namespace lapse::python
