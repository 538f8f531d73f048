// Statistics: what INFO tells that no other part of the server keeps.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "server/command.h"

namespace lapse::server {

struct CommandStatistics {
  uint64_t calls = 0;
  uint64_t us = 0;
  uint64_t rejected = 0;  // before they ran
  uint64_t failed = 0;

  // How many calls took up to 1024 ns, 2048 ns, … and no less.
  std::array<uint64_t, 32> by_duration = {};
  static uint64_t longest_us(size_t duration) { return (uint64_t{1024} << duration) / 1000; }

  void add_call(uint64_t took_us);
};

struct Statistics {
  uint64_t connections = 0;
  uint64_t connections_rejected = 0;
  uint64_t commands = 0;
  uint64_t turns = 0;
  uint64_t commits = 0;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t misses_by_expiry = 0;
  uint64_t expired = 0;  // keys that went at their deadline
  uint64_t purged = 0;   // of them, by PURGE
  uint64_t error_replies = 0;
  uint64_t clients_over_query_limit = 0;
  uint64_t clients_over_output_limit = 0;
  std::unordered_map<const Command*, CommandStatistics> by_command;
  std::map<std::string, uint64_t> errors_by_code;  // "ERR", "WRONGTYPE", …; bounded

  uint64_t commands_per_second = 0;

  void count_error(std::string_view text);
  // Once a second, counts how many commands there were in it.
  void take_rate(int64_t steady_ms);

 private:
  int64_t rate_taken_at_ms_ = 0;
  uint64_t commands_then_ = 0;
};

}  // namespace lapse::server
