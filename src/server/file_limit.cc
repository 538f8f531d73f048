#include "server/file_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace lapse::server {

namespace {

constexpr rlim_t kOtherFiles = 64;  // the store's, the listeners, what libraries open

}  // namespace

int64_t provide_files(int64_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const rlim_t files = static_cast<rlim_t>(wanted) + kOtherFiles;
  if (limit.rlim_cur < files) {
    limit.rlim_cur = std::min(files, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
    getrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur >= files) return wanted;
  return std::max<int64_t>(1, static_cast<int64_t>(limit.rlim_cur) - int64_t{kOtherFiles});
}

}  // namespace lapse::server
