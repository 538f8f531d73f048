// What a run of a benchmark is to do, as the command line has it.

#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lapse::bench {

enum class Size { kQuick, kDefault, kLarge };

struct Plan {
  Size size = Size::kDefault;
  int rounds = 1;
  std::vector<std::string> stores;
  std::vector<std::string> workloads;
  std::filesystem::path folder;  // empty; everything is left in it
};

}  // namespace lapse::bench
