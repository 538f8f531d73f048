// The table of all commands, put together from the families in commands/.

#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "server/command.h"

namespace lapse::server {

// In small letters or not. Null: there is none.
const Command* find_command(std::string_view name);
const Command* find_subcommand(const Command& parent, std::string_view name);

// Which of the arguments are keys, the command's name being at 0.
std::vector<size_t> key_arguments(const Command& command, std::span<const std::string_view> arguments);

// In the order of the table.
const std::vector<const Command*>& all_commands();

// The rows of each file in commands/.
std::span<const Command> acl_commands();
std::span<const Command> client_commands();
std::span<const Command> command_commands();
std::span<const Command> config_commands();
std::span<const Command> connection_commands();
std::span<const Command> database_commands();
std::span<const Command> dump_commands();
std::span<const Command> expire_commands();
std::span<const Command> expiry_commands();
std::span<const Command> family_commands();
std::span<const Command> debug_commands();
std::span<const Command> info_commands();
std::span<const Command> key_commands();
std::span<const Command> move_commands();
std::span<const Command> object_commands();
std::span<const Command> past_commands();
std::span<const Command> latency_commands();
std::span<const Command> memory_commands();
std::span<const Command> operation_commands();
std::span<const Command> pubsub_commands();
std::span<const Command> scan_commands();
std::span<const Command> slowlog_commands();
std::span<const Command> string_commands();
std::span<const Command> many_commands();
std::span<const Command> number_commands();
std::span<const Command> substring_commands();
std::span<const Command> lcs_commands();
std::span<const Command> bit_commands();
std::span<const Command> transaction_commands();

}  // namespace lapse::server
