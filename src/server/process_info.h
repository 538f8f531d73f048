// What the system says about this process, for INFO.

#pragma once

#include <cstdint>
#include <string>

namespace lapse::server {

struct ProcessInfo {
  int64_t id = 0;
  uint64_t anonymous_bytes = 0;  // RssAnon: without the file's pages, which are the system's cache
  uint64_t resident_bytes = 0;
  uint64_t peak_resident_bytes = 0;
  uint64_t machine_bytes = 0;  // that the machine has
  double user_seconds = 0;
  double system_seconds = 0;
  std::string system;  // "Linux 6.1.0 x86_64"
  std::string executable;
};

ProcessInfo read_process_info();

}  // namespace lapse::server
