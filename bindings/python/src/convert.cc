#include "convert.h"

#include <datetime.h>

#include <cmath>
#include <memory>

#include "errors.h"
#include "never_without_init.h"

namespace py = pybind11;

namespace lapse::python {

namespace {

using std::chrono::milliseconds;

constexpr int64_t kMicrosPerMilli = 1000;
constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr int64_t kSecondsPerDay = 86'400;
constexpr double kEndOfMicros = 9.2e18;  // just below what int64_t holds

// The two lifetimes that are neither a time nor a duration.
class Named : public NeverWithoutInit {
 public:
  Named(const char* name, Lifetime lifetime) : name_(name), lifetime_(lifetime) {}
  const char* name() const { return name_; }
  Lifetime lifetime() const { return lifetime_; }

 private:
  const char* name_;
  Lifetime lifetime_;
};

void import_datetime() {
  if (PyDateTimeAPI == nullptr) PyDateTime_IMPORT;
  if (PyDateTimeAPI == nullptr) throw py::error_already_set();
}

// A float cannot hold most fractions of a second exactly: to the microsecond first, as timedelta does, and no TTL of
// 0.1 s becomes 101 ms. What is beyond the end of time stays there, for the store to refuse.
int64_t micros_of_seconds(double seconds) {
  const double micros = std::round(seconds * 1e6);
  if (micros >= kEndOfMicros) return std::numeric_limits<int64_t>::max();
  if (micros <= -kEndOfMicros) return std::numeric_limits<int64_t>::min();
  if (micros == 0 && seconds > 0) return 1;
  return static_cast<int64_t>(micros);
}

int64_t micros_of_delta(PyObject* delta) {  // at most 999,999,999 days, which is 8.64e19 µs: beyond int64_t
  const int64_t seconds =
      PyDateTime_DELTA_GET_DAYS(delta) * kSecondsPerDay + PyDateTime_DELTA_GET_SECONDS(delta);
  int64_t micros = 0;
  if (__builtin_mul_overflow(seconds, kMicrosPerSecond, &micros) ||
      __builtin_add_overflow(micros, PyDateTime_DELTA_GET_MICROSECONDS(delta), &micros))
    return seconds < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
  return micros;
}

bool is_number(py::handle object) {
  return PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr()) ||
         (PyNumber_Check(object.ptr()) && !PyUnicode_Check(object.ptr()));
}

int64_t micros_of_number(py::handle number, const char* what) {
  const double seconds = PyFloat_AsDouble(number.ptr());
  if (seconds == -1.0 && PyErr_Occurred() != nullptr) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError) == 0) throw py::error_already_set();
    PyErr_Clear();  // an int beyond any float
    const bool negative = py::bool_(number < py::int_(0));
    return negative ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
  }
  if (std::isnan(seconds)) wrong_value(number, what, "a number of seconds expected");
  return micros_of_seconds(seconds);
}

// Naive ones are local time. That of some years near the ends of the calendar is beyond them.
py::object to_aware(py::handle moment, const py::object& utc, const char* what) {
  if (!moment.attr("utcoffset")().is_none()) return py::reinterpret_borrow<py::object>(moment);
  try {
    return moment.attr("astimezone")(utc);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_OverflowError) && !error.matches(PyExc_ValueError)) throw;
    wrong_value(moment, what, "too near the end of the calendar to be told in UTC");
  }
}

int64_t micros_of_datetime(py::handle moment, const char* what) {
  const py::object utc = py::reinterpret_borrow<py::object>(PyDateTime_TimeZone_UTC);
  const py::object epoch = py::module_::import("datetime").attr("datetime")(1970, 1, 1, 0, 0, 0, 0, utc);
  // The difference may be more than UTC has dates for, as with datetime.max west of Greenwich.
  return micros_of_delta(py::object(to_aware(moment, utc, what) - epoch).ptr());
}

// The end of time stays the end of time.
int64_t ceil_ms(int64_t micros) {
  if (micros == std::numeric_limits<int64_t>::max()) return kNever;
  const int64_t whole = micros / kMicrosPerMilli;
  return micros % kMicrosPerMilli > 0 ? whole + 1 : whole;
}

int64_t floor_ms(int64_t micros) {
  const int64_t whole = micros / kMicrosPerMilli;
  return micros % kMicrosPerMilli < 0 ? whole - 1 : whole;
}

std::optional<int64_t> duration_ms(py::handle object, const char* what) {
  if (is_number(object)) return ceil_ms(micros_of_number(object, what));
  import_datetime();
  if (PyDelta_Check(object.ptr())) return ceil_ms(micros_of_delta(object.ptr()));
  return std::nullopt;
}

}  // namespace

void wrong_type(py::handle object, const std::string& expected) {
  throw py::type_error(expected + " expected, not " + Py_TYPE(object.ptr())->tp_name);
}

