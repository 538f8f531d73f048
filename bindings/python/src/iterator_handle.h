// Where iterators come from: all else about them is between Python and iterator_handle.cc.

#pragma once

#include <pybind11/pybind11.h>

#include "reader_handle.h"

namespace lapse::python {

// An iterator over what `handle` reads. `prefix`, `from` and `to` are keys or None.
py::object iterate(ReaderHandle& handle, bool reverse, py::handle prefix, py::handle from, py::handle to);

}  // namespace lapse::python
