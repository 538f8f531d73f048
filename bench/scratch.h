// Places and processes to run benchmarks in, none of which outlives its use.

#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace lapse::bench {

// A new folder in `parent`, removed with everything in it.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::filesystem::path& parent);
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Where scratch folders go unless told otherwise: ./build, if there is one, else $TMPDIR, else
// /tmp.
std::filesystem::path default_scratch_parent();

// Runs `body` in a child process and returns its exit code; a signal that ends this process ends
// the child first. So the caller can clean up even after a crash or an interrupt. REQUIRES: no
// other threads.
int run_in_child(const std::function<int()>& body);

// What the files below `folder` occupy on disk, as du counts it.
uint64_t allocated_bytes(const std::filesystem::path& folder);

// Writes out what the file system of `folder` has in memory, so that nobody pays for it later.
void settle_file_system(const std::filesystem::path& folder);

struct MemoryPeak {
  double resident_mb = 0;   // pages of mapped files included: all that was in memory at once
  double anonymous_mb = 0;  // heap and stacks only
};

// The most memory a child process has while it runs `body`. REQUIRES: no other threads.
MemoryPeak memory_peak_of(const std::function<void()>& body);

}  // namespace lapse::bench
