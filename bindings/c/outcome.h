// Outcome: how a call through the C interface ended: a KVSTORE_ code, and a sentence for kvstore_errmsg().

#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "lapse/kvstore.h"
#include "lapse/status.h"

namespace lapse::c {

class [[nodiscard]] Outcome {
 public:
  Outcome() = default;  // KVSTORE_OK
  Outcome(int code, std::string message) : code_(code), message_(std::move(message)) {}
  Outcome(const Status& status)  // NOLINT(google-explicit-constructor): what C++ calls return is an outcome
      : code_(code_of(status.code())), message_(status.message()) {}

  static Outcome error(std::string message) { return {KVSTORE_ERROR, std::move(message)}; }
  static Outcome key_not_found() { return {KVSTORE_NOTFOUND, "key not found"}; }

  bool ok() const { return code_ == KVSTORE_OK; }
  int code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  static int code_of(StatusCode code);

  int code_ = KVSTORE_OK;
  std::string message_;
};

}  // namespace lapse::c

// Returns from the calling function unless the Outcome, or Status, is ok.
#define KVSTORE_TRY(expression) \
  if (::lapse::c::Outcome kvstore_outcome = (expression); !kvstore_outcome.ok()) return kvstore_outcome
