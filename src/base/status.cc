#include "lapse/status.h"

namespace lapse {

std::string_view status_code_name(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "Ok";
    case StatusCode::kNotFound: return "NotFound";
    case StatusCode::kInvalidArgument: return "InvalidArgument";
    case StatusCode::kBusy: return "Busy";
    case StatusCode::kConflict: return "Conflict";
    case StatusCode::kTooLarge: return "TooLarge";
    case StatusCode::kNoSpace: return "NoSpace";
    case StatusCode::kIoError: return "IoError";
    case StatusCode::kCorrupt: return "Corrupt";
    case StatusCode::kReadOnly: return "ReadOnly";
    case StatusCode::kUnknown: return "Unknown";
    case StatusCode::kUnavailable: return "Unavailable";
    case StatusCode::kUnsupported: return "Unsupported";
  }
  return "?";
}

Status::Status(StatusCode code, std::string message) : error_(new Error{code, std::move(message)}) {
  assert(code != StatusCode::kOk);
}

std::string Status::to_string() const {
  if (ok()) return "ok";
  return std::string(status_code_name(error_->code)) + ": " + error_->message;
}

}  // namespace lapse
