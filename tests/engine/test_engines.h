// What the engine tests share: the table of configurations that each of them runs over, a fixture
// with an engine in it, and ways to say briefly what an engine holds.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/local/local_engine.h"
#include "lapse/status.h"
#include "support/support.h"

namespace lapse::engine {

// ------------------------------------------------------------------------------------ contents

using Map = std::map<std::string, std::string>;

// Whether the reader holds exactly `expected`: by get, walking forward and walking back.
testing::AssertionResult holds(const Reader& reader, const Map& expected);
testing::AssertionResult holds(Engine& engine, const Map& expected);
// Those with keys in the range.
Map entries_of(const Map& map, const Range& range);

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
