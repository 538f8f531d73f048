// glance(): what the next command is, for those who want to know before it is its turn. RequestParser is the judge of what
// clients send; this one passes over whatever is unusual.

#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace lapse::resp {

struct Glance {
  std::string_view name;
  std::string_view first_argument;  // empty if there is none
  size_t bytes;                     // that the command takes
};

// Of the command that `bytes` begin with. Nothing if it is not there as a whole, is an inline command or no command at all.
std::optional<Glance> glance(std::string_view bytes);

}  // namespace lapse::resp
