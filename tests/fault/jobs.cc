#include "jobs.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <system_error>
#include <thread>

#include "fault_env.h"

namespace lapse::fault {
namespace {

constexpr int kReported = 3;  // exit code of a child whose Report says what went wrong

pid_t checked_fork() {
  std::fflush(stdout);
  std::fflush(stderr);
  const pid_t pid = fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  return pid;
}

// Runs in the child; an exception is a failure like any other.
void guarded(Report& report, const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    report.fail(std::string("exception: ") + error.what());
  }
}

ChildResult result_of(int wait_status, const Report& report) {
  ChildResult result;
  if (WIFSIGNALED(wait_status)) result.signal = WTERMSIG(wait_status);
  if (WIFEXITED(wait_status)) result.exit_code = WEXITSTATUS(wait_status);
  result.text = report.text();
  if (result.signal != 0) result.text += report.noted();
  return result;
}

}  // namespace

void Report::fail(std::string_view text) {
  const size_t size = std::min(text.size(), sizeof text_ - used_ - 1);
  std::memcpy(text_ + used_, text.data(), size);
  used_ += size;
  if (used_ < sizeof text_) text_[used_++] = '\n';
}

void Report::note(std::string_view text) {
  noted_ = std::min(text.size(), sizeof note_);
  std::memcpy(note_, text.data(), noted_);
}

std::string ChildResult::describe() const {
  std::string how = "ended well";
  if (signal == SIGALRM) {
    how = "hung";
  } else if (signal != 0) {
    how = std::string("killed by ") + strsignal(signal);
  } else if (exit_code != 0) {
    how = exit_code == kReported ? "failed" : "exit code " + std::to_string(exit_code);
  }
  return how + (text.empty() ? "" : ": " + text);
}

ChildResult run_in_child(unsigned timeout_s, const std::function<void(Report&)>& body) {
  const Shared<Report> report;
  const pid_t pid = checked_fork();
  if (pid == 0) {
    alarm(timeout_s);
    guarded(*report, [&] { body(*report); });
    std::fflush(stdout);
    _exit(report->failed() ? kReported : 0);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return result_of(status, *report);
}

namespace {

struct Worker {
  std::atomic<size_t> job{0};
  Report report;
};

struct Queue {
  std::atomic<size_t> next{0};
  std::atomic<size_t> failures{0};
};

void work(const JobOptions& options, Queue& queue, Worker& me,
          const std::function<void(size_t, Report&)>& body) {
  while (queue.failures < options.max_failures) {
    const size_t job = queue.next.fetch_add(1);
    if (job >= options.jobs) _exit(0);
    me.job = job;
    alarm(options.timeout_s);
    guarded(me.report, [&] { body(job, me.report); });
    std::fflush(stdout);
    if (me.report.failed()) _exit(kReported);
  }
  _exit(0);
}

size_t worker_count(size_t jobs) {
  const uint64_t cores = std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
  const uint64_t wanted = count_from_env("LAPSE_FAULT_WORKERS", cores, cores);
  return std::min<size_t>(std::max<uint64_t>(wanted, 1), jobs);
}

}  // namespace

std::vector<std::string> run_jobs(const JobOptions& options,
                                  const std::function<void(size_t, Report&)>& body) {
  const ScratchRoot scratch;
  const Shared<Queue> queue;
  std::vector<std::unique_ptr<Shared<Worker>>> workers;
  std::map<pid_t, Worker*> running;
  const auto start = [&](Worker& worker) {
    worker.report.clear();
    const pid_t pid = checked_fork();
    if (pid == 0) work(options, *queue, worker, body);
    running[pid] = &worker;
  };
  for (size_t i = 0; i < worker_count(options.jobs); ++i) {
    workers.push_back(std::make_unique<Shared<Worker>>());
    start(**workers.back());
  }

  std::vector<std::string> failures;
  while (!running.empty()) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    const auto ended = running.find(pid);
    if (ended == running.end()) continue;
    Worker& worker = *ended->second;
    running.erase(ended);
    const ChildResult result = result_of(status, worker.report);
    if (result.ok()) continue;
    failures.push_back("job " + std::to_string(worker.job) + " " + result.describe());
    if (++queue->failures < options.max_failures) start(worker);
  }
  return failures;
}

std::string join(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text + "\n";
  return all;
}

}  // namespace lapse::fault
