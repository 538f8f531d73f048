#include "server/refusal.h"

namespace lapse::server {

namespace {

constexpr char kMark = '-';  // begins the message of a refusal; the store's messages begin with words

std::string_view code_of(StatusCode code) {
  switch (code) {
    case StatusCode::kNoSpace:
    case StatusCode::kIoError:
    case StatusCode::kUnknown: return "MISCONF";
    case StatusCode::kReadOnly: return "READONLY";
    case StatusCode::kBusy: return "BUSY";
    case StatusCode::kCorrupt: return "CORRUPT";
    default: return "ERR";
  }
}

}  // namespace

Status refuse(std::string_view text) {
  return {StatusCode::kInvalidArgument, std::string(1, kMark).append(text)};
}

Status syntax_error() { return refuse("ERR syntax error"); }
Status not_an_integer() { return refuse("ERR value is not an integer or out of range"); }

Status wrong_arguments(std::string_view command) {
  return refuse("ERR wrong number of arguments for '" + std::string(command) + "' command");
}

std::string error_text(const Status& status) {
  if (status.message().starts_with(kMark)) return std::string(status.message().substr(1));
  return std::string(code_of(status.code())) + " " + std::string(status.message());
}

}  // namespace lapse::server
