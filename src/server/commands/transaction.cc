#include "server/command_table.h"

namespace lapse::server {

std::span<const Command> transaction_commands() { return {}; }

}  // namespace lapse::server
