#include "resp/glance.h"

namespace lapse::resp {

namespace {

// Takes apart "$12\r\n", and the like; false if that is not what `bytes` begin with.
bool take_length(std::string_view* bytes, char kind, size_t* length) {
  constexpr size_t kMostDigits = 9;
  if (bytes->size() < 4 || (*bytes)[0] != kind) return false;
  size_t at = 1;
  *length = 0;
  for (; at < bytes->size() && at <= kMostDigits && (*bytes)[at] >= '0' && (*bytes)[at] <= '9'; ++at)
    *length = *length * 10 + static_cast<size_t>((*bytes)[at] - '0');
  if (at == 1 || at + 2 > bytes->size() || (*bytes)[at] != '\r') return false;
  bytes->remove_prefix(at + 2);
  return true;
}

bool take_bulk(std::string_view* bytes, std::string_view* bulk) {
  size_t length = 0;
  if (!take_length(bytes, '$', &length) || length + 2 > bytes->size()) return false;
  *bulk = bytes->substr(0, length);
  bytes->remove_prefix(length + 2);
  return true;
}

}  // namespace

std::optional<Glance> glance(std::string_view bytes) {
  std::string_view rest = bytes;
  size_t arguments = 0;
  if (!take_length(&rest, '*', &arguments) || arguments == 0) return std::nullopt;
  Glance seen{};
  for (size_t i = 0; i < arguments; ++i) {
    std::string_view argument;
    if (!take_bulk(&rest, &argument)) return std::nullopt;
    if (i == 0) seen.name = argument;
    if (i == 1) seen.first_argument = argument;
  }
  seen.bytes = bytes.size() - rest.size();
  return seen;
}

}  // namespace lapse::resp
