// KeyspaceHandle: a family that Python reads and writes, one with a name or the store's default one. Each call finds out
// where: in the thread's transaction if it has one open, else in the store.

#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <utility>

#include "open_store.h"
#include "reader_handle.h"

namespace lapse::python {

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

  // None: the default one.
  const std::optional<Family>& family() const { return family_; }

 protected:
  KeyspaceHandle(std::shared_ptr<OpenStore> store, std::optional<Family> family)
      : ReaderHandle(std::move(store)), family_(std::move(family)) {}
  void visit(const Visitor& visitor) override;
  void check_joinable() const override { store_->check_task(); }
  void check_writable() const;  // that no read transaction is open

  const std::optional<Family> family_;
};

}  // namespace lapse::python
