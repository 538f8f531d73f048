// What the examples share: they end with a message where anything is not as it should be. A program of your own would
// rather hand a Status on, as first.cc does.

#pragma once

#include <cstdlib>
#include <iostream>
#include <string_view>
#include <utility>

#include "lapse/status.h"

// Where the caller is. (std::source_location, for compilers that do not have it yet.)
struct Place {
  static Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
  const char* file;
  int line;
};

[[noreturn]] inline void give_up(std::string_view why, Place place) {
  std::cerr << place.file << ":" << place.line << ": " << why << "\n";
  std::exit(1);  // NOLINT(concurrency-mt-unsafe): there is one thread
}

inline void must(const lapse::Status& status, Place place = Place::here()) {
  if (!status.ok()) give_up(status.to_string(), place);
}

template <typename T>
T must(lapse::Result<T> result, Place place = Place::here()) {
  if (!result.ok()) give_up(result.status().to_string(), place);
  return *std::move(result);
}

inline void check(bool as_it_should_be, Place place = Place::here()) {
  if (!as_it_should_be) give_up("not as it should be", place);
}
