#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/test_hooks.h"
#include "base/try.h"

namespace lapse {

namespace {

constexpr size_t kZeroChunkBytes = 256 << 10;
// Not in every linux/magic.h.
constexpr uint64_t kZfsMagic = 0x2fc12fc1;
constexpr uint64_t kBcachefsMagic = 0xca451a4e;

std::string message_of(int error_number) {
  char buffer[128];
  return strerror_r(error_number, buffer, sizeof buffer);
}

}  // namespace

Status os_error(std::string_view path, std::string_view what, int error_number) {
  StatusCode code = StatusCode::kIoError;
  // Whether it is the disk, a quota or a limit on files that leaves no room.
  if (error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG) code = StatusCode::kNoSpace;
  if (error_number == ENOENT) code = StatusCode::kNotFound;
  return {code, std::string(path) + ": " + std::string(what) + ": " + message_of(error_number)};
}

Result<File> File::open(const std::string& path, Mode mode) {
  int flags = O_CLOEXEC | (mode == Mode::kRead ? O_RDONLY : O_RDWR);
  if (mode == Mode::kCreate) flags |= O_CREAT;
  File file(-1, path);  // which takes memory, and so before there is a descriptor that could be lost
  do file.fd_ = ::open(path.c_str(), flags, 0644);
  while (file.fd_ < 0 && errno == EINTR);
  if (file.fd_ < 0) return os_error(path, "cannot open", errno);
  return file;
}

File::File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
    path_ = std::move(other.path_);
  }
  return *this;
}

void File::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Result<uint64_t> File::size() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return os_error(path_, "cannot stat", errno);
  return static_cast<uint64_t>(info.st_size);
}

Result<std::string> File::read(uint64_t offset, size_t bytes) const {
  std::string out(bytes, '\0');
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(fd_, out.data() + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error(path_, "cannot read", errno);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  out.resize(done);
  return out;
}

Status File::write(uint64_t offset, std::string_view bytes, size_t* put) const {
  if (put != nullptr) *put = 0;
  while (!bytes.empty()) {
    const ssize_t taken = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0) return os_error(path_, "cannot write", errno);
    if (taken == 0) return os_error(path_, "cannot write", EIO);
    if (put != nullptr) *put += static_cast<size_t>(taken);
    offset += static_cast<uint64_t>(taken);
    bytes.remove_prefix(static_cast<size_t>(taken));
  }
  return {};
}

Status File::truncate(uint64_t bytes) const {
  int result;
  do result = ::ftruncate(fd_, static_cast<off_t>(bytes));
  while (result != 0 && errno == EINTR);
  if (result != 0) return os_error(path_, "cannot truncate", errno);
  return {};
}

