// LAPSE_TRY: return early with the error of a Status or Result expression.
//
//   LAPSE_TRY(file.sync());
//   LAPSE_TRY_ASSIGN(File file, File::open(path));

#pragma once

#include "lapse/status.h"

namespace lapse::internal {
inline Status to_status(Status status) { return status; }
template <typename T>
Status to_status(const Result<T>& result) {
  return result.status();
}
}  // namespace lapse::internal

#define LAPSE_CONCAT_INNER(a, b) a##b
#define LAPSE_CONCAT(a, b) LAPSE_CONCAT_INNER(a, b)

// The expression may hold a lambda that uses these macros itself, so the names differ each time.
#define LAPSE_TRY(expression) LAPSE_TRY_IMPL(LAPSE_CONCAT(try_status_, __COUNTER__), expression)
#define LAPSE_TRY_IMPL(status, expression)                               \
  do {                                                                   \
    ::lapse::Status status = ::lapse::internal::to_status((expression)); \
    if (!status.ok()) return status;                                     \
  } while (false)

#define LAPSE_TRY_ASSIGN(declaration, expression) \
  LAPSE_TRY_ASSIGN_IMPL(LAPSE_CONCAT(try_result_, __COUNTER__), declaration, expression)
#define LAPSE_TRY_ASSIGN_IMPL(result, declaration, expression) \
  auto result = (expression);                                  \
  if (!result.ok()) return result.status();                    \
  declaration = std::move(result).value()
