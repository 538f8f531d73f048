// One flipped bit in the tree's file: reads give the right bytes, or kCorrupt, or do not find the key.
// Whatever is hidden, or comes back from an earlier time, verify() finds. Nothing crashes, nothing hangs.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/try.h"
#include "ended_store.h"
#include "fault_env.h"
#include "jobs.h"
#include "store_driver.h"

namespace lapse::fault {
namespace {

constexpr uint64_t kPageBytes = 4096;

struct Base {
  FileImage files;
  State state;
  std::map<std::string, std::set<std::string>> ever;  // all values that a key has had
};

std::string tree_key(uint64_t i) {
  if (i % 20 == 0) return "long" + std::string(600, 'l') + std::to_string(i);
  return "key" + std::to_string(i);
}

std::string tree_value(Random& random) {
  if (random.one_in(25)) return random.bytes(random.between(3000, 12'000));
  return random.bytes(random.between(5, 60));
}

// A tree of a few levels that has been rewritten often, so that old pages lie about.
Base make_base(uint64_t seed) {
  const ScratchDir dir;
  Base base;
  const ChildResult child = run_in_child(60, [&](Report& report) {
    StoreDriver driver(dir.file(kStoreName), seed);
    engine::LocalOptions options;
    options.buffer_bytes = 16 << 10;
    const auto fill = [&]() -> Status {
      LAPSE_TRY(driver.open(options));
      Random random(seed);
      for (int i = 0; i < 150; ++i) {
        Commit commit;
        for (int left = 8; left > 0; --left) {
          const std::string key = tree_key(random.below(300));
          if (random.one_in(5)) {
            commit.push_back({key, std::nullopt});
          } else {
            commit.push_back({key, tree_value(random)});
          }
        }
        LAPSE_TRY(driver.commit(commit));
      }
      LAPSE_TRY(driver.engine().checkpoint());
      return driver.close();
    };
    if (const Status status = fill(); !status.ok()) report.fail(status.to_string());
  });
  EXPECT_TRUE(child.ok()) << child.describe();
  base.files = read_directory(dir.path());
  // The same commits once more, for the list.
  Random random(seed);
  for (int i = 0; i < 150; ++i) {
    for (int left = 8; left > 0; --left) {
      const std::string key = tree_key(random.below(300));
      if (random.one_in(5)) {
        base.state.erase(key);
      } else {
        base.state[key] = tree_value(random);
        base.ever[key].insert(base.state[key]);
      }
    }
  }
  return base;
}

struct Tally {
  std::atomic<uint64_t> flips{0};
  std::atomic<uint64_t> refused{0};   // at open
  std::atomic<uint64_t> detected{0};  // by a read
  std::atomic<uint64_t> hidden{0};    // found by verify() alone
  std::atomic<uint64_t> harmless{0};
};

// What reading a damaged store came to.
class Examination {
 public:
  Examination(const Base& base, engine::Engine& engine) : base_(base), engine_(engine) {}

  // "" unless something is wrong.
  std::string run() {
    auto snapshot = engine_.snapshot();
    if (!snapshot.ok()) {
      refused_ = true;
      return expect_corrupt(snapshot.status());
    }
    std::string wrong = gets(**snapshot);
    if (wrong.empty()) wrong = scan(**snapshot, true);
    if (wrong.empty()) wrong = scan(**snapshot, false);
    snapshot->reset();
    if (wrong.empty()) wrong = verify();
    return wrong;
  }

  bool refused() const { return refused_; }
  bool hidden() const { return hidden_; }

 private:
  std::string expect_corrupt(const Status& status) {
    refused_ = true;
    return status.code() == StatusCode::kCorrupt ? "" : "not kCorrupt: " + status.to_string();
  }

  // An entry that was given as good.
  std::string judge(std::string_view key, std::string_view value) {
    const auto ever = base_.ever.find(std::string(key));
    if (ever == base_.ever.end() || !ever->second.contains(std::string(value))) {
      return "wrong bytes for " + shown(key);
    }
    const auto now = base_.state.find(std::string(key));
    hidden_ |= now == base_.state.end() || now->second != value;  // it comes from an earlier time
    return "";
  }

  std::string gets(const engine::Reader& reader) {
    for (const auto& [key, values] : base_.ever) {
      const auto value = reader.get(key);
      if (!value.ok()) {
        if (std::string wrong = expect_corrupt(value.status()); !wrong.empty()) return wrong;
      } else if (*value) {
        if (std::string wrong = judge(key, **value); !wrong.empty()) return wrong;
      } else {
        hidden_ |= base_.state.contains(key);
      }
    }
    for (const std::string key : {"", "key", "key1000", "longer", "zzz"}) {
      const auto value = reader.get(key);
      if (!value.ok()) {
        if (std::string wrong = expect_corrupt(value.status()); !wrong.empty()) return wrong;
      } else if (*value) {
        return "a value for a key that never was: " + shown(key);
      }
    }
    return "";
  }

  std::string scan(const engine::Reader& reader, bool forward) {
    const auto cursor = reader.cursor();
    Status status = forward ? cursor->first() : cursor->last();
    std::string previous;
    uint64_t seen = 0;
    while (status.ok() && cursor->valid()) {
      const std::string key(cursor->key());
      if (std::string wrong = judge(key, cursor->value()); !wrong.empty()) return wrong;
      if (seen > 0 && (forward ? key <= previous : key >= previous)) return "keys out of order";
      previous = key;
      ++seen;
      status = forward ? cursor->next() : cursor->prev();
    }
    if (!status.ok()) return expect_corrupt(status);
    hidden_ |= seen != base_.state.size();
    return "";
  }

  std::string verify() {
    const Status status = engine_.verify();
    if (status.ok() && (hidden_ || refused_)) return "verify() did not find what reads met";
    if (!status.ok()) return expect_corrupt(status);
    return "";
  }

  const Base& base_;
  engine::Engine& engine_;
  bool refused_ = false;
  bool hidden_ = false;
};

// Commits into a damaged store. Whatever is refused, what was acknowledged is read back right, or not.
Status write_into(engine::Engine& engine, Random& random, Base* base) {
  for (int i = 0; i < 40; ++i) {
    LAPSE_TRY_ASSIGN(const auto transaction, engine.begin());
    const std::string key = tree_key(random.below(320));
    const bool erase = random.one_in(3);
    const std::string value = tree_value(random);
    LAPSE_TRY(erase ? transaction->erase(key) : transaction->put(key, value));
    LAPSE_TRY(transaction->commit());
    if (erase) {
      base->state.erase(key);
    } else {
      base->state[key] = value;
      base->ever[key].insert(value);
    }
  }
  return engine.checkpoint();
}

std::string examine_flip(const Base& base, const std::string& directory, uint64_t bit, bool write,
                         Random& random, Tally& tally) {
  FileImage files = base.files;
  files.at(kStoreName)[bit / 8] ^= static_cast<char>(1 << (bit % 8));
  write_directory(directory, files);
  ++tally.flips;
  engine::LocalOptions options;
  options.read_only = !write && random.one_in(4);
  options.buffer_bytes = 4 << 10;
  options.drain_slice_rows = 8;
  auto opened = engine::open_local(directory + "/" + kStoreName, options);
  if (!opened.ok()) {
    ++tally.refused;
    const StatusCode code = opened.status().code();
    const bool clear = code == StatusCode::kCorrupt || code == StatusCode::kInvalidArgument ||
                       code == StatusCode::kUnsupported;
    return clear ? "" : "open: " + opened.status().to_string();
  }
  Base now = base;
  if (write) {
    const Status status = write_into(**opened, random, &now);
    if (!status.ok() && status.code() != StatusCode::kCorrupt) {
      return "writing: " + status.to_string();
    }
  }
  Examination examination(now, **opened);
  std::string wrong = examination.run();
  if (examination.refused()) {
    ++tally.detected;
  } else if (examination.hidden()) {
    ++tally.hidden;
  } else {
    ++tally.harmless;
  }
  return wrong;
}

// Examines `flips` flips; `bit_of` says which bit the i-th one is.
void flip_many(uint64_t seed, uint64_t flips, bool write,
               const std::function<uint64_t(uint64_t i, Random& random, uint64_t file_bytes)>& bit_of) {
  static constexpr uint64_t kFlipsPerJob = 25;
  const Base base = make_base(seed);
  const uint64_t file_bytes = base.files.at(kStoreName).size();
  const Shared<Tally> tally;
  const JobOptions jobs{.jobs = (flips + kFlipsPerJob - 1) / kFlipsPerJob, .timeout_s = 120};
  const auto failures = run_jobs(jobs, [&](size_t job, Report& report) {
    const ScratchDir dir;
    const uint64_t end = std::min(flips, (job + 1) * kFlipsPerJob);
    for (uint64_t i = job * kFlipsPerJob; i < end; ++i) {
      Random random(mix(seed, i));
      const uint64_t bit = bit_of(i, random, file_bytes);
      const std::string where = "page " + std::to_string(bit / 8 / kPageBytes) + ", byte " +
                                std::to_string(bit / 8 % kPageBytes) + ", bit " + std::to_string(bit % 8);
      report.note(where);
      const std::string wrong = examine_flip(base, dir.path(), bit, write, random, *tally);
      if (!wrong.empty()) return report.fail(where + ": " + wrong);
    }
  });
  EXPECT_TRUE(failures.empty()) << join(failures);
  EXPECT_GT(tally->detected, 0U);
  std::printf(
      "%lu flips in %lu bytes: %lu refused at open, %lu detected by reads, %lu hidden and found by "
      "verify(), %lu harmless\n",
      tally->flips.load(), file_bytes, tally->refused.load(), tally->detected.load(), tally->hidden.load(),
      tally->harmless.load());
}

// Half of them anywhere, half of them where pages say how they are built.
uint64_t random_bit(uint64_t /*i*/, Random& random, uint64_t file_bytes) {
  const uint64_t page = random.below(file_bytes / kPageBytes);
  const uint64_t byte = page * kPageBytes + random.below(random.one_in(2) ? 160 : kPageBytes);
  return byte * 8 + random.below(8);
}

// Every bit of LMDB's two meta pages.
constexpr uint64_t kMetaBytes = 16 + 136;
constexpr uint64_t kMetaFlips = 2 * kMetaBytes * 8 / kThinning;
uint64_t meta_bit(uint64_t i, Random& random, uint64_t /*file_bytes*/) {
  i = i * kThinning + random.below(kThinning);
  const uint64_t page = i / (kMetaBytes * 8);
  return page * kPageBytes * 8 + i % (kMetaBytes * 8);
}

TEST(BitFlip, NeverGivesWrongBytesAndVerifyFindsWhatIsHidden) {
  flip_many(test_seed(), count_from_env("LAPSE_FLIPS", 1200, 200), false, random_bit);
}

TEST(BitFlip, InATreeThatIsThenWrittenToNeverCrashesOrGivesWrongBytes) {
  flip_many(test_seed(), count_from_env("LAPSE_FLIPS", 1200, 200) / 2, true, random_bit);
}

TEST(BitFlip, InEveryBitOfTheMetaPages) { flip_many(test_seed(), kMetaFlips, false, meta_bit); }

TEST(BitFlip, InEveryBitOfTheMetaPagesOfATreeThatIsThenWrittenTo) {
  flip_many(test_seed(), kMetaFlips, true, meta_bit);
}

}  // namespace
}  // namespace lapse::fault
