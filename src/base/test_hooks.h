// Where tests look in and pull the plug. All of it is idle unless a test sets it: one load and a
// branch not taken, at places that are rare or that cost far more anyway.
//
// - A crash point is a named moment in a multi-step change of files (rotation, drain, recovery). A
//   test kills the process there and reopens.
// - Stores into a mapped file pass no system call, so their order among the system calls, which tests
//   record by defining pwrite() and its like, is reported here.

#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace lapse::test_hooks {

using CrashPoint = void (*)(std::string_view name);
using MappedStore = void (*)(int fd, uint64_t offset, std::string_view bytes);

inline std::atomic<CrashPoint> on_crash_point{nullptr};
inline std::atomic<MappedStore> on_mapped_store{nullptr};

inline void crash_point(std::string_view name) {
  if (CrashPoint hook = on_crash_point.load(std::memory_order_relaxed)) hook(name);
}

inline void mapped_store(int fd, uint64_t offset, std::string_view bytes) {
  if (MappedStore hook = on_mapped_store.load(std::memory_order_relaxed)) hook(fd, offset, bytes);
}

}  // namespace lapse::test_hooks
