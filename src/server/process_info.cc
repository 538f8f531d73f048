#include "server/process_info.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>

namespace lapse::server {

namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// Lines such as "RssAnon:	    1234 kB".
void read_memory(ProcessInfo* info) {
  std::ifstream status("/proc/self/status");
  std::string name;
  uint64_t kib = 0;
  for (std::string line; std::getline(status, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    name = line.substr(0, colon);
    if (name != "RssAnon" && name != "VmRSS" && name != "VmHWM") continue;
    kib = std::strtoull(line.c_str() + colon + 1, nullptr, 10);
    if (name == "RssAnon") info->anonymous_bytes = kib << 10;
    if (name == "VmRSS") info->resident_bytes = kib << 10;
    if (name == "VmHWM") info->peak_resident_bytes = kib << 10;
  }
  info->machine_bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

std::string executable_path() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  return length > 0 ? std::string(path.data(), static_cast<size_t>(length)) : "";
}

}  // namespace

ProcessInfo read_process_info() {
  ProcessInfo info;
  info.id = getpid();
  read_memory(&info);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  info.user_seconds = seconds(usage.ru_utime);
  info.system_seconds = seconds(usage.ru_stime);
  utsname system{};
  if (uname(&system) == 0)
    info.system = std::string(system.sysname) + " " + system.release + " " + system.machine;
  info.executable = executable_path();
  return info;
}

}  // namespace lapse::server
