// Config: every setting of the server, in one table that serves the config file, the command line and CONFIG GET/SET.
//
// The file has redis.conf's form: a name and its values on a line; quotes around what has blanks ("…" with \n, \xHH and
// the like, or '…' as it is); # for comments; `include PATH` for another file, whose place is counted from the one that
// includes it. A later line wins. What redis.conf has and Lapse has no use for is passed over with a warning. Flags are the same names with two dashes, and win over the file. Names are Redis's where
// Redis has the setting.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lapse/durability.h"
#include "lapse/status.h"

namespace lapse::server {

// What is kept for a client that does not read fast enough: beyond `hard_bytes` it is disconnected at once, beyond
// `soft_bytes` after so many seconds. 0: no limit.
struct OutputLimit {
  uint64_t hard_bytes = 0;
  uint64_t soft_bytes = 0;
  int64_t soft_seconds = 0;
  bool operator==(const OutputLimit&) const = default;
};

// Whose DEBUG is obeyed.
enum class DebugFrom { kNobody, kLocal, kAnyone };

struct Config {
  std::string file = "lapse.db";  // "": in memory
  std::vector<std::string> bind = {"127.0.0.1", "-::1"};
  int64_t port = 6379;  // 0: no TCP at all
  std::string unix_socket;
  int64_t unix_socket_permissions = 0;  // 0: as the umask has it
  std::string requirepass;
  bool protected_mode = true;
  int64_t databases = 16;
  Durability durability = Durability::kNormal;
  int64_t buffer_bytes = 128 << 20;

  int64_t max_clients = 10'000;
  int64_t timeout_seconds = 0;                // of an idle client; 0: none
  int64_t half_command_timeout_seconds = 60;  // of a client that has sent part of a command; 0: none
  int64_t tcp_keepalive_seconds = 300;
  int64_t max_bulk_bytes = 512L << 20;
  int64_t max_arguments = 1L << 20;
  int64_t query_buffer_limit = 1L << 30;
  int64_t max_queued_commands = 1L << 20;  // between MULTI and EXEC
  int64_t max_queued_bytes = 1L << 30;
  int64_t max_watched_bytes = 64L << 20;
  int64_t max_subscribed_bytes = 64L << 20;
  OutputLimit normal_output = {1UL << 30, 0, 0};  // room for the largest value, whatever else is on its way
  OutputLimit pubsub_output = {32UL << 20, 8UL << 20, 60};

  std::string notify_keyspace_events;
  int64_t slowlog_slower_than_us = 10'000;
  int64_t slowlog_max_len = 128;
  int64_t latency_threshold_ms = 0;
  int64_t max_scan_cursors = 4'096;

  DebugFrom debug_from = DebugFrom::kLocal;

  std::string config_file;            // where it was read from; "": nowhere
  std::vector<std::string> warnings;  // what means something else here or nothing, and what is unsafe
};

struct Setting {
  std::string_view name;
  bool changeable;                                       // by CONFIG SET
  std::string_view summary;                              // one line, for --help
  Status (*set)(Config* config, std::string_view text);  // kInvalidArgument says what it must be
  std::string (*get)(const Config& config);
  bool takes_many = false;      // its value is all that stands on the line, not one word
  std::string_view fixed = {};  // the only value, of settings that are there for clients that ask
};

// In name order.
std::span<const Setting> settings();
const Setting* find_setting(std::string_view name);
// As it is written in the file.
std::string value_of(const Setting& setting, const Config& config);

// Command line: [FILE] [--name value …]; a `--config PATH` is read first. kInvalidArgument says what is wrong.
Result<Config> read_command_line(std::span<const std::string_view> arguments);
Status read_config_file(const std::string& path, Config* config);
// Writes the settings that differ from their defaults into the file, and leaves its other lines as they are.
Status rewrite_config_file(const std::string& path, const Config& config);
// Whether the settings make sense together.
Status check_config(const Config& config);

}  // namespace lapse::server
