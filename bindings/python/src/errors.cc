#include "errors.h"

namespace py = pybind11;

namespace lapse::python {

namespace {

// Imported at each error rather than kept: errors are rare, and a kept one would outlive the interpreter.
void raise(const Status& status) {
  const py::object error =
      py::module_::import("lapse.errors")
          .attr("from_status")(std::string(status_code_name(status.code())), std::string(status.message()));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
}

}  // namespace

void no_such_key(py::handle key) {
  throw StatusError(StatusCode::kNotFound, "there is no key " + std::string(py::repr(key)));
}

void translate_errors() {
  // NOLINTNEXTLINE(performance-unnecessary-value-param): pybind11 wants it so
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const StatusError& error) {
      raise(error.status());
    }
  });
}

}  // namespace lapse::python
