// A clock that Python turns by hand: lapse._lapse.ManualClock.

#include "manual_clock.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "classes.h"
#include "convert.h"
#include "never_without_init.h"

namespace py = pybind11;

namespace lapse::python {

namespace {

struct HeldClock : public NeverWithoutInit {
  explicit HeldClock(int64_t now_ms) : clock(now_ms) {}
  ManualClock clock;
};

}  // namespace

Clock* kept_for_good(py::handle given) {
  if (!py::isinstance<HeldClock>(given))
    throw py::type_error(std::string("clock: ManualClock expected, not ") + Py_TYPE(given.ptr())->tp_name);
  (void)py::cast<HeldClock&>(given);  // which says so if it was never initialised
  const auto held = py::cast<std::shared_ptr<HeldClock>>(given);
  static auto* const kept = new std::vector<std::shared_ptr<HeldClock>>;  // under the GIL
  kept->push_back(held);
  return &held->clock;
}

void define_manual_clock(py::module_& module) {
  py::class_<HeldClock, std::shared_ptr<HeldClock>>(module, "ManualClock")
      .def(py::init(
          [](const py::object& now) { return std::make_shared<HeldClock>(to_moment_ms(now, "now")); }))
      .def("_now_ms", [](HeldClock& self) { return self.clock.now_ms(); })
      .def(
          "set", [](HeldClock& self, const py::object& when) { self.clock.set(to_moment_ms(when, "when")); },
          py::arg("when"), "Sets it to a datetime, or to seconds since 1970.")
      .def(
          "advance",
          [](HeldClock& self, const py::object& by) {
            self.clock.advance(to_duration(by, std::chrono::milliseconds(0), "by").count());
          },
          py::arg("by"), "Moves it on by seconds or a timedelta.");
}

}  // namespace lapse::python
