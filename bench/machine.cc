#include "bench/machine.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

namespace lapse::bench {
namespace {

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  std::string model = "unknown processor";
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) model = line.substr(line.find(':') + 2);
  }
  return std::to_string(std::thread::hardware_concurrency()) + " cores, " + model;
}

std::string memory() {
  const auto bytes =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return std::to_string(static_cast<int>(bytes / (1 << 30))) + " GB of memory";
}

std::string kernel() {
  utsname name;
  uname(&name);
  return std::string(name.sysname) + " " + name.release;
}

// /proc/self/mountinfo: id, parent, major:minor, root, mount point, options, …, "-", type, device,
// …
std::string file_system(const std::filesystem::path& folder) {
  struct stat found;
  if (stat(folder.c_str(), &found) != 0) return "unknown file system";
  const std::string wanted = std::to_string(major(found.st_dev)) + ":" + std::to_string(minor(found.st_dev));
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::string id;
    std::string parent;
    std::string device;
    std::istringstream(line) >> id >> parent >> device;
    const size_t separator = line.find(" - ");
    if (device != wanted || separator == std::string::npos) continue;
    std::string type;
    std::string source;
    std::istringstream(line.substr(separator + 3)) >> type >> source;
    return type.append(" on ").append(source);
  }
  return "unknown file system";
}

std::string load() {
  double minute = 0;
  getloadavg(&minute, 1);
  std::ostringstream text;
  text.precision(2);
  text << std::fixed << "load " << minute << " at the start";
  if (minute > 0.5) text << " (the figures want an idle machine)";
  return text.str();
}

}  // namespace

std::vector<std::string> machine_facts(const std::filesystem::path& folder) {
  return {processor(), memory(), kernel(), file_system(folder) + ", in " + folder.string(), load()};
}

}  // namespace lapse::bench
