#include "server/command_table.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "server/text.h"

namespace lapse::server {

namespace {

struct Table {
  std::vector<const Command*> all;
  std::unordered_map<std::string_view, const Command*> by_name;

  Table() {
    for (const auto& family :
         {connection_commands(), client_commands(),    string_commands(),   many_commands(),
          number_commands(),     substring_commands(), lcs_commands(),      bit_commands(),
          key_commands(),        expire_commands(),    move_commands(),     dump_commands(),
          object_commands(),     scan_commands(),      database_commands(), transaction_commands(),
          pubsub_commands(),     info_commands(),      config_commands(),   command_commands(),
          operation_commands(),  slowlog_commands(),   latency_commands(),  memory_commands(),
          debug_commands(),      acl_commands(),       past_commands(),     expiry_commands(),
          family_commands()}) {
      for (const Command& command : family) {
        all.push_back(&command);
        by_name.emplace(command.name, &command);
      }
    }
  }
};

const Table& table() {
  static const Table instance;
  return instance;
}

constexpr size_t kLongestName = 32;

// Behind the last argument that may be a key.
int64_t end_of_keys(const KeyPositions& keys, std::span<const std::string_view> arguments) {
  const auto size = static_cast<int64_t>(arguments.size());
  if (keys.count_at == 0) return std::min(keys.last < 0 ? size + keys.last + 1 : keys.last + 1, size);
  const auto count = keys.count_at < size ? to_integer(arguments[static_cast<size_t>(keys.count_at)]) : 0;
  if (!count || *count <= 0 || *count > size) return keys.first;
  return std::min(keys.first + *count * keys.step, size);
}

}  // namespace

const Command* find_command(std::string_view name) {
  char small[kLongestName];
  if (name.size() > sizeof small) return nullptr;
  std::transform(name.begin(), name.end(), small, to_small);
  const auto found = table().by_name.find(std::string_view(small, name.size()));
  return found == table().by_name.end() ? nullptr : found->second;
}

const Command* find_subcommand(const Command& parent, std::string_view name) {
  for (const Command& command : parent.subcommands) {
    if (same_word(command.name.substr(parent.name.size() + 1), name)) return &command;
  }
  return nullptr;
}

std::vector<size_t> key_arguments(const Command& command, std::span<const std::string_view> arguments) {
  std::vector<size_t> found;
  if (command.keys.first == 0) return found;
  const int64_t end = end_of_keys(command.keys, arguments);
  for (int64_t i = command.keys.first; i < end; i += command.keys.step)
    found.push_back(static_cast<size_t>(i));
  return found;
}

const std::vector<const Command*>& all_commands() { return table().all; }

}  // namespace lapse::server
