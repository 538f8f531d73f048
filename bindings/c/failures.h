// Failures: what kvstore_errmsg() has to say. Each thread remembers the latest call of its own that failed, and on
// which handle, so that threads that share a handle do not read each other's errors; each handle remembers the
// latest of all.

#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace lapse::c {

class Failures {
 public:
  Failures() = default;
  Failures(const Failures&) = delete;
  Failures& operator=(const Failures&) = delete;

  // Of a handle; without one, of this thread only.
  void note(std::string_view message) noexcept;
  // The same, for nobody but this thread.
  void note_in_thread(std::string_view message) const noexcept;
  static void note_without_handle(std::string_view message) noexcept;

  // Good until this thread's next call of one of these functions.
  const char* latest() noexcept;
  const char* latest_in_thread() const noexcept;
  static const char* latest_without_handle() noexcept;

 private:
  static inline std::atomic<uint64_t> next_id{1};

  const uint64_t id_ = next_id.fetch_add(1);  // never used again, as an address would be; 0: no handle
  std::mutex mutex_;                          // guards message_
  std::string message_;
};

}  // namespace lapse::c
