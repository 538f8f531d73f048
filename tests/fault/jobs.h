// Child processes: so that a crash or a hang of what is tested is a result, not the end of the test.

#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lapse::fault {

// A T in memory that parent and children share. Constructed once, never destroyed; T holds no
// pointers to other memory.
template <typename T>
class Shared {
 public:
  template <typename... Args>
  explicit Shared(Args&&... args) {
    void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    object_ = new (memory) T(std::forward<Args>(args)...);
  }
  ~Shared() { munmap(object_, sizeof(T)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }

 private:
  T* object_;
};

// How a child ended, and what it said.
struct ChildResult {
  int signal = 0;  // that killed it; SIGALRM: it hung
  int exit_code = 0;
  std::string text;  // of Report::fail; of Report::note, if it was killed

  bool ok() const { return signal == 0 && exit_code == 0; }
  std::string describe() const;
};

// What a child has to say. Kept in shared memory, so it outlives the child.
class Report {
 public:
  void fail(std::string_view text);
  bool failed() const { return used_ > 0; }
  std::string_view text() const { return {text_, used_}; }
  void clear() { used_ = noted_ = 0; }

  // What is being done right now: shown if the child dies of it.
  void note(std::string_view text);
  std::string_view noted() const { return {note_, noted_}; }

 private:
  size_t used_ = 0;
  size_t noted_ = 0;
  char note_[512];
  char text_[16 << 10];
};

// Runs `body` in a forked child, at most `timeout_s` seconds.
// REQUIRES: this process has no other threads (whose locks the child would inherit).
ChildResult run_in_child(unsigned timeout_s, const std::function<void(Report&)>& body);

struct JobOptions {
  size_t jobs = 0;
  unsigned timeout_s = 30;  // each
  size_t max_failures = 3;  // after which no further job is begun
};

// Runs jobs 0, 1, … in a few child processes, several jobs each. Returns what failed: one text for each job
// that reported a failure, was killed by a signal or hung. A failed job costs the others nothing.
std::vector<std::string> run_jobs(const JobOptions& options,
                                  const std::function<void(size_t job, Report&)>& body);

// The texts as one, to show.
std::string join(const std::vector<std::string>& texts);

}  // namespace lapse::fault
