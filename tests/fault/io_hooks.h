// Records every change to the files of one directory, and makes system calls fail on request.
//
// The binary that links this defines open(), pwrite(), fdatasync(), rename() and their like; they
// pass through to the C library (or to the sanitizer's), found by dlsym(RTLD_NEXT). A dynamically
// linked liblmdb calls ours too, so what the journal does and what LMDB does is recorded in one
// order. Stores into a mapped journal pass no system call; the engine reports them through
// base/test_hooks.h.
//
// What order means: a write is recorded in one step with being made, so a sync that begins later in
// the record covers it. A sync is two events, its begin and its end, with the threads free in
// between. A mapped store must be reported *after* it was made and before anybody is told of it.
// Then no sync can begin in the record behind a store that was not yet in memory, which would claim
// too much. (A sync that really covered a store reported right after its begin is recorded as not
// covering it: that errs to the safe side, and the engine cannot have relied on it, as it had not
// returned from the append.)
//
// check_replay() says whether the record explains the files, byte for byte: a change that bypassed
// the hooks fails the test instead of weakening it.

#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "io_record.h"

namespace lapse::fault {

// Kinds of calls, as bits, to choose which may fail.
enum IoCall : uint32_t {
  kOpenCall = 1,
  kWriteCall = 2,   // write, pwrite, writev, …; not mapped stores, which cannot fail
  kResizeCall = 4,  // ftruncate, fallocate, posix_fallocate
  kSyncCall = 8,    // fsync, fdatasync
  kRenameCall = 16,
  kUnlinkCall = 32,
  kSyncedWriteCall = 64,  // a write to a descriptor with O_DSYNC; it is a kWriteCall, too
  kListCall = 128,        // each entry that is read of the directory
  kAnyCall = 255,
};

enum class FaultEffect : uint8_t {
  kNothingDone,   // the call fails and changed nothing
  kDoneAndFails,  // a write is done, and fails all the same
  kShortWrite,    // a write writes half of its bytes (at least one) and says so; others are untouched
  kSyncLost,      // a sync fails, or an O_DSYNC write is in the page cache but fails; what was to be
                  // synced may never reach the disk, and a later sync that succeeds says nothing of it
};

struct Fault {
  uint32_t calls = kAnyCall;
  std::string name_part{};  // of the file's name; empty: any file
  uint64_t nth = 1;         // the first call to fail, counted from 1 among those that match
  uint64_t count = 1;       // how many fail
  int error = 0;            // errno
  FaultEffect effect = FaultEffect::kNothingDone;
};

// While one lives, the files of `directory` are watched. At most one in a process.
class IoWatch {
 public:
  explicit IoWatch(const std::string& directory);
  ~IoWatch();
  IoWatch(const IoWatch&) = delete;
  IoWatch& operator=(const IoWatch&) = delete;

  // Replaces the fault before it, and counts from here.
  void inject(const Fault& fault);
  void inject_nothing();
  // How many calls matched the fault, failed ones included.
  uint64_t matched() const;
  // How many of them were made to fail.
  uint64_t failed() const;

  // Ends the recording; the watch is of no further use.
  IoRecord take();
};

// Puts a mark into the record of the current watch, if there is one.
void io_mark(Mark mark, uint64_t value, bool full = false);

// Counts calls to watched files, of all threads, for somebody who waits for progress elsewhere.
void count_calls_in(std::atomic<uint64_t>* counter);

}  // namespace lapse::fault
