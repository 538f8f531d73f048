// What the tests of every layer share: a folder and random numbers that can be had again, forked children, and ways
// to say briefly that a call must succeed, or how it must fail.

#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/try.h"
#include "lapse/status.h"

namespace lapse {

// A fresh directory under $TMPDIR or /tmp, removed with all that is in it.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

// Random, but repeatable: the seed is printed, and taken from LAPSE_SEED if that is set.
class Random {
 public:
  Random();
  uint64_t seed() const { return seed_; }
  uint64_t next() { return generator_(); }
  uint64_t below(uint64_t limit) { return generator_() % limit; }
  bool one_in(uint64_t n) { return below(n) == 0; }
  std::string bytes(size_t size);

 private:
  uint64_t seed_;
  std::mt19937_64 generator_;
};

// What a process and its forked child say to each other: one line at a time.
class Channel {
 public:
  void send(std::string_view text) const;
  std::string receive() const;  // "gone" if nobody is there any more

 private:
  friend class Child;
  int in_ = -1;
  int out_ = -1;
};

// A forked process that runs `work` and ends, running no destructors. Killed, if need be, when this
// goes. An exception out of `work` is sent as a line.
class Child {
 public:
  explicit Child(const std::function<void(const Channel&)>& work);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  const Channel* operator->() const { return &channel_; }
  void kill();
  std::string wait();  // "exit 0", "signal 11"

 private:
  pid_t pid_;
  Channel channel_;
};

// Runs it in a child that was forked for it, and dies without closing anything. Returns its answer,
// or how it died.
std::string in_child(const std::function<std::string()>& work);

// ------------------------------------------------------------------------------------ statuses

testing::AssertionResult is_ok(const Status& status);
testing::AssertionResult has_code(StatusCode code, const Status& status);

#define EXPECT_OK(expression) EXPECT_TRUE(::lapse::is_ok(::lapse::internal::to_status((expression))))
#define EXPECT_CODE(code, expression) \
  EXPECT_TRUE(::lapse::has_code(::lapse::StatusCode::code, ::lapse::internal::to_status((expression))))

// For steps that a test takes for granted: the value, or an exception that fails the test.
inline void must(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.to_string());
}
template <typename T>
T must(Result<T> result) {
  must(result.status());
  return std::move(result).value();
}

// ------------------------------------------------------------------------------------ names

// "ab\x00c…(1024 bytes)": fit for a message whatever the bytes are.
std::string abbreviate(std::string_view bytes);

// "key00042": in number order.
std::string numbered(int number);

}  // namespace lapse
