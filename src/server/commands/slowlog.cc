// SLOWLOG: the commands that took longest.

#include "server/slowlog.h"

#include <algorithm>

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/help.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

// SLOWLOG GET [count]; -1: all
Status get(Call& call) {
  if (call.size() > 3) return wrong_subcommand(call);
  const std::optional<int64_t> count = call.size() == 3 ? to_integer(call[2]) : 10;
  if (!count || *count < -1) return refuse("ERR count should be greater than or equal to -1");
  const auto& entries = call.server.slowlog().entries();
  const size_t shown = *count < 0 ? entries.size() : std::min(entries.size(), static_cast<size_t>(*count));
  call.reply.array(shown);
  for (size_t i = 0; i < shown; ++i) {
    const Slowlog::Entry& entry = entries[i];
    call.reply.array(6);
    call.reply.integer(static_cast<int64_t>(entry.id));
    call.reply.integer(entry.at_ms / 1000);
    call.reply.integer(static_cast<int64_t>(entry.us));
    call.reply.array(entry.arguments.size());
    for (const std::string& argument : entry.arguments) call.reply.bulk(argument);
    call.reply.bulk(entry.client_address);
    call.reply.bulk(entry.client_name);
    LAPSE_TRY(call.check_output());
  }
  return {};
}

Status len(Call& call) {
  call.reply.integer(static_cast<int64_t>(call.server.slowlog().entries().size()));
  return {};
}

Status reset(Call& call) {
  call.server.slowlog().clear();
  call.reply.ok();
  return {};
}

constexpr uint32_t kFlags = kAdmin | kLoading | kStale;

constexpr Command kSlowlogCommands[] = {
    {"slowlog|get", -2, kFlags, {}, "server", "2.2.12", "Returns the latest entries.", get},
    help_row("slowlog|help", "server", "6.2.0"),
    {"slowlog|len", 2, kFlags, {}, "server", "2.2.12", "Counts the entries.", len},
    {"slowlog|reset", 2, kFlags, {}, "server", "2.2.12", "Forgets all entries.", reset},
};

constexpr Command kCommands[] = {
    {"slowlog",
     -2,
     0,
     {},
     "server",
     "2.2.12",
     "Tells which commands took longest.",
     nullptr,
     kSlowlogCommands},
};

}  // namespace

std::span<const Command> slowlog_commands() { return kCommands; }

}  // namespace lapse::server
