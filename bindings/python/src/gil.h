// What has to be done without Python's lock, the GIL, whether or not the caller has it.

#pragma once

#include <pybind11/pybind11.h>

namespace lapse::python {

// For a shared_ptr, the last of which may go in either case.
template <typename T>
void delete_without_gil(T* object) {
  if (PyGILState_Check() == 0) {
    delete object;
    return;
  }
  const pybind11::gil_scoped_release release;
  delete object;
}

}  // namespace lapse::python
