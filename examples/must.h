// What the examples share: they end with a message where anything is not as it should be. A program of your own would
// rather hand a Status on, as first.cc does.

#pragma once

#include <cstdlib>
#include <iostream>
#include <source_location>
#include <string_view>
#include <utility>

#include "lapse/status.h"

[[noreturn]] inline void give_up(std::string_view why, const std::source_location& where) {
  std::cerr << where.file_name() << ":" << where.line() << ": " << why << "\n";
  std::exit(1);  // NOLINT(concurrency-mt-unsafe): there is one thread
}

inline void must(const lapse::Status& status, std::source_location where = std::source_location::current()) {
  if (!status.ok()) give_up(status.to_string(), where);
}

template <typename T>
T must(lapse::Result<T> result, std::source_location where = std::source_location::current()) {
  if (!result.ok()) give_up(result.status().to_string(), where);
  return *std::move(result);
}

inline void check(bool as_it_should_be, std::source_location where = std::source_location::current()) {
  if (!as_it_should_be) give_up("not as it should be", where);
}
