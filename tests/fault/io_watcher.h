// The state behind the hooks: shared by the calls (io_calls.cc) and the watch (io_hooks.cc).

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "io_hooks.h"

namespace lapse::fault {

struct OpenFile {
  int file = kDirectory;
  std::string name{};
  bool dsync = false;
  bool append = false;
};

// What injection decided about a call.
struct Verdict {
  bool fails = false;
  int error = 0;
  FaultEffect effect = FaultEffect::kNothingDone;

  bool fails_at_once() const { return fails && effect == FaultEffect::kNothingDone; }
  bool is_denied() const { return fails && effect == FaultEffect::kDoneAndFails; }
  bool shortens() const { return fails && effect == FaultEffect::kShortWrite; }
  bool loses_sync() const { return fails && effect == FaultEffect::kSyncLost; }
};

// Everything but the atomics is guarded by `mutex`, which is also held while a change is made, so
// that the record's order is the order of the changes.
struct Watcher {
  std::atomic<bool> active{false};
  std::atomic<std::atomic<uint64_t>*> call_counter{nullptr};
  std::mutex mutex;
  IoRecord record;
  int file_count = 0;
  std::map<std::string, int> names;  // in the directory now → file
  std::map<int, uint64_t> sizes;     // of files
  std::map<int, OpenFile> open_files;
  std::optional<Fault> fault;
  uint64_t matched = 0;
  uint64_t failed = 0;

  // Returns the event's place in the record.
  size_t push(IoEvent event);
  Verdict judge(uint32_t call, const std::string& name);
  const OpenFile* find(int fd) const;
  // The name in the watched directory that `path` stands for; "" for the directory itself.
  std::optional<std::string> watched_name(int at, const char* path) const;
  void resize(int file, uint64_t size);
};

Watcher& watcher();

inline bool watching() { return watcher().active.load(std::memory_order_relaxed); }

}  // namespace lapse::fault
