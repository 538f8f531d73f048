// How the Python class of a handle is declared: so that what its methods throw is noted in its store, for errmsg() and
// stats(). Which store that is says a function store_of(handle), beside the handle's own class.

#pragma once

#include <pybind11/pybind11.h>

#include <utility>

#include "errors.h"
#include "open_store.h"

namespace lapse::python {

namespace py = pybind11;

// `call`, whose first argument is a handle: what it throws is noted, and goes on.
template <typename Call, typename Return, typename Self, typename... Args>
auto noting(Call call, Return (* /*signature*/)(Self, Args...)) {
  return [call](Self self, Args... args) -> Return {
    try {
      return call(self, std::forward<Args>(args)...);
    } catch (const StatusError& error) {
      store_of(self).note(error.status());
      throw;
    } catch (const py::stop_iteration&) {
      throw;
    } catch (const py::builtin_exception& error) {  // an argument of the wrong type
      store_of(self).note({StatusCode::kInvalidArgument, error.what()});
      throw;
    }
  };
}
template <typename Call>
auto noting(Call call) {
  return noting(call, static_cast<py::detail::function_signature_t<Call>*>(nullptr));
}

// A Python class all of whose methods do.
template <typename... Types>
class HandleClass {
 public:
  template <typename... Extra>
  explicit HandleClass(py::module_& module, const char* name, const Extra&... extra)
      : class_(module, name, extra...) {}

  // Those with a handle as their first argument are to be given as noting(factory).
  template <typename Factory, typename... Extra>
  HandleClass& init(Factory factory, const Extra&... extra) {
    class_.def(py::init(factory), extra...);
    return *this;
  }
  template <typename Call, typename... Extra>
  HandleClass& def(const char* name, Call call, const Extra&... extra) {
    class_.def(name, noting(call), extra...);
    return *this;
  }
  template <typename Call, typename... Extra>
  HandleClass& def_property_readonly(const char* name, Call call, const Extra&... extra) {
    class_.def_property_readonly(name, noting(call), extra...);
    return *this;
  }

 private:
  py::class_<Types...> class_;
};

}  // namespace lapse::python
