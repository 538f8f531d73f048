#include "small_disk.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "fault_env.h"

namespace lapse::fault {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// The mount is gone with the last process of the namespace.
void mount_small_disk(const std::string& path, uint64_t bytes) {
  if (unshare(CLONE_NEWNS) != 0) fail("unshare");
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) fail("mount private");
  const std::string options = "size=" + std::to_string(bytes);
  if (mount("lapse", path.c_str(), "tmpfs", 0, options.c_str()) != 0) fail("mount tmpfs");
}

}  // namespace

uint64_t SmallDisk::free_bytes() const {
  struct statvfs info {};
  if (statvfs(path_.c_str(), &info) != 0) fail(path_);
  return info.f_bavail * info.f_bsize;
}

void SmallDisk::fill(uint64_t left) const {
  const int fd = open(file("filler").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (fd < 0) fail("filler");
  const std::string page(4096, 'f');
  while (free_bytes() > left) {
    if (write(fd, page.data(), page.size()) <= 0) break;
  }
  close(fd);
}

void SmallDisk::make_room() const { unlink(file("filler").c_str()); }

ChildResult run_on_small_disk(uint64_t bytes, unsigned timeout_s,
                              const std::function<void(const SmallDisk&, Report&)>& body) {
  const ScratchDir mount_point;
  return run_in_child(timeout_s, [&](Report& report) {
    mount_small_disk(mount_point.path(), bytes);
    body(SmallDisk(mount_point.path()), report);
  });
}

bool small_disks_are_allowed() {
  static const bool allowed = run_on_small_disk(1 << 20, 10, [](const SmallDisk&, Report&) {}).ok();
  return allowed;
}

}  // namespace lapse::fault
