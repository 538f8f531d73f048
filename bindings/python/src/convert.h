// What Python hands in, as Lapse wants it: keys and values, lifetimes, moments, numbers. All of it needs the GIL. For what
// is of another type it raises TypeError, for what cannot be InvalidArgumentError, each naming `what` it was meant for.

#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "lapse/lifetime.h"

namespace lapse::python {

// A key or a value. bytes and str (as UTF-8) cannot change, so they are looked at where they are, also while the GIL
// is released: the caller's arguments keep them alive. Anything else that has a buffer is copied.
class Bytes {
 public:
  Bytes(pybind11::handle object, const char* what);
  Bytes(const Bytes&) = delete;  // the view may look into the copy
  Bytes& operator=(const Bytes&) = delete;

  std::string_view view() const { return view_; }
  size_t size() const { return view_.size(); }
  operator std::string_view() const { return view_; }  // NOLINT(google-explicit-constructor)

 private:
  std::string copy_;
  std::string_view view_;
};

// The same, always copied.
std::string to_string(pybind11::handle object, const char* what);

// Whether it is of a type that these take.
bool can_be_bytes(pybind11::handle object);

pybind11::bytes to_bytes(std::string_view bytes);
pybind11::object bytes_or(const std::optional<std::string>& value, const pybind11::object& otherwise);

// None: the family's default. Seconds (int, float) or timedelta: from now on, rounded up to milliseconds. datetime: until
// then. KEEP and FOREVER: as they say.
Lifetime to_lifetime(pybind11::handle ttl);

// Seconds or timedelta. None: `absent`.
std::chrono::milliseconds to_duration(pybind11::handle duration, std::chrono::milliseconds absent,
                                      const char* what);

// Seconds since 1970 or datetime; a naive one is local time, as everywhere in Python. Rounded down: what was visible in
// that millisecond.
int64_t to_moment_ms(pybind11::handle moment, const char* what);

int64_t to_integer(pybind11::handle number, const char* what,
                   int64_t least = std::numeric_limits<int64_t>::min(),
                   int64_t most = std::numeric_limits<int64_t>::max());
uint64_t to_count(pybind11::handle number, const char* what);
bool to_flag(pybind11::handle flag, const char* what);
std::string to_text(pybind11::handle text, const char* what);

// None: for ever.
pybind11::object seconds_or_none(std::chrono::milliseconds left);

bool is_timedelta(pybind11::handle object);

// How all of these refuse: TypeError and InvalidArgumentError.
[[noreturn]] void wrong_type(pybind11::handle object, const std::string& expected);
[[noreturn]] void wrong_value(pybind11::handle object, const std::string& what, const std::string& why);

// Declares KEEP and FOREVER.
void define_lifetimes(pybind11::module_& module);

}  // namespace lapse::python
