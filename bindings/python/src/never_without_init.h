#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>

namespace lapse::python {

// For classes that Python holds by shared_ptr. pybind11 would have a method of an object whose __init__ was never called
// run on memory that nobody has written to; it asks this for that memory, and nobody else does.
class NeverWithoutInit {
 public:
  static void* operator new(size_t /*bytes*/) {
    throw pybind11::type_error("__init__ has not been called on this object");
  }
  static void operator delete(void* memory) { ::operator delete(memory); }
  // For std::make_shared.
  static void* operator new(size_t /*bytes*/, void* place) noexcept { return place; }
};

}  // namespace lapse::python
