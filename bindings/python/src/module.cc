// lapse._lapse: the C++ store for Python, as thin as can be. What users see is the package around it, bindings/python/lapse.

#include <pybind11/pybind11.h>

#include "classes.h"
#include "convert.h"
#include "errors.h"
#include "open_store.h"

PYBIND11_MODULE(_lapse, module) {
  module.doc() = "The C++ part of lapse; import that instead.";
  module.attr("__version__") = LAPSE_VERSION;
  lapse::python::translate_errors();
  lapse::python::find_running_task();
  lapse::python::define_lifetimes(module);
  lapse::python::define_iterator(module);
  lapse::python::define_manual_clock(module);
  lapse::python::define_reader(module);
  lapse::python::define_keyspace(module);
  lapse::python::define_store(module);
  lapse::python::define_family(module);
  lapse::python::define_snapshot(module);
}
