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
    return use(*store_, [&] {
      using Returned = decltype(call(std::declval<Keyspace&>()));
      std::optional<Returned> result;
      const Status status = store_->store().update([&](Transaction& transaction) {
        result.emplace(call_in(transaction, call));
        return result->status();
      });
      return status.ok() ? *std::move(result) : Returned(status);
    });
  }

  // Runs `call(Keyspace&)` without the GIL.
  template <typename Call>
  auto write(Call call) {
    const auto store = joinable();
    return use(*store, [&] {
      if (const auto scope = store->scope()) {
        check_writable();
        return call_in(*scope->transaction, call);
      }
      if (!family_) return call(static_cast<Keyspace&>(store->store()));
      Family family = *family_;  // a thread's own: a handle is only a reference
      return call(static_cast<Keyspace&>(family));
    });
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

 private:
  // Runs `call(Keyspace&)` on this family in a transaction.
  template <typename Call>
  auto call_in(Transaction& transaction, Call& call) const {
    if (!family_) return call(static_cast<Keyspace&>(transaction));
    Family family = transaction.in(*family_);
    return call(static_cast<Keyspace&>(family));
  }
};

}  // namespace lapse::python
