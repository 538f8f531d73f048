// ACL: there is one user, who may do everything.

#include "server/command_table.h"
#include "server/commands/help.h"
#include "server/server.h"

namespace lapse::server {

namespace {

Status whoami(Call& call) {
  call.reply.bulk("default");
  return {};
}

Status users(Call& call) {
  call.reply.array(1);
  call.reply.bulk("default");
  return {};
}

Status list(Call& call) {
  call.reply.array(1);
  call.reply.bulk(call.server.config().requirepass.empty() ? "user default on nopass ~* &* +@all"
                                                           : "user default on ~* &* +@all");
  return {};
}

constexpr uint32_t kFlags = kNoScript | kLoading | kStale;

constexpr Command kAclCommands[] = {
    help_row("acl|help", "server", "6.0.0"),
    {"acl|list", 2, kFlags | kAdmin, {}, "server", "6.0.0", "Lists the users with what they may do.", list},
    {"acl|users", 2, kFlags | kAdmin, {}, "server", "6.0.0", "Lists the names of users.", users},
    {"acl|whoami", 2, kFlags, {}, "server", "6.0.0", "Returns the name of this connection's user.", whoami},
};

constexpr Command kCommands[] = {
    {"acl", -2, 0, {}, "server", "6.0.0", "Tells about users.", nullptr, kAclCommands},
};

}  // namespace

std::span<const Command> acl_commands() { return kCommands; }

}  // namespace lapse::server
