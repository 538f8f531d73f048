// How a Status leaves C++: thrown as StatusError with or without the GIL, raised as the class that lapse/errors.py has
// for its code.

#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <string>
#include <utility>

#include "lapse/status.h"

namespace lapse::python {

class StatusError final : public std::exception {
 public:
  explicit StatusError(Status status) : status_(std::move(status)), what_(status_.to_string()) {}
  StatusError(StatusCode code, std::string message) : StatusError(Status(code, std::move(message))) {}
  const char* what() const noexcept override { return what_.c_str(); }
  const Status& status() const { return status_; }

 private:
  Status status_;
  std::string what_;
};

// Throws kNotFound.
[[noreturn]] void no_such_key(pybind11::handle key);

// Makes pybind11 raise lapse.Error and its kin for StatusError.
void translate_errors();

}  // namespace lapse::python