void wrong_value(py::handle object, const std::string& what, const std::string& why) {
  throw StatusError(StatusCode::kInvalidArgument, what + " is " + std::string(py::repr(object)) + ": " + why);
}

Bytes::Bytes(py::handle object, const char* what) {
  PyObject* const pointer = object.ptr();
  if (PyBytes_Check(pointer)) {
    view_ = {PyBytes_AS_STRING(pointer), static_cast<size_t>(PyBytes_GET_SIZE(pointer))};
    return;
  }
  if (PyUnicode_Check(pointer)) {
    Py_ssize_t size = 0;
    const char* const utf8 = PyUnicode_AsUTF8AndSize(pointer, &size);
    if (utf8 == nullptr) throw py::error_already_set();  // a lone surrogate
    view_ = {utf8, static_cast<size_t>(size)};
    return;
  }
  if (PyObject_CheckBuffer(pointer) == 0) wrong_type(object, std::string(what) + ": bytes or str");
  Py_buffer buffer;
  if (PyObject_GetBuffer(pointer, &buffer, PyBUF_SIMPLE) != 0) throw py::error_already_set();
  copy_.assign(static_cast<const char*>(buffer.buf), static_cast<size_t>(buffer.len));
  PyBuffer_Release(&buffer);
  view_ = copy_;
}

bool can_be_bytes(py::handle object) {
  return PyBytes_Check(object.ptr()) || PyUnicode_Check(object.ptr()) ||
         PyObject_CheckBuffer(object.ptr()) != 0;
}

std::string to_string(py::handle object, const char* what) { return std::string(Bytes(object, what).view()); }

py::bytes to_bytes(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

py::object bytes_or(const std::optional<std::string>& value, const py::object& otherwise) {
  return value ? py::object(to_bytes(*value)) : otherwise;
}

Lifetime to_lifetime(py::handle ttl) {
  if (ttl.is_none()) return {};
  if (const auto ms = duration_ms(ttl, "ttl")) return milliseconds(*ms);
  if (PyDateTime_Check(ttl.ptr())) return Lifetime::until(ceil_ms(micros_of_datetime(ttl, "ttl")));
  if (py::isinstance<Named>(ttl)) return py::cast<const Named&>(ttl).lifetime();
  wrong_type(ttl, "ttl: seconds, timedelta or datetime");
}

milliseconds to_duration(py::handle duration, milliseconds absent, const char* what) {
  if (duration.is_none()) return absent;
  if (const auto ms = duration_ms(duration, what)) return milliseconds(*ms);
  wrong_type(duration, std::string(what) + ": seconds or timedelta");
}

int64_t to_moment_ms(py::handle moment, const char* what) {
  if (is_number(moment)) return floor_ms(micros_of_number(moment, what));
  import_datetime();
  if (PyDateTime_Check(moment.ptr())) return floor_ms(micros_of_datetime(moment, what));
  wrong_type(moment, std::string(what) + ": datetime, or seconds since 1970");
}

bool is_timedelta(py::handle object) {
  import_datetime();
  return PyDelta_Check(object.ptr());
}

int64_t to_integer(py::handle number, const char* what, int64_t least, int64_t most) {
  if (PyIndex_Check(number.ptr()) == 0) wrong_type(number, std::string(what) + ": int");
  const auto exact = py::reinterpret_steal<py::object>(PyNumber_Index(number.ptr()));
  if (!exact) throw py::error_already_set();
  int beyond = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(exact.ptr(), &beyond);
  if (beyond != 0 || value < least || value > most)
    wrong_value(number, what, std::to_string(least) + " to " + std::to_string(most) + " expected");
  return value;
}

uint64_t to_count(py::handle number, const char* what) {
  return static_cast<uint64_t>(to_integer(number, what, 0));
}

bool to_flag(py::handle flag, const char* what) {
  if (!PyLong_Check(flag.ptr())) wrong_type(flag, std::string(what) + ": bool");
  return PyObject_IsTrue(flag.ptr()) == 1;
}

std::string to_text(py::handle text, const char* what) {
  if (!PyUnicode_Check(text.ptr())) wrong_type(text, std::string(what) + ": str");
  return to_string(text, what);
}

py::object seconds_or_none(milliseconds left) {
  if (left == kForever) return py::none();
  return py::float_(static_cast<double>(left.count()) / 1000);
}

void define_lifetimes(py::module_& module) {
  py::class_<Named, std::shared_ptr<Named>>(module, "NamedLifetime").def("__repr__", [](const Named& named) {
    return std::string("lapse.") + named.name();
  });
  module.attr("KEEP") = py::cast(std::make_shared<Named>("KEEP", Lifetime::keep()));
  module.attr("FOREVER") = py::cast(std::make_shared<Named>("FOREVER", Lifetime::forever()));
}

}  // namespace lapse::python
