// Out of memory in the local engine: every allocation fails once, with buffers so small that each round freezes and drains
// several. What was acknowledged is there, in the engine as it goes on and in the one that is opened after it.

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "support/starvation.h"
#include "test_engines.h"

namespace lapse::engine {
namespace {

constexpr int kMostAllocations = 20'000;
constexpr std::string_view kAbsent = "(absent)";

class NoMemory : public testing::Test {
 protected:
  void open() {
    engine_.reset();
    engine_ = must(open_local(dir_.file("my.db"), options_));
  }

  // The engine throws where there is no memory for an answer.
  static bool succeeds(const std::function<Status()>& call) {
    try {
      return call().ok();
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  Status put(const std::string& key, const std::string& value) {
    LAPSE_TRY_ASSIGN(const auto transaction, engine_->begin());
    LAPSE_TRY(transaction->put(key, value));
    return transaction->commit().status();
  }

  // What a commit that failed wrote may be there as well.
  void note(const std::string& key, const std::string& value, bool acknowledged) {
    std::vector<std::string>& values = possible_.try_emplace(key, 1, std::string(kAbsent)).first->second;
    if (acknowledged) values.clear();
    values.push_back(value);
  }

  void expect_all_there() {
    const auto snapshot = must(engine_->snapshot());
    for (const auto& [key, values] : possible_) {
      const std::string found(must(snapshot->get(key)).value_or(kAbsent));
      ASSERT_TRUE(std::count(values.begin(), values.end(), found) > 0) << key << ": " << abbreviate(found);
    }
    EXPECT_OK(engine_->verify());
  }

  // Runs `work` with 0, 1, 2, … allocations, until it has enough.
  void starve(const std::function<void()>& before, const std::function<void()>& work,
              const std::function<void()>& after) {
    for (int allowed = 0; allowed < kMostAllocations; ++allowed) {
      SCOPED_TRACE(testing::Message() << "with " << allowed << " allocations");
      before();
      bool enough = false;
      {
        const Starvation starvation(allowed);
        work();
        enough = Starvation::ended_with_some_left();
      }
      after();
      expect_all_there();
      open();
      expect_all_there();
      if (enough || HasFailure()) return;
    }
    ADD_FAILURE() << "never enough";
  }

  const TempDir dir_;
  LocalOptions options_ = {.buffer_bytes = 4096, .journal_file_bytes = 16 << 10, .drain_slice_rows = 8};
  std::unique_ptr<Engine> engine_;
  std::map<std::string, std::vector<std::string>> possible_;
  int next_ = 0;
};

TEST_F(NoMemory, CommitsThatDrainAreKeptIfAcknowledged) {
  struct Write {
    std::string key;
    std::string value;
    bool acknowledged;
  };
  std::vector<Write> writes(24);
  open();
  starve(
      [&] {
        ++next_;
        for (Write& write : writes)
          write = {numbered(next_++ % 40), std::to_string(next_) + std::string(400, 'v'), false};
      },
      [&] {
        for (Write& write : writes)
          write.acknowledged = succeeds([&] { return put(write.key, write.value); });
      },
      [&] {
        for (const Write& write : writes) note(write.key, write.value, write.acknowledged);
      });
}

TEST_F(NoMemory, ACheckpointThatFailsLosesNothingAndLetsTheNextWriterIn) {
  open();
  starve(
      [&] {
        ++next_;
        for (int i = 0; i < 30; ++i) {
          const std::string value = std::to_string(next_) + "/" + std::to_string(i);
          must(put(numbered(i), value));
          note(numbered(i), value, true);
        }
      },
      [&] { (void)succeeds([&] { return engine_->checkpoint(); }); },
      [&] { EXPECT_OK(put("goes on", "value")); });
}

TEST_F(NoMemory, CopiesAreWholeOrNotThere) {
  open();
  for (int i = 0; i < 30; ++i) must(put(numbered(i), "value"));
  std::string copy;
  bool made = false;
  starve([&] { copy = dir_.file("copy" + std::to_string(++next_)); },
         [&] { made = succeeds([&] { return engine_->compact_to(copy); }); },
         [&] {
           const bool there = std::filesystem::exists(copy);
           EXPECT_TRUE(there || !made);
           if (!there) return;
           EXPECT_OK(must(open_local(copy, {}))->verify());
         });
}

}  // namespace
}  // namespace lapse::engine
