// The classes of lapse._lapse that are handles, and the clock: each is declared by the file that is named after it.

#pragma once

#include <pybind11/pybind11.h>

namespace lapse::python {

// In this order: a class comes after its base, and after those that its methods speak of.
void define_iterator(pybind11::module_& module);
void define_manual_clock(pybind11::module_& module);
void define_reader(pybind11::module_& module);
void define_keyspace(pybind11::module_& module);
void define_store(pybind11::module_& module);
void define_family(pybind11::module_& module);
void define_snapshot(pybind11::module_& module);

}  // namespace lapse::python
