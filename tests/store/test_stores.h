// What the store tests share: the configurations that they run over, a fixture with a store and a clock that is
// turned by hand, and ways to say briefly what a store shows.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "lapse/clock.h"
#include "lapse/store.h"
#include "support/support.h"

namespace lapse {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace): put(k, v, 30s)

// ------------------------------------------------------------------------------------- configurations

struct StoreConfig {
  std::string name;
  bool memory = false;
  Options options;
};

// A store in memory; a file; and a file with so small a buffer that the engine is always draining, where each write
// also sweeps.
std::vector<StoreConfig> store_configs();
StoreConfig memory_config();
StoreConfig file_config();
inline void PrintTo(const StoreConfig& config, std::ostream* out) { *out << config.name; }
inline std::string store_config_name(const testing::TestParamInfo<StoreConfig>& info) {
  return info.param.name;
}

// ------------------------------------------------------------------------------------------- fixtures

inline constexpr int64_t kStart = 1'000;  // what the clock says at first

class StoreTest : public testing::Test {
 protected:
  explicit StoreTest(const StoreConfig& config = memory_config());
  void TearDown() override { close(); }

  // Opens it at the first call, so that a test may change options_ and clock_ before.
  Store& store();
  // Closes and opens it again. A memory store stays as it is.
  void reopen();
  void close();
  std::string path() const { return dir_.file("test.db"); }

  // A family with history, called "past".
  Family past(HistoryPolicy policy = {});
  Family family(std::string_view name, const FamilyOptions& options = {});
  // The keys numbered [from, to), in one transaction.
  static void put_numbered(Keyspace& keyspace, int from, int to, std::string_view value,
                           Lifetime lifetime = {});

  TempDir dir_;
  ManualClock clock_{kStart};
  bool memory_;
  Options options_;

 private:
  std::optional<Store> store_;
};

// Over every configuration.
class EveryStore : public StoreTest, public testing::WithParamInterface<StoreConfig> {
 protected:
  EveryStore() : StoreTest(GetParam()) {}
};

#define INSTANTIATE_STORE_TESTS(suite)                                                \
  INSTANTIATE_TEST_SUITE_P(Every, suite, testing::ValuesIn(::lapse::store_configs()), \
                           ::lapse::store_config_name)

// ------------------------------------------------------------------------------------------- contents
//
// All of these throw if the call fails: a test that expects an error makes the call itself.

using Value = std::optional<std::string>;
using TimeLeft = std::optional<std::chrono::milliseconds>;

Value get(const Reader& reader, std::string_view key);
bool exists(const Reader& reader, std::string_view key);
TimeLeft ttl(const Reader& reader, std::string_view key);
// -1 for an absent key.
int64_t deadline(const Reader& reader, std::string_view key);
Value get_at(const Reader& reader, std::string_view key, int64_t at_ms);

// "a=1 b=2": everything that an iterator shows, in its order.
std::string contents(const Reader& reader, const IterateOptions& options = {});
// "a b"
std::string keys(const Reader& reader, const IterateOptions& options = {});
std::string reversed_contents(const Reader& reader);
uint64_t count(const Reader& reader);
// Of such a line: its words the other way round, and how many they are.
std::string turned(const std::string& words);
size_t how_many(const std::string& words);

// "b@2000 a@3000": what expiring(from, to) lists.
std::string expiring(const Reader& reader, int64_t from_ms = 0, int64_t to_ms = kNever);

// "c[3000,) b[2000,3000)overwritten a[1000,1500)expired": newest first.
std::string history(const Reader& reader, std::string_view key);
std::string to_string(const Revision& revision);

uint64_t purge(Keyspace& keyspace, const PurgeOptions& options = {});

// Whether the key is to be seen, by every call that can see it, all of which must agree. They read in a snapshot, so
// nothing is removed by it.
bool visible(const Store& store, std::string_view key);
bool visible(const Store& store, const Family& family, std::string_view key);
// By every reading call, in whatever Reader. (In a Store or Family, this removes what has expired.)
bool visible(const Reader& reader, std::string_view key);

// An error whose message has all of `words`.
testing::AssertionResult complains(StatusCode code, const Status& status,
                                   const std::vector<std::string>& words);

#define EXPECT_COMPLAINT(code, expression, ...)                                                         \
  EXPECT_TRUE(::lapse::complains(::lapse::StatusCode::code, ::lapse::internal::to_status((expression)), \
                                 std::vector<std::string>{__VA_ARGS__}))

}  // namespace lapse
