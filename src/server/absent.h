// What Redis has and Lapse does not.
//
// Such a command is unknown, as any other that there is none of, and clients that try what they may use are told so in the
// words that they know. The difference is that its error says why.

#pragma once

#include <string_view>

namespace lapse::server {

// "Lapse has no lists"; empty: Redis has no such command either.
std::string_view why_absent(std::string_view command);

}  // namespace lapse::server
