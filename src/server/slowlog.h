// Slowlog: the commands that took longest, newest first, as many as are wanted.

#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lapse::server {

class Slowlog {
 public:
  struct Entry {
    uint64_t id;
    int64_t at_ms;
    uint64_t us;
    std::vector<std::string> arguments;  // long ones cut short, and so is a long name
    std::string client_address;
    std::string client_name;
  };

  void add(int64_t at_ms, uint64_t us, std::span<const std::string_view> arguments,
           std::string_view client_address, std::string_view client_name, size_t keep);
  void clear() { entries_.clear(); }
  const std::deque<Entry>& entries() const { return entries_; }

 private:
  std::deque<Entry> entries_;
  uint64_t next_id_ = 0;
};

}  // namespace lapse::server
