// What every function of kvstore.h is made of: checked arguments in, an Outcome or an exception turned into a code,
// memory handed out.

#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <string_view>

#include "bindings/c/handle.h"
#include "bindings/c/outcome.h"

namespace lapse::c {

// ------------------------------------------------------------------------------------------- arguments

// Outputs of a call that fails are 0 and NULL, so all begin so.
template <typename... Outputs>
void clear_outputs(Outputs*... outputs) noexcept {
  ((outputs != nullptr ? void(*outputs = Outputs{}) : void()), ...);
}

template <typename T>
void set_if_given(T* output, T value) noexcept {
  if (output != nullptr) *output = value;
}

Outcome check_given(const void* pointer, const char* what);
// What `data` and `length` stand for.
Outcome take_bytes(const void* data, int length, const char* what, std::string_view* bytes);
Outcome take_lifetime(int64_t expire_ms, Lifetime* lifetime);

// ----------------------------------------------------------------------------------------------- calls

// Notes a failure for kvstore_errmsg(); returns the code. Without a handle: `handle` is null.
int report(Handle* handle, int code, std::string_view message) noexcept;

// In a forked child.
int report_fork(const Handle& handle) noexcept;

template <typename Work>
int run(Handle* handle, Work work) noexcept {
  if (handle != nullptr && handle->forked()) return report_fork(*handle);
  try {
    const Outcome outcome = work();
    return outcome.ok() ? KVSTORE_OK : report(handle, outcome.code(), outcome.message());
  } catch (const std::bad_alloc&) {
    return report(handle, KVSTORE_NOMEM, "out of memory");
  } catch (const std::exception& exception) {
    return report(handle, KVSTORE_ERROR, exception.what());
  } catch (...) {
    return report(handle, KVSTORE_ERROR, "an exception that is none of ours");
  }
}

// Runs Outcome(Handle&, Family&).
template <typename Work>
int on_family(KVColumnFamily* cf, Work work) noexcept {
  if (cf == nullptr) return report(nullptr, KVSTORE_ERROR, "the handle is NULL");
  Handle& handle = *cf->handle;
  return run(&handle, [&]() -> Outcome { return work(handle, cf->family); });
}

// Runs Outcome(Handle&, Family&, std::string_view name): `name` is what the key's bytes are.
template <typename Work>
int on_key(KVColumnFamily* cf, const void* key, int key_len, Work work) noexcept {
  return on_family(cf, [&](Handle& handle, Family& family) -> Outcome {
    std::string_view name;
    KVSTORE_TRY(take_bytes(key, key_len, "key", &name));
    return work(handle, family, name);
  });
}

// Runs Outcome(Handle&).
template <typename Work>
int on_store(KVStore* kv, Work work) noexcept {
  if (kv == nullptr) return report(nullptr, KVSTORE_ERROR, "the handle is NULL");
  Handle& handle = *kv->default_family.handle;
  return run(&handle, [&]() -> Outcome { return work(handle); });
}

// What a caller closes. In a forked child it is left where it is: to destroy it would take locks that nobody there gives
// back.
template <typename T>
void destroy(T* object, const Handle& handle) noexcept {
  if (!handle.forked()) delete object;
}

inline KVColumnFamily* default_of(KVStore* kv) { return kv == nullptr ? nullptr : &kv->default_family; }

// --------------------------------------------------------------------------------------------- results

// A copy for the caller to free, with a zero byte behind it.
Outcome hand_out(std::string_view bytes, void** copy, int* length);
int to_int(uint64_t number);  // INT_MAX if it is more
int64_t to_remaining_ms(std::chrono::milliseconds left);

}  // namespace lapse::c
