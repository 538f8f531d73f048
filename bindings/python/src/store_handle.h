// StoreHandle: a store that Python has opened. It is its default family as well, and has what concerns all of them.

#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <utility>

#include "keyspace_handle.h"
#include "open_store.h"

namespace lapse::python {

class StoreHandle final : public KeyspaceHandle {
 public:
  explicit StoreHandle(std::shared_ptr<OpenStore> store) : KeyspaceHandle(std::move(store), std::nullopt) {}

  // The store itself, for what concerns all families; runs without the GIL.
  template <typename Call>
  auto whole(Call call) {
    const auto store = usable();
    return use(*store, [&] { return call(store->store()); });
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
    const auto store = joinable();
    return use(*store, [&] {
      const auto scope = store->scope();
      return scope && scope->transaction ? call(*scope->transaction) : call(store->store());
    });
  }
  template <typename Call>
  auto write_families(Call call) {
    (void)joinable();  // before anything is asked that takes a mutex: this may be a forked child
    check_writable();
    return read_families(call);
  }
};

}  // namespace lapse::python
