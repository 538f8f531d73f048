// What Redis has and Lapse does not.
//
// Such a command is unknown, as any other that there is none of, and clients that try what they may use are told so in the
// words that they know. The difference is that its error says why.

#pragma once

#include <string>
#include <string_view>

namespace lapse::server {

// "ERR unknown command 'LPUSH': Lapse has no lists, only strings"; empty: Redis has no such command either.
std::string error_of_absent(std::string_view command);

}  // namespace lapse::server
