// What the engine tests share: the table of configurations that each of them runs over, a fixture
// with an engine in it, and ways to say briefly what an engine holds.

#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/try.h"
#include "engine/engine.h"
#include "engine/local/local_engine.h"
#include "lapse/status.h"

namespace lapse::engine {

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

#define EXPECT_OK(expression) EXPECT_TRUE(::lapse::engine::is_ok(::lapse::internal::to_status((expression))))
#define EXPECT_CODE(code, expression) \
  EXPECT_TRUE(                        \
      ::lapse::engine::has_code(::lapse::StatusCode::code, ::lapse::internal::to_status((expression))))

// For steps that a test takes for granted: the value, or an exception that fails the test.
inline void must(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.to_string());
}
template <typename T>
T must(Result<T> result) {
  must(result.status());
  return std::move(result).value();
}

// ------------------------------------------------------------------------------------ contents

using Map = std::map<std::string, std::string>;

// "ab\x00c…(1024 bytes)": fit for a message whatever the bytes are.
std::string abbreviate(std::string_view bytes);

// Whether the reader holds exactly `expected`: by get, walking forward and walking back.
testing::AssertionResult holds(const Reader& reader, const Map& expected);
testing::AssertionResult holds(Engine& engine, const Map& expected);

// All keys in order, as "a,b,c"; an error, if the walk meets one.
std::string keys(const Reader& reader);
std::string keys(Engine& engine);

// A copy of the value.
std::optional<std::string> get(const Reader& reader, std::string_view key);
std::optional<std::string> get(Engine& engine, std::string_view key);

// A transaction of its own. Returns its number.
uint64_t put(Engine& engine, std::string_view key, std::string_view value);
uint64_t erase(Engine& engine, std::string_view key);
// One transaction for all of them.
uint64_t put_all(Engine& engine, const Map& entries);

// Where a cursor stands: "key=value", "end", or the error of the move that brought it there.
std::string after(const Status& move, const Cursor& cursor);

// "key00042": in number order.
std::string numbered(int number);

// -------------------------------------------------------------------------------- configurations

struct EngineConfig {
  // What happens between the steps of a test, unseen by it.
  enum class Between {
    kNothing,
    kRestart,     // the store is closed and opened again whenever nothing of it is in use
    kCheckpoint,  // everything goes to the tree after each commit
  };

  std::string name;
  bool memory = false;
  Between between = Between::kNothing;
  LocalOptions options;  // as far as the memory engine has them
};

// The same table for every suite: engines, durabilities, journals; and limits so small that what is
// rare elsewhere (drains, rotation of journals) happens all the time.
std::vector<EngineConfig> engine_configs();
inline void PrintTo(const EngineConfig& config, std::ostream* out) { *out << config.name; }
inline std::string config_name(const testing::TestParamInfo<EngineConfig>& info) { return info.param.name; }

// `path` is of no interest to the memory engine.
Result<std::unique_ptr<Engine>> open_engine(const EngineConfig& config, const std::string& path);

// Tiny limits, so that a drain is always under way: 2 KB of buffer, 4 KB journals, slices of 7 rows.
// The tree's map is as small as may be, and soon has to grow under whoever reads.
LocalOptions small_options();

class EngineTest : public testing::TestWithParam<EngineConfig> {
 protected:
  EngineTest() : config_(GetParam()) { open(); }

  void open() { engine_ = must(open_engine(config_, dir_.file("test.db"))); }
  void reopen();
  bool persistent() const { return !config_.memory; }

  TempDir dir_;
  EngineConfig config_;
  std::unique_ptr<Engine> engine_;
};

#define INSTANTIATE_ENGINE_TESTS(suite)                                                        \
  INSTANTIATE_TEST_SUITE_P(Every, suite, testing::ValuesIn(::lapse::engine::engine_configs()), \
                           ::lapse::engine::config_name)

}  // namespace lapse::engine
