#include "file_image.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace lapse::fault {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw std::system_error(errno, std::generic_category(), path);
}

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : fd_(open(path.c_str(), flags, 0644)) {
    if (fd_ < 0) fail(path);
  }
  ~Descriptor() { close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

std::string read_whole_file(const std::string& path) {
  const Descriptor file(path, O_RDONLY);
  struct stat info {};
  if (fstat(file.get(), &info) != 0) fail(path);
  std::string contents(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  while (done < contents.size()) {
    const ssize_t got =
        pread(file.get(), contents.data() + done, contents.size() - done, static_cast<off_t>(done));
    if (got < 0) fail(path);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  contents.resize(done);
  return contents;
}

void write_whole_file(const std::string& path, const std::string& contents) {
  const Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC);
  size_t done = 0;
  while (done < contents.size()) {
    const ssize_t put = write(file.get(), contents.data() + done, contents.size() - done);
    if (put < 0) fail(path);
    done += static_cast<size_t>(put);
  }
}

FileImage read_directory(const std::string& directory) {
  FileImage files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    files[entry.path().filename()] = read_whole_file(entry.path());
  }
  return files;
}

void write_directory(const std::string& directory, const FileImage& files) {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::filesystem::remove_all(entry.path());
  }
  for (const auto& [name, contents] : files) write_whole_file(directory + "/" + name, contents);
}

}  // namespace lapse::fault
