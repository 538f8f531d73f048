// What the figures were measured on.

#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lapse::bench {

// One fact a line: processor, memory, kernel, file system of `folder`, load at the start.
std::vector<std::string> machine_facts(const std::filesystem::path& folder);

}  // namespace lapse::bench
