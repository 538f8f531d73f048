#include "bindings/c/outcome.h"

namespace lapse::c {

int Outcome::code_of(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return KVSTORE_OK;
    case StatusCode::kNotFound: return KVSTORE_NOTFOUND;
    case StatusCode::kBusy:
    case StatusCode::kConflict: return KVSTORE_BUSY;  // both: try again
    case StatusCode::kCorrupt: return KVSTORE_CORRUPT;
    case StatusCode::kReadOnly: return KVSTORE_READONLY;
    case StatusCode::kUnknown: return KVSTORE_UNKNOWN;
    case StatusCode::kInvalidArgument:
    case StatusCode::kTooLarge:
    case StatusCode::kNoSpace:
    case StatusCode::kIoError:
    case StatusCode::kUnavailable:
    case StatusCode::kUnsupported: return KVSTORE_ERROR;  // the message tells them apart
  }
  return KVSTORE_ERROR;
}

}  // namespace lapse::c
