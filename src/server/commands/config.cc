// CONFIG: the settings while the server runs.

#include <algorithm>
#include <set>
#include <vector>

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/help.h"
#include "server/file_limit.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

Status get(Call& call) {
  std::vector<const Setting*> found;
  for (const Setting& setting : settings()) {
    const auto fits = [&](std::string_view pattern) { return matches_glob(pattern, setting.name, true); };
    const auto patterns = call.arguments.subspan(2);
    if (std::any_of(patterns.begin(), patterns.end(), fits)) found.push_back(&setting);
  }
  call.reply.map(found.size());
  for (const Setting* setting : found) {
    call.reply.bulk(setting->name);
    call.reply.bulk(value_of(*setting, call.server.config()));
  }
  return {};
}

Status failed(std::string_view name, std::string_view why) {
  return refuse("ERR CONFIG SET failed (possibly related to argument '" + std::string(name) + "') - " +
                std::string(why));
}

Status set_one(Config* config, const Setting& setting, std::string_view name, std::string_view value) {
  if (!setting.changeable && value != value_of(setting, *config))
    return failed(name, "can't set immutable config");
  if (!setting.changeable) return {};
  const Status status = setting.set(config, value);
  return status.ok() ? Status() : failed(name, status.message());
}

// What follows from settings that other parts have taken over.
void take_effect(Server* server) {
  server->want_events(parse_event_classes(server->config().notify_keyspace_events).value_or(0));
}

// CONFIG SET name value [name value …]: all of them or none.
Status set(Call& call) {
  if (call.size() % 2 != 0) return syntax_error();
  Config changed = call.server.config();
  std::set<const Setting*> seen;
  for (size_t i = 2; i < call.size(); i += 2) {
    const Setting* setting = find_setting(call[i]);
    if (setting == nullptr) {
      return refuse("ERR Unknown option or number of arguments for CONFIG SET - '" + std::string(call[i]) +
                    "'");
    }
    if (!seen.insert(setting).second) return failed(call[i], "duplicate parameter");
    LAPSE_TRY(set_one(&changed, *setting, call[i], call[i + 1]));
  }
  if (const Status status = check_config(changed); !status.ok()) return failed(call[2], status.message());
  if (changed.max_clients > call.server.config().max_clients) {
    if (const int64_t most = provide_files(changed.max_clients); most < changed.max_clients) {
      return failed("maxclients",
                    "The operating system is not able to handle the specified number of clients, try with " +
                        std::to_string(most));
    }
  }
  call.server.config() = std::move(changed);
  take_effect(&call.server);
  call.reply.ok();
  return {};
}

Status resetstat(Call& call) {
  call.server.statistics() = Statistics();
  call.server.expirer().reset_statistics();
  call.reply.ok();
  return {};
}

Status rewrite(Call& call) {
  const Config& config = call.server.config();
  if (config.config_file.empty()) return refuse("ERR The server is running without a config file");
  const Status status = rewrite_config_file(config.config_file, config);
  if (!status.ok()) return refuse("ERR Rewriting config file: " + std::string(status.message()));
  call.reply.ok();
  return {};
}

constexpr uint32_t kFlags = kAdmin | kNoScript | kLoading | kStale;

constexpr Command kConfigCommands[] = {
    {"config|get", -3, kFlags, {}, "server", "2.0.0", "Returns the settings that match patterns.", get},
    help_row("config|help", "server", "5.0.0"),
    {"config|resetstat", 2, kFlags, {}, "server", "2.0.0", "Begins the statistics anew.", resetstat},
    {"config|rewrite",
     2,
     kFlags,
     {},
     "server",
     "2.8.0",
     "Writes the settings into the config file.",
     rewrite},
    {"config|set", -4, kFlags, {}, "server", "2.0.0", "Changes settings, all of them or none.", set},
};

constexpr Command kCommands[] = {
    {"config", -2, 0, {}, "server", "2.0.0", "Reads and changes settings.", nullptr, kConfigCommands},
};

}  // namespace

std::span<const Command> config_commands() { return kCommands; }

}  // namespace lapse::server
