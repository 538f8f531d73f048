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

#define LAPSE_TRY(expression)                                                 \
  do {                                                                        \
    ::lapse::Status try_status_ = ::lapse::internal::to_status((expression)); \
    if (!try_status_.ok()) return try_status_;                                \
  } while (false)

#define LAPSE_CONCAT_INNER(a, b) a##b
#define LAPSE_CONCAT(a, b) LAPSE_CONCAT_INNER(a, b)

#define LAPSE_TRY_ASSIGN(declaration, expression) \
  LAPSE_TRY_ASSIGN_IMPL(LAPSE_CONCAT(try_result_, __LINE__), declaration, expression)
#define LAPSE_TRY_ASSIGN_IMPL(result, declaration, expression) \
  auto result = (expression);                                  \
  if (!result.ok()) return result.status();                    \
  declaration = std::move(result).value()
