// What was done to the files of one directory, in one order over all threads.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "file_image.h"

namespace lapse::fault {

enum class IoEventKind : uint8_t {
  kCreate,       // `name` appeared in the directory and stands for `file`
  kRename,       // `name` became `new_name`, replacing what that stood for
  kUnlink,       // `name` went
  kResize,       // `file` is now `offset` bytes long
  kWrite,        // `bytes` at `offset`, by a system call that returned
  kMappedStore,  // `bytes` at `offset`, stored into a mapping
  kSyncBegin,    // a sync of `file` was asked for
  kSynced,       // it returned: all that was recorded for `file` before event `begin` is on disk
  kSyncFailed,   // it failed: what was recorded before `begin` may never reach the disk
  kWriteSynced,  // the write at event `begin` was to a descriptor with O_DSYNC: it is on disk
  kWriteFailed,  // the write at event `begin` is in the page cache, but its sync failed
  kMark,         // the test says `mark`
};

const char* io_event_name(IoEventKind kind);

// What tests put between the system calls.
enum class Mark : uint8_t {
  kNone,
  kCommitBegin,   // commit `value` may reach the disk from here on
  kRefused,       // commit `value` has failed, and shall have left no trace
  kAcknowledged,  // commit `value` was reported as done
  kDurable,       // all commits up to `value` were reported to survive a power cut
  kOpened,        // the store was opened, and showed commit `value` as its last
  kClosed,        // and closed
};

inline constexpr int kDirectory = -1;  // as `file`: the directory itself

struct IoEvent {
  IoEventKind kind;
  Mark mark = Mark::kNone;
  bool full = false;    // kAcknowledged: it was promised to survive a power cut
  uint32_t thread = 0;  // a small number that stands for the thread
  int file = 0;         // numbered in order of appearance
  uint64_t offset = 0;
  uint64_t value = 0;
  size_t begin = 0;
  std::string bytes{};
  std::string name{};
  std::string new_name{};
};

struct IoRecord {
  std::string directory;
  FileImage initial;  // files 0, 1, … in order of their names; taken to be on disk
  std::vector<IoEvent> events;
};

// What was done by a process that was killed at `cut`, and by its successor. The successor found the files as
// they were in memory, but what was not synced is still not.
// REQUIRES: second.initial is the first's page cache at `cut`.
IoRecord continue_record(const IoRecord& first, size_t cut, const IoRecord& second);

}  // namespace lapse::fault
