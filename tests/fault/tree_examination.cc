#include "tree_examination.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "base/try.h"
#include "engine/local/local_engine.h"
#include "jobs.h"

namespace lapse::fault {

void KnownTree::apply(const Commit& commit) {
  apply_commit(commit, &state);
  for (const KeyWrite& write : commit) {
    if (write.value) ever[write.key].insert(*write.value);
  }
}

Commit tree_commit(Random& random, int writes) {
  Commit commit;
  for (; writes > 0; --writes) {
    const uint64_t number = random.below(300);
    std::string key = "key" + std::to_string(number);
    if (number % 20 == 0) key = "long" + std::string(600, 'l') + std::to_string(number);
    if (random.one_in(5)) {
      commit.push_back({key, std::nullopt});
    } else {
      commit.push_back(
          {key, random.bytes(random.one_in(25) ? random.between(3000, 12'000) : random.between(5, 60))});
    }
  }
  return commit;
}

std::string DamageTally::describe() const {
  return std::to_string(cases) + " cases: " + std::to_string(refused) + " refused at open, " +
         std::to_string(detected) + " detected by reads or writes, " + std::to_string(hidden) +
         " hidden and " + std::to_string(latent) + " latent, found by verify(), " + std::to_string(harmless) +
         " harmless";
}

namespace {

// What using a damaged store comes to.
class Examination {
 public:
  Examination(KnownTree known, engine::Engine& engine) : known_(std::move(known)), engine_(engine) {}

  // Whatever is refused, what was acknowledged is known from then on. "" unless something is wrong.
  std::string write(Random& random) {
    const Status status = write_some(random);
    return status.ok() ? "" : expect_corrupt(status);
  }

  // "" unless something is wrong.
  std::string read() {
    auto snapshot = engine_.snapshot();
    if (!snapshot.ok()) return expect_corrupt(snapshot.status());
    std::string wrong = gets(**snapshot);
    if (wrong.empty()) wrong = seeks(**snapshot);
    if (wrong.empty()) wrong = scan(**snapshot, true);
    if (wrong.empty()) wrong = scan(**snapshot, false);
    snapshot->reset();
    if (wrong.empty()) wrong = verify();
    return wrong;
  }

  std::atomic<uint64_t>& outcome(DamageTally* tally) const {
    if (detected_) return tally->detected;
    if (hidden_) return tally->hidden;
    return verified_ ? tally->harmless : tally->latent;
  }

 private:
  Status write_some(Random& random) {
    for (int i = 0; i < 40; ++i) {
      const Commit commit = tree_commit(random, 1);
      LAPSE_TRY_ASSIGN(const auto transaction, engine_.begin());
      for (const KeyWrite& write : commit) {
        LAPSE_TRY(write.value ? transaction->put(write.key, *write.value) : transaction->erase(write.key));
      }
      LAPSE_TRY(transaction->commit());
      known_.apply(commit);
    }
    return engine_.checkpoint();
  }

  std::string expect_corrupt(const Status& status) {
    detected_ = true;
    return status.code() == StatusCode::kCorrupt ? "" : "not kCorrupt: " + status.to_string();
  }

  // An entry that was given as good.
  std::string judge(std::string_view key, std::string_view value) {
    const auto ever = known_.ever.find(std::string(key));
    if (ever == known_.ever.end() || !ever->second.contains(std::string(value))) {
      return "wrong bytes for " + shown(key);
    }
    const auto now = known_.state.find(std::string(key));
    hidden_ |= now == known_.state.end() || now->second != value;  // it comes from an earlier time
    return "";
  }

  std::string gets(const engine::Reader& reader) {
    std::vector<std::string_view> keys;
    for (const auto& [key, values] : known_.ever) keys.push_back(key);
    reader.expect(keys);
    for (const auto& [key, values] : known_.ever) {
      const auto value = reader.get(key);
      if (!value.ok()) {
        if (std::string wrong = expect_corrupt(value.status()); !wrong.empty()) return wrong;
      } else if (*value) {
        if (std::string wrong = judge(key, **value); !wrong.empty()) return wrong;
      } else {
        hidden_ |= known_.state.contains(key);
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

  std::string seeks(const engine::Reader& reader) {
    const auto cursor = reader.cursor();
    for (const auto& [key, values] : known_.ever) {
      const Status status = cursor->seek(key);
      if (!status.ok()) {
        if (std::string wrong = expect_corrupt(status); !wrong.empty()) return wrong;
        continue;
      }
      const auto expected = known_.state.lower_bound(key);
      hidden_ |= cursor->valid() ? expected == known_.state.end() || expected->first != cursor->key()
                                 : expected != known_.state.end();
      if (!cursor->valid()) continue;
      if (cursor->key() < key) return "seek() ended before " + shown(key);
      if (std::string wrong = judge(cursor->key(), cursor->value()); !wrong.empty()) return wrong;
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
    hidden_ |= seen != known_.state.size();
    return "";
  }

  std::string verify() {
    const Status status = engine_.verify();
    verified_ = status.ok();
    if (verified_) return hidden_ || detected_ ? "verify() did not find what there is to be found" : "";
    return status.code() == StatusCode::kCorrupt ? "" : "verify(): " + status.to_string();
  }

  KnownTree known_;
  engine::Engine& engine_;
  bool detected_ = false;
  bool hidden_ = false;
  bool verified_ = false;
};

std::string examine(const std::string& path, const KnownTree& known, bool write, Random& random,
                    DamageTally* tally) {
  engine::LocalOptions options;
  options.read_only = !write && random.one_in(4);
  options.buffer_bytes = 4 << 10;
  options.drain_slice_rows = 8;
  auto opened = engine::open_local(path, options);
  ++tally->cases;
  if (!opened.ok()) {
    ++tally->refused;
    const StatusCode code = opened.status().code();
    const bool clear = code == StatusCode::kCorrupt || code == StatusCode::kInvalidArgument ||
                       code == StatusCode::kUnsupported;
    return clear ? "" : "open: " + opened.status().to_string();
  }
  Examination examination(known, **opened);
  std::string wrong = write ? examination.write(random) : "";
  if (wrong.empty()) wrong = examination.read();
  ++examination.outcome(tally);
  return wrong;
}

}  // namespace

std::vector<std::string> examine_damage(const SoundStore& sound, const DamageOptions& options,
                                        DamageTally* tally) {
  static constexpr size_t kCasesPerJob = 25;
  const JobOptions jobs{.jobs = (options.cases + kCasesPerJob - 1) / kCasesPerJob, .timeout_s = 120};
  return run_jobs(jobs, [&](size_t job, Report& report) {
    const ScratchDir dir;
    const size_t end = std::min(options.cases, (job + 1) * kCasesPerJob);
    for (size_t i = job * kCasesPerJob; i < end; ++i) {
      FileImage files = sound.files;
      std::string what = options.damage(i, &files.at(kStoreName));
      report.note(what);
      write_directory(dir.path(), files);
      Random random(mix(options.seed, i));
      const std::string wrong = examine(dir.file(kStoreName), sound.known, options.write, random, tally);
      if (!wrong.empty()) return report.fail(what.append(": ").append(wrong));
    }
  });
}

}  // namespace lapse::fault
