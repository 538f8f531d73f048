#include "bench/scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <stop_token>
#include <system_error>
#include <thread>

namespace lapse::bench {
namespace {

namespace fs = std::filesystem;

template <typename T>
T must(T result, const char* what) {
  if (result == static_cast<T>(-1)) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

// The child goes when its parent does, whatever ends the parent.
pid_t fork_bound_to_parent() {
  std::fflush(nullptr);
  const pid_t child = must(fork(), "fork");
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  return child;
}

int exit_code_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

sigset_t signals_to_supervise() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&signals, signal);
  return signals;
}

int wait_or_kill(pid_t child, const sigset_t& signals) {
  for (;;) {
    int signal = 0;
    sigwait(&signals, &signal);
    if (signal != SIGCHLD) kill(child, SIGKILL);
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return exit_code_of(status);
  }
}

// A line such as "VmHWM:     1234 kB" of /proc/self/status.
double own_status_mb(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return std::stod(line.substr(field.size() + 1)) / 1024;
  }
  throw std::runtime_error("/proc/self/status has no " + field);
}

// The kernel keeps the peak of resident memory, but not of its anonymous part: that is sampled.
MemoryPeak own_memory_peak_of(const std::function<void()>& body) {
  MemoryPeak peak;
  std::jthread sampler([&peak](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      peak.anonymous_mb = std::max(peak.anonymous_mb, own_status_mb("RssAnon"));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  body();
  sampler.request_stop();
  sampler.join();
  peak.resident_mb = own_status_mb("VmHWM");
  return peak;
}

int report_memory_peak(const std::function<void()>& body, int to) {
  try {
    const MemoryPeak peak = own_memory_peak_of(body);
    return write(to, &peak, sizeof peak) == sizeof peak ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace

ScratchFolder::ScratchFolder(const fs::path& parent) {
  std::string name = (fs::absolute(parent) / "lapse-bench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot make a folder in " + parent.string());
  }
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path default_scratch_parent() {
  if (fs::is_directory("build")) return "build";
  const char* tmpdir = getenv("TMPDIR");
  return tmpdir != nullptr ? tmpdir : "/tmp";
}

int run_in_child(const std::function<int()>& body) {
  const sigset_t signals = signals_to_supervise();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  const pid_t child = fork_bound_to_parent();
  if (child == 0) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    const int code = body();
    std::fflush(nullptr);
    _exit(code);
  }
  const int code = wait_or_kill(child, signals);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return code;
}

uint64_t allocated_bytes(const fs::path& folder) {
  uint64_t blocks = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    struct stat found;
    must(lstat(entry.path().c_str(), &found), entry.path().c_str());
    blocks += static_cast<uint64_t>(found.st_blocks);
  }
  return blocks * 512;
}

void settle_file_system(const fs::path& folder) {
  const int fd = must(open(folder.c_str(), O_RDONLY | O_DIRECTORY), folder.c_str());
  syncfs(fd);
  close(fd);
}

MemoryPeak memory_peak_of(const std::function<void()>& body) {
  int ends[2];
  must(pipe(ends), "pipe");
  const pid_t child = fork_bound_to_parent();
  if (child == 0) _exit(report_memory_peak(body, ends[1]));
  close(ends[1]);
  MemoryPeak peak;
  const ssize_t got = read(ends[0], &peak, sizeof peak);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (got != sizeof peak || exit_code_of(status) != 0) {
    throw std::runtime_error("the child that measures memory failed");
  }
  return peak;
}

}  // namespace lapse::bench
