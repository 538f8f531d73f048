// The system calls that this binary defines in place of the C library's.

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "io_watcher.h"

// The function of the same name that the program would have called without us.
#define REAL(function) \
  static auto* const real = reinterpret_cast<decltype(&::function)>(dlsym(RTLD_NEXT, #function))

namespace lapse::fault {
namespace {

int fail_with(int error) {
  errno = error;
  return -1;
}

// --- opening and closing -------------------------------------------------------------------------

bool exists(int at, const char* path) {
  struct stat info {};
  return fstatat(at, path, &info, 0) == 0;
}

template <typename RealOpen>
int hooked_open(int at, const char* path, int flags, RealOpen real_open) {
  if (!watching()) return real_open();
  Watcher& w = watcher();
  const std::lock_guard lock(w.mutex);
  const std::optional<std::string> name = w.watched_name(at, path);
  if (!name) return real_open();
  if (const Verdict verdict = w.judge(kOpenCall, *name); verdict.fails_at_once()) {
    return fail_with(verdict.error);
  }
  const bool existed = exists(at, path);
  const int fd = real_open();
  if (fd < 0) return fd;
  OpenFile opened{.file = kDirectory,
                  .name = *name,
                  .dsync = (flags & (O_DSYNC | O_SYNC)) != 0,
                  .append = (flags & O_APPEND) != 0};
  if (!name->empty()) {
    if (!existed) {
      opened.file = w.file_count++;
      w.names[*name] = opened.file;
      w.sizes[opened.file] = 0;
      w.push({.kind = IoEventKind::kCreate, .file = opened.file, .name = *name});
    } else {
      opened.file = w.names.at(*name);
      if ((flags & O_TRUNC) != 0) w.resize(opened.file, 0);
    }
  }
  w.open_files[fd] = std::move(opened);
  return fd;
}

// The directory itself has the empty name, whoever opened it.
bool lists_the_watched_directory(DIR* directory, const Watcher& w) {
  const std::string path = "/proc/self/fd/" + std::to_string(dirfd(directory));
  char target[PATH_MAX];
  const ssize_t length = readlink(path.c_str(), target, sizeof target - 1);
  if (length < 0) return false;
  target[length] = '\0';
  return w.watched_name(AT_FDCWD, target) == "";
}

template <typename RealRead>
dirent* hooked_readdir(DIR* directory, RealRead real_read) {
  if (!watching()) return real_read();
  Watcher& w = watcher();
  const std::lock_guard lock(w.mutex);
  if (!lists_the_watched_directory(directory, w)) return real_read();
  const Verdict verdict = w.judge(kListCall, "");
  if (!verdict.fails_at_once()) return real_read();
  errno = verdict.error;
  return nullptr;
}

void forget(int fd) {
  if (!watching()) return;
  const std::lock_guard lock(watcher().mutex);
  watcher().open_files.erase(fd);
}

// --- writing -------------------------------------------------------------------------------------

std::string gather(const iovec* parts, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    bytes.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  }
  return bytes;
}

ssize_t real_write_at(int fd, std::optional<uint64_t> offset, std::string_view bytes) {
  if (offset) {
    REAL(pwrite);
    return real(fd, bytes.data(), bytes.size(), static_cast<off_t>(*offset));
  }
  REAL(write);
  return real(fd, bytes.data(), bytes.size());
}

// REQUIRES: w.mutex is held
ssize_t write_watched(Watcher& w, int fd, const OpenFile& target, std::optional<uint64_t> offset,
                      std::string bytes) {
  const Verdict verdict = w.judge(kWriteCall | (target.dsync ? uint32_t{kSyncedWriteCall} : 0), target.name);
  if (verdict.fails_at_once()) {
    return fail_with(verdict.error);
  }
  if (verdict.shortens()) {
    bytes.resize(std::max<size_t>(bytes.size() / 2, bytes.empty() ? 0 : 1));
  }
  uint64_t at = offset.value_or(0);
  if (target.append) {
    at = w.sizes.at(target.file);
  } else if (!offset) {
    at = static_cast<uint64_t>(lseek(fd, 0, SEEK_CUR));
  }
  const ssize_t written = real_write_at(fd, offset, bytes);
  if (written <= 0) return written;
  bytes.resize(static_cast<size_t>(written));
  uint64_t& size = w.sizes[target.file];
  size = std::max(size, at + bytes.size());
  const size_t event =
      w.push({.kind = IoEventKind::kWrite, .file = target.file, .offset = at, .bytes = std::move(bytes)});
  if (verdict.is_denied()) return fail_with(verdict.error);
  if (!target.dsync) return written;
  const bool lost = verdict.loses_sync();
  w.push({.kind = lost ? IoEventKind::kWriteFailed : IoEventKind::kWriteSynced,
          .file = target.file,
          .begin = event});
  return lost ? fail_with(verdict.error) : written;
}

template <typename RealWrite>
ssize_t hooked_write(int fd, std::optional<uint64_t> offset, const iovec* parts, int count,
                     RealWrite real_write) {
  if (!watching()) return real_write();
  Watcher& w = watcher();
  const std::lock_guard lock(w.mutex);
  const OpenFile* target = w.find(fd);
  if (target == nullptr || target->file == kDirectory) return real_write();
  return write_watched(w, fd, *target, offset, gather(parts, count));
}

// --- sizes ---------------------------------------------------------------------------------------

// `grown_to` is nothing if the call does not change the size; `error_of` takes the call's result to
// an errno, 0 for success.
template <typename RealCall>
int hooked_resize(int fd, RealCall real_call, bool returns_errno,
                  std::optional<uint64_t> (*new_size)(uint64_t old_size, off_t a, off_t b), off_t a,
                  off_t b) {
  if (!watching()) return real_call();
  Watcher& w = watcher();
  const std::lock_guard lock(w.mutex);
  const OpenFile* target = w.find(fd);
  if (target == nullptr) return real_call();
  if (const Verdict verdict = w.judge(kResizeCall, target->name); verdict.fails_at_once()) {
    return returns_errno ? verdict.error : fail_with(verdict.error);
  }
  const int result = real_call();
  if (result != 0) return result;
  if (const auto size = new_size(w.sizes[target->file], a, b)) w.resize(target->file, *size);
  return result;
}

std::optional<uint64_t> truncated_size(uint64_t /*old_size*/, off_t size, off_t /*unused*/) {
  return static_cast<uint64_t>(size);
}

std::optional<uint64_t> allocated_size(uint64_t old_size, off_t offset, off_t length) {
  const auto end = static_cast<uint64_t>(offset + length);
  if (end <= old_size) return std::nullopt;
  return end;
}

std::optional<uint64_t> unchanged_size(uint64_t /*old*/, off_t /*a*/, off_t /*b*/) { return std::nullopt; }

void record_zeros(int fd, off_t offset, off_t length) {
  if (!watching()) return;
  Watcher& w = watcher();
  const std::lock_guard lock(w.mutex);
  const OpenFile* target = w.find(fd);
  if (target == nullptr) return;
  w.push({.kind = IoEventKind::kWrite,
          .file = target->file,
          .offset = static_cast<uint64_t>(offset),
          .bytes = std::string(static_cast<size_t>(length), '\0')});
}

template <typename RealCall>
int hooked_fallocate(int fd, int mode, off_t offset, off_t length, RealCall real_call) {
  const bool keeps_size = (mode & FALLOC_FL_KEEP_SIZE) != 0;
  const int result =
      hooked_resize(fd, real_call, false, keeps_size ? unchanged_size : allocated_size, offset, length);
  const bool zeros = (mode & (FALLOC_FL_ZERO_RANGE | FALLOC_FL_PUNCH_HOLE)) != 0;
  if (result == 0 && zeros) record_zeros(fd, offset, length);
  return result;
}

// --- syncs ---------------------------------------------------------------------------------------

template <typename RealCall>
int hooked_sync(int fd, RealCall real_call) {
  if (!watching()) return real_call(fd);
  Watcher& w = watcher();
  std::unique_lock lock(w.mutex);
  const OpenFile* target = w.find(fd);
  if (target == nullptr) return real_call(fd);
  const int file = target->file;
  const Verdict verdict = w.judge(kSyncCall, target->name);
  const size_t begin = w.push({.kind = IoEventKind::kSyncBegin, .file = file});
  lock.unlock();

  int result = -1;
  int error = verdict.error;
  if (!verdict.fails || verdict.shortens()) {
    result = real_call(fd);
    error = errno;
  }

  // An interrupted sync did nothing, and may be asked for again. Any other failure is final.
  if (result != 0 && error == EINTR) return fail_with(error);
  lock.lock();
  w.push(
      {.kind = result == 0 ? IoEventKind::kSynced : IoEventKind::kSyncFailed, .file = file, .begin = begin});
  return result == 0 ? 0 : fail_with(error);
}

// --- directory entries ---------------------------------------------------------------------------

template <typename RealCall>
int hooked_rename(int from_at, const char* from, int to_at, const char* to, RealCall real_call) {
  if (!watching()) return real_call();
  Watcher& w = watcher();
  const std::lock_guard lock(w.mutex);
  const auto name = w.watched_name(from_at, from);
  const auto new_name = w.watched_name(to_at, to);
  if (!name || !new_name) return real_call();
  if (const Verdict verdict = w.judge(kRenameCall, *name + " " + *new_name); verdict.fails_at_once()) {
    return fail_with(verdict.error);
  }
  const int result = real_call();
  if (result != 0) return result;
  const int file = w.names.at(*name);
  w.names.erase(*name);
  w.names[*new_name] = file;
  w.push({.kind = IoEventKind::kRename, .file = file, .name = *name, .new_name = *new_name});
  return result;
}

template <typename RealCall>
int hooked_unlink(int at, const char* path, RealCall real_call) {
  if (!watching()) return real_call();
  Watcher& w = watcher();
  const std::lock_guard lock(w.mutex);
  const auto name = w.watched_name(at, path);
  if (!name || name->empty()) return real_call();
  if (const Verdict verdict = w.judge(kUnlinkCall, *name); verdict.fails_at_once()) {
    return fail_with(verdict.error);
  }
  const int result = real_call();
  if (result != 0) return result;
  const int file = w.names.at(*name);
  w.names.erase(*name);
  w.push({.kind = IoEventKind::kUnlink, .file = file, .name = *name});
  return result;
}

}  // namespace

}  // namespace lapse::fault

// --- the calls themselves ------------------------------------------------------------------------

namespace {

mode_t mode_argument(int flags, va_list arguments) {
  return (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

iovec single(const void* bytes, size_t size) { return {const_cast<void*>(bytes), size}; }

}  // namespace

using namespace lapse::fault;  // NOLINT(google-build-using-namespace): the hooks, for the hooked

#define DEFINE_OPEN(function)                                                           \
  int function(const char* path, int flags, ...) {                                      \
    REAL(function);                                                                     \
    va_list arguments;                                                                  \
    va_start(arguments, flags);                                                         \
    const mode_t mode = mode_argument(flags, arguments);                                \
    va_end(arguments);                                                                  \
    return hooked_open(AT_FDCWD, path, flags, [=] { return real(path, flags, mode); }); \
  }

#define DEFINE_OPENAT(function)                                                       \
  int function(int at, const char* path, int flags, ...) {                            \
    REAL(function);                                                                   \
    va_list arguments;                                                                \
    va_start(arguments, flags);                                                       \
    const mode_t mode = mode_argument(flags, arguments);                              \
    va_end(arguments);                                                                \
    return hooked_open(at, path, flags, [=] { return real(at, path, flags, mode); }); \
  }

#define DEFINE_CREAT(function)                                                                          \
  int function(const char* path, mode_t mode) {                                                         \
    REAL(function);                                                                                     \
    return hooked_open(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, [=] { return real(path, mode); }); \
  }

#define DEFINE_PWRITE(function)                                            \
  ssize_t function(int fd, const void* bytes, size_t size, off_t offset) { \
    REAL(function);                                                        \
    const iovec part = single(bytes, size);                                \
    return hooked_write(fd, static_cast<uint64_t>(offset), &part, 1,       \
                        [=] { return real(fd, bytes, size, offset); });    \
  }

#define DEFINE_PWRITEV(function)                                          \
  ssize_t function(int fd, const iovec* parts, int count, off_t offset) { \
    REAL(function);                                                       \
    return hooked_write(fd, static_cast<uint64_t>(offset), parts, count,  \
                        [=] { return real(fd, parts, count, offset); });  \
  }

#define DEFINE_FTRUNCATE(function)                                           \
  int function(int fd, off_t size) noexcept {                                \
    REAL(function);                                                          \
    return hooked_resize(                                                    \
        fd, [=] { return real(fd, size); }, false, truncated_size, size, 0); \
  }

#define DEFINE_FALLOCATE(function)                                                                     \
  int function(int fd, int mode, off_t offset, off_t length) {                                         \
    REAL(function);                                                                                    \
    return hooked_fallocate(fd, mode, offset, length, [=] { return real(fd, mode, offset, length); }); \
  }

#define DEFINE_POSIX_FALLOCATE(function)                                                     \
  int function(int fd, off_t offset, off_t length) {                                         \
    REAL(function);                                                                          \
    return hooked_resize(                                                                    \
        fd, [=] { return real(fd, offset, length); }, true, allocated_size, offset, length); \
  }

extern "C" {

DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)
DEFINE_CREAT(creat)
DEFINE_CREAT(creat64)

int close(int fd) {
  REAL(close);
  forget(fd);
  return real(fd);
}

ssize_t write(int fd, const void* bytes, size_t size) {
  REAL(write);
  const iovec part = single(bytes, size);
  return hooked_write(fd, std::nullopt, &part, 1, [=] { return real(fd, bytes, size); });
}

ssize_t writev(int fd, const iovec* parts, int count) {
  REAL(writev);
  return hooked_write(fd, std::nullopt, parts, count, [=] { return real(fd, parts, count); });
}

DEFINE_PWRITE(pwrite)
DEFINE_PWRITE(pwrite64)
DEFINE_PWRITEV(pwritev)
DEFINE_PWRITEV(pwritev64)
DEFINE_FTRUNCATE(ftruncate)
DEFINE_FTRUNCATE(ftruncate64)
DEFINE_FALLOCATE(fallocate)
DEFINE_FALLOCATE(fallocate64)
DEFINE_POSIX_FALLOCATE(posix_fallocate)
DEFINE_POSIX_FALLOCATE(posix_fallocate64)

int fsync(int fd) {
  REAL(fsync);
  return hooked_sync(fd, real);
}

int fdatasync(int fd) {
  REAL(fdatasync);
  return hooked_sync(fd, real);
}

int msync(void* address, size_t size, int flags) {
  REAL(msync);
  if (watching()) {
    std::fprintf(stderr, "msync() in a watched process: the hooks know no mapping to credit\n");
    std::abort();
  }
  return real(address, size, flags);
}

dirent* readdir(DIR* directory) {
  REAL(readdir);
  return hooked_readdir(directory, [=] { return real(directory); });
}

int rename(const char* from, const char* to) noexcept {
  REAL(rename);
  return hooked_rename(AT_FDCWD, from, AT_FDCWD, to, [=] { return real(from, to); });
}

int renameat(int from_at, const char* from, int to_at, const char* to) noexcept {
  REAL(renameat);
  return hooked_rename(from_at, from, to_at, to, [=] { return real(from_at, from, to_at, to); });
}

int renameat2(int from_at, const char* from, int to_at, const char* to, unsigned int flags) noexcept {
  REAL(renameat2);
  return hooked_rename(from_at, from, to_at, to, [=] { return real(from_at, from, to_at, to, flags); });
}

int unlink(const char* path) noexcept {
  REAL(unlink);
  return hooked_unlink(AT_FDCWD, path, [=] { return real(path); });
}

int unlinkat(int at, const char* path, int flags) noexcept {
  REAL(unlinkat);
  return hooked_unlink(at, path, [=] { return real(at, path, flags); });
}

int remove(const char* path) noexcept {
  REAL(remove);
  return hooked_unlink(AT_FDCWD, path, [=] { return real(path); });
}

}  // extern "C"
