// Files as the engine needs them: positioned reads and writes that finish or say why not, space that is
// really reserved, mapping, syncing. Each call is one or a few system calls, so that tests that stand in
// for those calls (tests/fault/io_hooks.h) see all of the traffic; stores into a mapping, which pass no
// system call, are reported to base/test_hooks.h.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lapse/status.h"

namespace lapse {

// "my.db-journal3: cannot allocate 8388608 bytes: No space left on device", as kNoSpace for a full disk or
// an exhausted quota, kNotFound for an absent file, else kIoError.
Status os_error(std::string_view path, std::string_view what, int error_number);

// An open file. Moves, does not copy; closed by the destructor.
class File {
 public:
  enum class Mode { kRead, kReadWrite, kCreate };  // kCreate: read and write; created if absent

  static Result<File> open(const std::string& path, Mode mode);
  // Takes over a descriptor.
  static File adopt(int fd, std::string path) { return {fd, std::move(path)}; }

  File() = default;
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File() { close(); }

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  void close();
  // Forgets the descriptor without closing it: in a forked child, where closing may drop locks; or somebody else's.
  void abandon() { fd_ = -1; }

  Result<uint64_t> size() const;
  // Reads up to `bytes` bytes at `offset`; fewer only at the end of the file.
  Result<std::string> read(uint64_t offset, size_t bytes) const;
  // All of it or an error. `put` (if given) becomes how many bytes the file has taken, also after an error.
  Status write(uint64_t offset, std::string_view bytes, size_t* put = nullptr) const;
  Status truncate(uint64_t bytes) const;
  // Reserves space, so that writing into [offset, offset + bytes) cannot run out of it, and extends the
  // file. `reserved` (if given) is false where the file system cannot promise that.
  Status allocate(uint64_t offset, uint64_t bytes, bool* reserved) const;
  Status write_zeros(uint64_t offset, uint64_t bytes) const;
  // Data, and what of the metadata is needed to read it back.
  Status sync() const;
  // Keeps it from everybody else who asks for the same, in this process too, until it is closed. False: somebody has it.
  Result<bool> try_lock() const;
  // Whether it is the file that its path leads to.
  bool is_at_its_path() const;
  // Asks the kernel to begin writing; promises nothing.
  void start_writeback(uint64_t offset, uint64_t bytes) const;

 private:
  File(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_ = -1;
  std::string path_;
};

// A whole file in memory.
class Mapping {
 public:
  // kRead: what the disk cannot read is an error of map(), and not a signal to who looks at it.
  enum class Access { kRead, kReadWrite };

  static Result<Mapping> map(const File& file, uint64_t bytes, Access access);

  Mapping() = default;
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping() { unmap(); }

  std::string_view bytes() const { return {data_, bytes_}; }
  // REQUIRES: kReadWrite, and the range inside.
  void store(uint64_t offset, std::string_view bytes);
  void unmap();

 private:
  char* data_ = nullptr;
  size_t bytes_ = 0;
  int fd_ = -1;  // only to tell test_hooks which file
};

// True where a file's reserved blocks are the ones that are written to. On copy-on-write file systems
// they are not: there a store into a mapping can run out of space, which is a SIGBUS.
bool writes_in_place(const File& file);
// True where that does not hold of a file that was copied: its blocks may still be those of the other, too.
bool may_share_blocks(const File& file);

// Makes the directory entries of the directory that holds `path` durable.
Status sync_directory_of(const std::string& path);
std::string directory_of(const std::string& path);
// Names, not paths, of what starts with `prefix` in the directory of `path`.
Result<std::vector<std::string>> list_siblings(const std::string& path, std::string_view prefix);
bool may_exist(const std::string& path);      // false only if it is known that it does not
Status remove_file(const std::string& path);  // no error if absent
Status rename_file(const std::string& from, const std::string& to);
// All symbolic links resolved, also where the last part does not exist yet.
Result<std::string> canonical_path(const std::string& path);

}  // namespace lapse