Status File::allocate(uint64_t offset, uint64_t bytes, bool* reserved) const {
  int result;
  do result = ::fallocate(fd_, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  while (result != 0 && errno == EINTR);
  if (result == 0) {
    if (reserved != nullptr) *reserved = true;
    return {};
  }
  if (errno != EOPNOTSUPP && errno != ENOSYS)
    return os_error(path_, "cannot allocate " + std::to_string(bytes) + " bytes", errno);
  if (reserved != nullptr) *reserved = false;
  return truncate(offset + bytes);
}

Status File::write_zeros(uint64_t offset, uint64_t bytes) const {
  static const std::string zeros(kZeroChunkBytes, '\0');
  while (bytes > 0) {
    const uint64_t chunk = std::min<uint64_t>(bytes, zeros.size());
    LAPSE_TRY(write(offset, std::string_view(zeros).substr(0, chunk)));
    offset += chunk;
    bytes -= chunk;
  }
  return {};
}

Status File::sync() const {
  int result;
  do result = ::fdatasync(fd_);
  while (result != 0 && errno == EINTR);
  if (result != 0) return os_error(path_, "cannot sync", errno);
  return {};
}

Result<bool> File::try_lock() const {
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  return os_error(path_, "cannot lock", errno);
}

bool File::is_at_its_path() const {
  struct stat mine {};
  struct stat found {};
  return ::fstat(fd_, &mine) == 0 && ::stat(path_.c_str(), &found) == 0 && mine.st_dev == found.st_dev &&
         mine.st_ino == found.st_ino;
}

void File::start_writeback(uint64_t offset, uint64_t bytes) const {
  (void)::sync_file_range(fd_, static_cast<off64_t>(offset), static_cast<off64_t>(bytes),
                          SYNC_FILE_RANGE_WRITE);
}

Result<Mapping> Mapping::map(const File& file, uint64_t bytes, Access access) {
  Mapping mapping;
  if (bytes == 0) return mapping;  // mmap refuses empty ranges
  const int protection = access == Access::kRead ? PROT_READ : PROT_READ | PROT_WRITE;
  void* data = ::mmap(nullptr, bytes, protection, MAP_SHARED, file.fd(), 0);
  if (data == MAP_FAILED) return os_error(file.path(), "cannot map", errno);
  mapping.data_ = static_cast<char*>(data);
  mapping.bytes_ = bytes;
  mapping.fd_ = file.fd();
  // EFAULT stands for the signal that a look would have been answered with. Kernels before 5.14 do not know the question.
  if (access == Access::kRead && ::madvise(data, bytes, MADV_POPULATE_READ) != 0 && errno == EFAULT)
    return os_error(file.path(), "cannot read", EIO);
  return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      fd_(std::exchange(other.fd_, -1)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    unmap();
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Mapping::store(uint64_t offset, std::string_view bytes) {
  assert(offset <= bytes_ && bytes.size() <= bytes_ - offset);
  std::memcpy(data_ + offset, bytes.data(), bytes.size());
  test_hooks::mapped_store(fd_, offset,
                           bytes);  // afterwards: a sync that is recorded before it does not cover it
}

void Mapping::unmap() {
  if (data_ != nullptr) ::munmap(std::exchange(data_, nullptr), std::exchange(bytes_, 0));
}

bool writes_in_place(const File& file) {
  struct statfs info {};
  if (::fstatfs(file.fd(), &info) != 0) return false;
  switch (static_cast<uint64_t>(info.f_type) & 0xffffffffU) {
    case EXT4_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case TMPFS_MAGIC: return true;
    case BTRFS_SUPER_MAGIC:
    case kZfsMagic:
    case kBcachefsMagic:
    default: return false;
  }
}

bool may_share_blocks(const File& file) {
  struct statfs info {};
  return ::fstatfs(file.fd(), &info) != 0 ||
         (static_cast<uint64_t>(info.f_type) & 0xffffffffU) == XFS_SUPER_MAGIC;
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status sync_directory_of(const std::string& path) {
  const std::string directory = directory_of(path);
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return os_error(directory, "cannot open directory", errno);
  int result;
  do result = ::fsync(fd);
  while (result != 0 && errno == EINTR);
  const int error_number = errno;
  ::close(fd);
  if (result != 0) return os_error(directory, "cannot sync directory", error_number);
  return {};
}

Result<std::vector<std::string>> list_siblings(const std::string& path, std::string_view prefix) {
  const std::string directory = directory_of(path);
  const std::unique_ptr<DIR, int (*)(DIR*)> open_directory(::opendir(directory.c_str()), ::closedir);
  if (!open_directory) return os_error(directory, "cannot list", errno);
  std::vector<std::string> names;
  while (true) {
    errno = 0;                                              // which alone tells an error from the end
    const dirent* entry = ::readdir(open_directory.get());  // NOLINT(concurrency-mt-unsafe)
    if (entry == nullptr && errno != 0) return os_error(directory, "cannot list", errno);
    if (entry == nullptr) break;
    if (std::string_view(entry->d_name).starts_with(prefix)) names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool may_exist(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 || errno != ENOENT;
}

Status remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return os_error(path, "cannot remove", errno);
  return {};
}

Status rename_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return os_error(from, "cannot rename to " + to, errno);
  return {};
}

Result<std::string> canonical_path(const std::string& path) {
  char resolved[PATH_MAX];
  if (::realpath(path.c_str(), resolved) != nullptr) return std::string(resolved);
  if (errno != ENOENT) return os_error(path, "cannot resolve", errno);
  // The file itself may be yet to come; its directory may not.
  const std::string directory = directory_of(path);
  if (::realpath(directory.c_str(), resolved) == nullptr) return os_error(directory, "cannot resolve", errno);
  const size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::string_view parent = resolved;
  return std::string(parent == "/" ? "" : parent) + "/" + name;
}

}  // namespace lapse
