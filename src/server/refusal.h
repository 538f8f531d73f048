// Refusals: how a command says no.
//
// A command returns a Status. What the store could not do comes back as the store said it; what Redis has words of its own
// for ("WRONGPASS …", "ERR syntax error") is a Status too, made by refuse(), so that LAPSE_TRY carries both. error_text()
// gives the line that the client gets.

#pragma once

#include <string>
#include <string_view>

#include "lapse/status.h"

namespace lapse::server {

// `text` as the client is to see it, with its code: "ERR syntax error".
Status refuse(std::string_view text);

Status syntax_error();
Status not_an_integer();
Status wrong_arguments(std::string_view command);

// "ERR syntax error", "MISCONF … no space left on device".
std::string error_text(const Status& status);

}  // namespace lapse::server
