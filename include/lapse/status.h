// Status and Result: how every Lapse call reports what happened.
//
//   Result<std::optional<std::string>> value = store.get("session:42");
//   if (!value.ok()) return value.status();   // something went wrong, and message() says what
//   if (!*value) return login_page();         // absence is an answer, not an error
//
// The codes are few, and each is named by what the caller can do about it. A Status that is ok costs
// one null pointer; a Status that is not carries a code and a sentence fit to be shown to a person.

#pragma once

#include <cassert>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace lapse {

enum class StatusCode {
  kOk = 0,
  kNotFound,         // what was named does not exist: create it, or name another
  kInvalidArgument,  // the call itself is wrong: change it
  kBusy,             // someone else holds it: wait and try again
  kConflict,         // another transaction came first: run this one again
  kTooLarge,         // over a documented limit: split it
  kNoSpace,          // the disk, a quota or a file is full: make room and try again; nothing was changed
  kIoError,          // the operating system refused: the message says what it said
  kCorrupt,          // bytes on disk are not what was written: restore, or open with salvage
  kReadOnly,         // opened without the right to write: open for writing
  kUnknown,          // a commit may or may not survive a power cut: reopen and look
  kUnavailable,      // this handle no longer works (closed, or inherited over fork): open again
  kUnsupported,      // written by a newer Lapse: upgrade
};

// "NoSpace", "Corrupt", …: the code's name, for logs and messages.
std::string_view status_code_name(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  // REQUIRES: code != kOk
  Status(StatusCode code, std::string message);

  Status(const Status& other) : error_(other.error_ ? new Error(*other.error_) : nullptr) {}
  Status& operator=(const Status& other) {
    if (this != &other) error_.reset(other.error_ ? new Error(*other.error_) : nullptr);
    return *this;
  }
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  bool ok() const { return error_ == nullptr; }
  StatusCode code() const { return error_ ? error_->code : StatusCode::kOk; }
  // Empty when ok.
  std::string_view message() const { return error_ ? std::string_view(error_->message) : ""; }
  // "ok", or "NoSpace: my.db-journal3: no space left on device".
  std::string to_string() const;

 private:
  struct Error {
    StatusCode code;
    std::string message;
  };
  std::unique_ptr<Error> error_;
};

// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    assert(!status_.ok() && "a Result without a value needs an error");
  }

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }

  // REQUIRES: ok()
  T& value() & { return *checked(); }
  const T& value() const& { return *const_cast<Result*>(this)->checked(); }
  T&& value() && { return std::move(*checked()); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::optional<T>& checked() {
    assert(ok() && "value() of a Result that holds an error");
    return value_;
  }

  Status status_;
  std::optional<T> value_;
};

}  // namespace lapse
