// A disk that is really full: a small tmpfs in a mount namespace of its own.

#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "jobs.h"

namespace lapse::fault {

class SmallDisk {
 public:
  explicit SmallDisk(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  uint64_t free_bytes() const;
  // Takes all space but `left` bytes.
  void fill(uint64_t left = 0) const;
  // Gives it back.
  void make_room() const;

 private:
  std::string path_;
};

// Runs `body` in a child that has such a disk of `bytes` bytes, at most `timeout_s` seconds.
ChildResult run_on_small_disk(uint64_t bytes, unsigned timeout_s,
                              const std::function<void(const SmallDisk&, Report&)>& body);

// Whether this process may make one; if not, tests skip.
bool small_disks_are_allowed();

}  // namespace lapse::fault
