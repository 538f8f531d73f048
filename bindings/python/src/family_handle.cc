// A family that Python has opened: lapse._lapse.Family.

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "classes.h"
#include "convert.h"
#include "family_policies.h"
#include "handle_class.h"
#include "keyspace_handle.h"
#include "store_handle.h"

namespace lapse::python {

namespace {

class FamilyHandle final : public KeyspaceHandle {
 public:
  FamilyHandle(std::shared_ptr<OpenStore> store, std::optional<Family> family)
      : KeyspaceHandle(std::move(store), std::move(family)) {}
  void close() { closed_ = true; }
};

bool is_there(StoreHandle& store, const std::string& name) {
  return store.read_families([&](auto& families) -> Result<bool> {
    const Result<Family> family = families.family(name);
    if (!family.ok() && family.status().code() != StatusCode::kNotFound) return family.status();
    return family.ok();
  });
}

std::shared_ptr<FamilyHandle> family(StoreHandle& store, const py::object& called, const std::string& mode,
                                     const py::dict& policies) {
  const std::string name = to_text(called, "name");
  if (mode == "default") return std::make_shared<FamilyHandle>(store.usable(), std::nullopt);
  const FamilyOptions options = to_family_options(policies);
  const auto open = [&](auto& families) { return families.family(name); };
  const auto create = [&](auto& families) -> Result<Family> {
    Result<Family> created = families.create_family(name, options);
    const bool is_there = created.status().code() == StatusCode::kBusy && families.family(name).ok();
    if (!is_there) return created;
    return Status(StatusCode::kInvalidArgument,
                  "there is a family '" + name + "' already");  // waiting is no help
  };
  const auto find_or_create = [&](auto& families) -> Result<Family> {
    Result<Family> present = families.family(name);
    if (present.ok() || present.status().code() != StatusCode::kNotFound) return present;
    Result<Family> created = families.create_family(name, options);
    if (created.ok()) return created;
    Result<Family> of_another = families.family(name);  // that made it meanwhile
    return of_another.ok() ? of_another : created;
  };
  Family found = mode == "open" || (mode == "either" && is_there(store, name)) ? store.read_families(open)
                 : mode == "create"                                            ? store.write_families(create)
                                    : store.write_families(find_or_create);
  auto handle = std::make_shared<FamilyHandle>(store.usable(), std::move(found));
  if (mode == "either" && !policies.empty()) check_policies(name, policies, handle->family_options());
  return handle;
}

}  // namespace

void define_family(py::module_& module) {
  HandleClass<FamilyHandle, KeyspaceHandle, std::shared_ptr<FamilyHandle>>(module, "Family")
      .init(noting(&family), py::arg("store"), py::arg("name"), py::arg("mode"), py::arg("policies"))
      .def(
          "close", [](FamilyHandle& self) { self.close(); },
          "Ends this handle. The family and its contents stay.");
}

}  // namespace lapse::python
