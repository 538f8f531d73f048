#include "bindings/c/call.h"

#include <cstring>
#include <limits>
#include <string>

namespace lapse::c {

int report(Handle* handle, int code, std::string_view message) noexcept {
  if (handle == nullptr) {
    Failures::note_without_handle(message);
    return code;
  }
  handle->failures().note(message);
  if (code != KVSTORE_NOTFOUND) ++handle->counters().errors;
  return code;
}

int report_fork(const Handle& handle) noexcept {
  handle.failures().note_in_thread("this handle was inherited over fork(); open the store anew");
  return KVSTORE_ERROR;
}

Outcome check_given(const void* pointer, const char* what) {
  return pointer != nullptr ? Outcome() : Outcome::error(std::string(what) + " is NULL");
}

Outcome take_bytes(const void* data, int length, const char* what, std::string_view* bytes) {
  KVSTORE_TRY(check_given(data, what));
  if (length < 0)
    return Outcome::error(std::string(what) + ": a length of " + std::to_string(length) + " is negative");
  *bytes = {static_cast<const char*>(data), static_cast<size_t>(length)};
  return {};
}

Outcome take_lifetime(int64_t expire_ms, Lifetime* lifetime) {
  if (expire_ms < 0)
    return Outcome::error("expire_ms is " + std::to_string(expire_ms) +
                          ": it is a time in milliseconds since 1970, or 0 for none");
  *lifetime = expire_ms == 0 ? Lifetime() : Lifetime::until(expire_ms);
  return {};
}

Outcome hand_out(std::string_view bytes, void** copy, int* length) {
  char* const memory = static_cast<char*>(snkv_malloc(bytes.size() + 1));
  if (memory == nullptr) throw std::bad_alloc();
  if (!bytes.empty()) std::memcpy(memory, bytes.data(), bytes.size());
  memory[bytes.size()] = '\0';
  *copy = memory;
  *length = static_cast<int>(bytes.size());  // values end below 1 GiB
  return {};
}

int to_int(uint64_t number) {
  constexpr int kMost = std::numeric_limits<int>::max();
  return number > static_cast<uint64_t>(kMost) ? kMost : static_cast<int>(number);
}

int64_t to_remaining_ms(std::chrono::milliseconds left) {
  return left == kForever ? KVSTORE_NO_TTL : left.count();
}

}  // namespace lapse::c
