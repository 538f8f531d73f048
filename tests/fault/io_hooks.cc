#include "io_hooks.h"

#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/test_hooks.h"
#include "io_watcher.h"

namespace lapse::fault {

Watcher& watcher() {
  static auto* const instance = new Watcher;  // never destroyed: hooks are called until the very end
  return *instance;
}

size_t Watcher::push(IoEvent event) {
  static std::atomic<uint32_t> threads{0};
  thread_local const uint32_t thread = threads.fetch_add(1);
  event.thread = thread;
  record.events.push_back(std::move(event));
  return record.events.size() - 1;
}

Verdict Watcher::judge(uint32_t call, const std::string& name) {
  if (auto* counter = call_counter.load()) counter->fetch_add(1);
  if (!fault || (fault->calls & call) == 0) return {};
  if (name.find(fault->name_part) == std::string::npos) return {};
  ++matched;
  if (matched < fault->nth || matched - fault->nth >= fault->count) return {};
  ++failed;
  return {true, fault->error, fault->effect};
}

const OpenFile* Watcher::find(int fd) const {
  const auto found = open_files.find(fd);
  return found == open_files.end() ? nullptr : &found->second;
}

std::optional<std::string> Watcher::watched_name(int at, const char* path) const {
  namespace fs = std::filesystem;
  fs::path full(path);
  if (full.is_relative() && at != AT_FDCWD) {
    const OpenFile* base = find(at);
    if (base == nullptr || base->file != kDirectory) return std::nullopt;
    full = record.directory / full;
  }
  std::string absolute = fs::absolute(full).lexically_normal();
  if (absolute.size() > 1 && absolute.back() == '/') absolute.pop_back();
  if (absolute == record.directory) return "";
  const std::string prefix = record.directory + "/";
  if (!absolute.starts_with(prefix)) return std::nullopt;
  std::string name = absolute.substr(prefix.size());
  if (name.find('/') != std::string::npos) return std::nullopt;
  return name;
}

void Watcher::resize(int file, uint64_t size) {
  sizes[file] = size;
  push({.kind = IoEventKind::kResize, .file = file, .offset = size});
}

namespace {

void record_mapped_store(int fd, uint64_t offset, std::string_view bytes) {
  if (!watching()) return;
  Watcher& w = watcher();
  const std::lock_guard lock(w.mutex);
  const OpenFile* target = w.find(fd);
  if (target == nullptr) return;
  w.push({.kind = IoEventKind::kMappedStore,
          .file = target->file,
          .offset = offset,
          .bytes = std::string(bytes)});
}

}  // namespace

IoWatch::IoWatch(const std::string& directory) {
  Watcher& w = watcher();
  const std::lock_guard lock(w.mutex);
  if (w.active.load()) {
    std::fprintf(stderr, "a second IoWatch\n");
    std::abort();
  }
  w.record = {.directory = directory, .initial = read_directory(directory), .events = {}};
  w.file_count = 0;
  w.names.clear();
  w.sizes.clear();
  w.open_files.clear();
  w.fault.reset();
  w.matched = w.failed = 0;
  for (const auto& [name, contents] : w.record.initial) {
    w.sizes[w.file_count] = contents.size();
    w.names[name] = w.file_count++;
  }
  test_hooks::on_mapped_store = record_mapped_store;
  w.active = true;
}

IoWatch::~IoWatch() {
  test_hooks::on_mapped_store = nullptr;
  watcher().active = false;
}

void IoWatch::inject(const Fault& fault) {
  Watcher& w = watcher();
  const std::lock_guard lock(w.mutex);
  w.fault = fault;
  w.matched = w.failed = 0;
}

void IoWatch::inject_nothing() {
  const std::lock_guard lock(watcher().mutex);
  watcher().fault.reset();
}

uint64_t IoWatch::matched() const {
  const std::lock_guard lock(watcher().mutex);
  return watcher().matched;
}

uint64_t IoWatch::failed() const {
  const std::lock_guard lock(watcher().mutex);
  return watcher().failed;
}

IoRecord IoWatch::take() {
  watcher().active = false;
  const std::lock_guard lock(watcher().mutex);
  return std::move(watcher().record);
}

void io_mark(Mark mark, uint64_t value, bool full) {
  if (!watching()) return;
  const std::lock_guard lock(watcher().mutex);
  watcher().push({.kind = IoEventKind::kMark, .mark = mark, .full = full, .value = value});
}

void count_calls_in(std::atomic<uint64_t>* counter) { watcher().call_counter = counter; }

}  // namespace lapse::fault
