// HELP, of every command that has subcommands: what the table says about them.

#pragma once

#include "server/call.h"

namespace lapse::server {

Status help(Call& call);
// What subcommands that take a varying number of arguments say of too many.
Status wrong_subcommand(const Call& call);

// A row for it: help_row("client|help", "connection", "5.0.0").
constexpr Command help_row(std::string_view name, std::string_view group, std::string_view since) {
  return {name, 2, kLoading | kStale, {}, group, since, "Returns this text.", help};
}

}  // namespace lapse::server
