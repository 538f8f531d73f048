#include "bindings/c/failures.h"

namespace lapse::c {

namespace {

constexpr const char* kNoError = "no error";
constexpr const char* kNoMemory = "out of memory";

// The message is empty if there was no memory for it.
struct ThreadFailure {
  bool any = false;
  uint64_t handle_id = 0;
  std::string message;
};

thread_local ThreadFailure own_failure;    // the latest of this thread
thread_local ThreadFailure orphan;         // the latest of this thread without a handle
thread_local std::string shown_to_thread;  // what kvstore_errmsg() returned of another thread's

void assign(std::string* to, std::string_view message) noexcept {
  try {
    to->assign(message);
  } catch (...) {
    to->clear();
  }
}

void remember(ThreadFailure* failure, uint64_t handle_id, std::string_view message) noexcept {
  failure->any = true;
  failure->handle_id = handle_id;
  assign(&failure->message, message);
}

const char* text(const std::string& message) { return message.empty() ? kNoMemory : message.c_str(); }

}  // namespace

void Failures::note(std::string_view message) noexcept {
  note_in_thread(message);
  const std::lock_guard lock(mutex_);
  assign(&message_, message.empty() ? kNoMemory : message);
}

void Failures::note_in_thread(std::string_view message) const noexcept {
  remember(&own_failure, id_, message);
}

void Failures::note_without_handle(std::string_view message) noexcept { remember(&orphan, 0, message); }

const char* Failures::latest_in_thread() const noexcept {
  return own_failure.any && own_failure.handle_id == id_ ? text(own_failure.message) : kNoError;
}

const char* Failures::latest() noexcept {
  if (own_failure.any && own_failure.handle_id == id_) return latest_in_thread();
  const std::lock_guard lock(mutex_);
  if (message_.empty()) return kNoError;
  assign(&shown_to_thread, message_);
  return text(shown_to_thread);
}

const char* Failures::latest_without_handle() noexcept {
  return orphan.any ? text(orphan.message) : kNoError;
}

}  // namespace lapse::c
