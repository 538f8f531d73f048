// A moment of the store that Python holds: lapse._lapse.Snapshot.

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "classes.h"
#include "convert.h"
#include "errors.h"
#include "handle_class.h"
#include "keyspace_handle.h"
#include "reader_handle.h"
#include "store_handle.h"

namespace lapse::python {

namespace {

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

void SnapshotHandle::visit(const Visitor& visitor) {
  const Ground ground{nullptr, held()};
  visit_in(*ground.snapshot, family_, ground, visitor);
}

std::shared_ptr<const Snapshot> SnapshotHandle::held() const {
  const std::lock_guard lock(mutex_);
  if (!snapshot_) throw StatusError(StatusCode::kUnavailable, "this snapshot has been closed");
  return snapshot_;
}

std::shared_ptr<SnapshotHandle> SnapshotHandle::in(const KeyspaceHandle& family) const {
  const auto store = usable();
  const Use use(*store);
  auto other = std::make_shared<SnapshotHandle>(store, held());
  other->family_ = family.family();
  store->add(other);
  return other;
}

int64_t SnapshotHandle::now_ms() const {
  const auto store = usable();
  const Use use(*store);
  return held()->now_ms();
}

void SnapshotHandle::close() {
  store_->check_usable();
  let_go();
}

void SnapshotHandle::let_go() {
  const std::lock_guard lock(mutex_);
  snapshot_.reset();
}

std::shared_ptr<SnapshotHandle> snapshot(StoreHandle& self, const py::object& at) {
  std::optional<int64_t> at_ms;
  if (!at.is_none()) at_ms = to_moment_ms(at, "at");
  return self.whole([&](Store& store) -> Result<std::shared_ptr<SnapshotHandle>> {
    Result<Snapshot> taken = at_ms ? store.snapshot_at(*at_ms) : store.snapshot();
    if (!taken.ok()) return taken.status();
    auto handle =
        std::make_shared<SnapshotHandle>(self.shared(), std::make_shared<const Snapshot>(*std::move(taken)));
    self.shared()->add(handle);
    return handle;
  });
}

}  // namespace

void define_snapshot(py::module_& module) {
  HandleClass<SnapshotHandle, ReaderHandle, std::shared_ptr<SnapshotHandle>>(module, "Snapshot")
      .init(noting(&snapshot), py::arg("store"), py::arg("at") = py::none())
      .init(
          noting([](const SnapshotHandle& other, const KeyspaceHandle& family) { return other.in(family); }))
      .def("_now_ms", [](const SnapshotHandle& self) { return self.now_ms(); })
      .def(
          "close", [](SnapshotHandle& self) { self.close(); },
          "Lets the moment go, and the space that it keeps.");
}

}  // namespace lapse::python
