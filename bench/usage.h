// What the subcommands of lapse-bench share.

#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lapse::bench {

using Arguments = std::vector<std::string_view>;

// The command line makes no sense: main() says why and exits with 2.
class UsageError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace lapse::bench
