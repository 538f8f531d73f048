// OwnerLock: which process has a store open. A POSIX lock on <path>-owner: one writer, or any number of readers.
// It goes with the process, however that ends; a forked child does not have it; and the kernel says who does.
//
// The lock is lost when any descriptor of the file is closed in this process: the registry in local_engine.cc
// sees to it that there is only one.

#pragma once

#include <string>

#include "base/file.h"
#include "lapse/status.h"

namespace lapse::engine {

class OwnerLock {
 public:
  enum class Kind { kReader, kWriter };

  // kBusy, with the holder's pid, if another process has it. A reader that finds no lock file, in a directory where it may
  // not make one, does without: who may, and writes, does not know of it.
  static Result<OwnerLock> acquire(const std::string& path, Kind kind);

 private:
  File file_;
};

}  // namespace lapse::engine
