// The policies of a family as words: `default-ttl 30m history-keep-last 10`. One table for FAMILY CREATE, SET and INFO.

#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lapse/options.h"
#include "lapse/status.h"

namespace lapse::server {

struct Policy {
  std::string_view name;
  std::string_view values;                                     // what it takes, for people
  bool (*set)(FamilyOptions* options, std::string_view text);  // false: not such a value
  std::string (*get)(const FamilyOptions& options);            // a text that set() takes
};

std::span<const Policy> policies();

// Reads pairs of name and value, and changes what they name. An error changes nothing.
Status set_policies(std::span<const std::string_view> pairs, FamilyOptions* options);

}  // namespace lapse::server
