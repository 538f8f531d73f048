// What clients may call themselves, and their libraries.

#pragma once

#include <string>
#include <string_view>

#include "lapse/status.h"
#include "server/refusal.h"
#include "server/text.h"

namespace lapse::server {

// It is kept as long as the client stays, and shown again and again.
inline constexpr size_t kLongestClientName = 1'024;

// `what` as the error is to say it: "Client names".
inline Status check_client_name(std::string_view what, std::string_view name) {
  if (!is_printable_word(name))
    return refuse("ERR " + std::string(what) + " cannot contain spaces, newlines or special characters.");
  if (name.size() > kLongestClientName)
    return refuse("ERR " + std::string(what) + " cannot be longer than " +
                  std::to_string(kLongestClientName) + " bytes.");
  return {};
}

}  // namespace lapse::server
