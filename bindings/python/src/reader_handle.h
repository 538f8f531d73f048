// ReaderHandle: what Python reads through, a keyspace or a snapshot. Each finds out, call by call, what it reads from.

#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "never_without_init.h"
#include "open_store.h"

namespace lapse::python {

namespace py = pybind11;

// What an iterator hangs on besides its store.
struct Ground {
  std::shared_ptr<ThreadScope> scope;        // of the thread's transaction, for writing or for reading only
  std::shared_ptr<const Snapshot> snapshot;  // of a Snapshot handle
};

class ReaderHandle : public NeverWithoutInit {
 public:
  virtual ~ReaderHandle() = default;

  // Runs `call(const Reader&, Ground)` without the GIL, and returns what is in its Result.
  template <typename Call>
  auto read_on(Call call) {
    const auto store = joinable();
    return use(*store, [&] {
      std::optional<decltype(call(std::declval<const Reader&>(), std::declval<const Ground&>()))> result;
      visit([&](const Reader& reader, const Ground& ground) { result.emplace(call(reader, ground)); });
      return *std::move(result);
    });
  }
  template <typename Call>
  auto read(Call call) {
    return read_on([&](const Reader& reader, const Ground&) { return call(reader); });
  }
  FamilyOptions family_options();

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
  // The store, if this handle may be used, and by the running task.
  std::shared_ptr<OpenStore> joinable() const;

  // Runs `work()` without the GIL, as a use of the store, and returns what is in its Result.
  template <typename Work>
  static auto use(OpenStore& store, Work work) {
    const py::gil_scoped_release release;
    const Use under_way(store);
    return store.take(work());
  }

  // Shows the family, or without one the default one, of a transaction or of a snapshot.
  template <typename Whole>
  static void visit_in(Whole& whole, const std::optional<Family>& family, const Ground& ground,
                       const Visitor& visitor) {
    family ? visitor(whole.in(*family), ground) : visitor(whole, ground);
  }

  std::shared_ptr<OpenStore> store_;
  bool closed_ = false;  // under the GIL
};

// Where it is noted that a call on this handle has failed.
inline OpenStore& store_of(const ReaderHandle& handle) { return *handle.shared(); }

}  // namespace lapse::python
