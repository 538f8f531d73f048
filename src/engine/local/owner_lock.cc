#include "engine/local/owner_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/try.h"

namespace lapse::engine {

namespace {

bool may_create_in(const std::string& directory) { return ::access(directory.c_str(), W_OK | X_OK) == 0; }

}  // namespace

Result<OwnerLock> OwnerLock::acquire(const std::string& path, Kind kind) {
  OwnerLock lock;
  const std::string name = path + "-owner";
  Result<File> file = File::open(name, kind == Kind::kWriter ? File::Mode::kCreate : File::Mode::kRead);
  if (file.status().code() == StatusCode::kNotFound) {  // and this is a reader
    file = File::open(name, File::Mode::kCreate);
    if (!file.ok() && !may_create_in(directory_of(name))) return lock;
  }
  if (!file.ok()) return file.status();
  lock.file_ = std::move(*file);

  struct flock request {};
  request.l_type = kind == Kind::kWriter ? F_WRLCK : F_RDLCK;
  request.l_whence = SEEK_SET;
  if (::fcntl(lock.file_.fd(), F_SETLK, &request) == 0) return lock;
  if (errno != EACCES && errno != EAGAIN) return os_error(name, "cannot lock", errno);

  std::string holder = "another process";
  if (::fcntl(lock.file_.fd(), F_GETLK, &request) == 0 && request.l_type != F_UNLCK && request.l_pid > 0)
    holder = "process " + std::to_string(request.l_pid);
  return Status(StatusCode::kBusy, path + ": open in " + holder);
}

}  // namespace lapse::engine
