#include "server/commands/help.h"

#include "server/command_table.h"
#include "server/text.h"

namespace lapse::server {

Status help(Call& call) {
  const Command& parent = *find_command(call[0]);
  call.reply.array(1 + 2 * parent.subcommands.size());
  call.reply.simple(capitals(parent.name) + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
  for (const Command& subcommand : parent.subcommands) {
    call.reply.simple(capitals(subcommand.name.substr(parent.name.size() + 1)));
    call.reply.simple("    " + std::string(subcommand.summary));
  }
  return {};
}

Status wrong_subcommand(const Call& call) {
  return refuse("ERR unknown subcommand or wrong number of arguments for '" + std::string(call[1]) +
                "'. Try " + capitals(call[0]) + " HELP.");
}

}  // namespace lapse::server
