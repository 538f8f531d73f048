// What becomes of a journal that was cut short, or that holds other bytes than were written.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ended_store.h"
#include "fault_env.h"
#include "jobs.h"
#include "store_driver.h"

namespace lapse::fault {
namespace {

using engine::JournalIo;
using engine::LocalOptions;

// Small, so that every byte can be tried.
std::vector<Commit> small_commits(uint64_t seed, int count) {
  Random random(seed);
  std::vector<Commit> commits;
  for (int i = 0; i < count; ++i) {
    Commit commit = random_commit(random);
    commit.resize(1);  // the token
    commit.push_back({"key" + std::to_string(random.below(5)), random.bytes(random.below(30))});
    if (random.one_in(3)) commit.push_back({"key" + std::to_string(i % 5), std::nullopt});
    commits.push_back(std::move(commit));
  }
  return commits;
}

LocalOptions one_file(Durability durability, JournalIo io = JournalIo::kMapped) {
  LocalOptions options;
  options.durability = durability;
  options.journal_io = io;
  options.journal_file_bytes = 16 << 10;
  return options;
}

// Many files, none drained.
LocalOptions many_files(Durability durability) {
  LocalOptions options = one_file(durability);
  options.journal_file_bytes = 4 << 10;
  return options;
}

struct Expectation {
  const EndedStore& store;
  const std::string& directory;
  Report& report;
  std::string what;  // was done to the files

  void fail(const std::string& why) const { report.fail(what + ": " + why); }

  void opens_at(const FileImage& files, uint64_t sequence) const { opens_between(files, sequence, sequence); }

  void opens_between(const FileImage& files, uint64_t least, uint64_t most) const {
    write_directory(directory, files);
    const Reopened result = reopen_and_check(directory, store.history, {});
    if (!result.open.ok()) return fail("open: " + result.open.to_string());
    if (!result.wrong.ok()) return fail(result.wrong.to_string());
    if (result.last_sequence < least || result.last_sequence > most) {
      fail("opened at commit " + std::to_string(result.last_sequence) + " instead of " +
           std::to_string(least) + " to " + std::to_string(most));
    }
  }

  // Refused, with file and offset of the record; a salvage brings back all before it, and keeps the file.
  void is_damaged_at(const FileImage& files, uint64_t sequence) const {
    const RecordPlace& place = store.places[sequence];
    write_directory(directory, files);
    const Reopened refused = reopen_and_check(directory, store.history, {});
    const std::string message(refused.open.message());
    if (refused.open.code() != StatusCode::kCorrupt) {
      return fail("not refused as damaged but " + refused.open.to_string() + ", at commit " +
                  std::to_string(refused.last_sequence));
    }
    if (message.find(place.file) == std::string::npos ||
        message.find(std::to_string(place.offset)) == std::string::npos) {
      return fail("the message does not say " + place.file + " and " + std::to_string(place.offset) + ": " +
                  message);
    }
    if (read_directory(directory).at(place.file) != files.at(place.file)) {
      return fail("the refusal changed the file");
    }
    salvages_to(files, sequence - 1);
  }

  void salvages_to(const FileImage& files, uint64_t sequence) const {
    LocalOptions salvage;
    salvage.salvage = true;
    const Reopened saved = reopen_and_check(directory, store.history, salvage);
    if (!saved.open.ok()) return fail("salvage: " + saved.open.to_string());
    if (!saved.wrong.ok()) return fail("salvage: " + saved.wrong.to_string());
    if (saved.last_sequence != sequence) {
      return fail("salvaged up to " + std::to_string(saved.last_sequence) + " instead of " +
                  std::to_string(sequence));
    }
    const RecordPlace& place = store.places[sequence + 1];
    const FileImage left = read_directory(directory);
    const auto kept = left.find(place.file + ".damaged");
    if (kept == left.end()) return fail("the damaged file was not kept");
    if (kept->second != files.at(place.file)) return fail("the damaged file was changed");
    const auto opened = engine::open_local(directory + "/" + kStoreName, {});
    if (!opened.ok()) fail("reopen after the salvage: " + opened.status().to_string());
  }
};

// Runs `body` for 0, 1, … count - 1 (see kThinning) in children, each with a directory to use.
void for_each_case(const EndedStore& store, uint64_t all_cases,
                   const std::function<void(uint64_t, Expectation&)>& body) {
  static constexpr uint64_t kCasesPerJob = 32;
  const uint64_t first = all_cases % kThinning;
  const uint64_t count = (all_cases - first + kThinning - 1) / kThinning;
  const JobOptions jobs{.jobs = (count + kCasesPerJob - 1) / kCasesPerJob, .timeout_s = 120};
  const auto failures = run_jobs(jobs, [&](size_t job, Report& report) {
    const ScratchDir dir;
    const uint64_t end = std::min(count, (job + 1) * kCasesPerJob);
    for (uint64_t i = job * kCasesPerJob; i < end && !report.failed(); ++i) {
      const uint64_t chosen = first + i * kThinning;
      Expectation expect{store, dir.path(), report, "case " + std::to_string(chosen)};
      body(chosen, expect);
    }
  });
  EXPECT_TRUE(failures.empty()) << join(failures);
}

// Whether the file still holds all of the record that is not zeros at its very end.
bool starts_with_record(const std::string& file, const EndedStore& store, uint64_t sequence) {
  const RecordPlace& place = store.places[sequence];
  const std::string& original = store.files.at(place.file);
  size_t end = place.end();
  while (end > place.end() - 7 && original[end - 1] == '\0') --end;
  return file.substr(0, end) == original.substr(0, end) &&
         std::string_view(file).substr(end, place.end() - end).find_first_not_of('\0') ==
             std::string_view::npos;
}

class JournalCut : public testing::TestWithParam<std::tuple<Durability, JournalIo>> {};

TEST_P(JournalCut, AtEveryByteOfTheLastRecordsLeavesTheWholeOnesBefore) {
  const auto [durability, io] = GetParam();
  const EndedStore store =
      make_ended_store(one_file(durability, io), small_commits(test_seed(), 12), Ending::kKilled);
  const uint64_t last = store.history.size();
  const RecordPlace& first_cut = store.places[last - 2];
  const uint64_t bytes = store.last_place().end() - first_cut.offset;
  // Each byte twice: the file ends there, or holds zeros from there on, as preallocated files do.
  for_each_case(store, 2 * bytes, [&](uint64_t i, Expectation& expect) {
    const uint64_t at = first_cut.offset + i / 2;
    const bool zeros = i % 2 == 0;
    expect.what = "cut at " + std::to_string(at) + (zeros ? ", zeros" : ", truncated");
    FileImage files = store.files;
    std::string& journal = files.at(first_cut.file);
    const size_t size = journal.size();
    journal.resize(at);
    if (zeros) journal.resize(size);
    // A record ends in up to 7 bytes of padding; without some of them it may be taken as whole.
    uint64_t most = last - 3;
    while (most < last && starts_with_record(journal, store, most + 1)) ++most;
    const bool whole = most == 0 || journal.size() >= store.places[most].end();
    expect.opens_between(files, whole ? most : most - 1, most);
  });
}

INSTANTIATE_TEST_SUITE_P(Modes, JournalCut,
                         testing::Combine(testing::Values(Durability::kFull, Durability::kNormal),
                                          testing::ValuesIn(kEveryJournalIo)),
                         [](const auto& mode) {
                           return std::string(std::get<0>(mode.param) == Durability::kFull ? "Full"
                                                                                           : "Normal") +
                                  name_of(std::get<1>(mode.param));
                         });

std::string flip_name(const RecordPlace& place, uint64_t at) {
  return "flip at " + std::to_string(at) + " of " + place.file + ", in the record at " +
         std::to_string(place.offset);
}

// The last bytes of a record may be padding, which nothing depends on.
bool may_be_padding(const EndedStore& store, const RecordPlace& place, uint64_t at) {
  return at + 8 > place.end() && store.files.at(place.file)[at] == '\0';
}

// Flips one bit of each byte of commits 1 to `last`.
void flip_every_byte(const EndedStore& store, uint64_t last, uint64_t seed,
                     const std::function<void(const FileImage&, uint64_t, Expectation&)>& judge) {
  std::vector<std::pair<uint64_t, uint64_t>> bytes;  // sequence, offset
  for (uint64_t sequence = 1; sequence <= last; ++sequence) {
    const RecordPlace& place = store.places[sequence];
    for (uint64_t at = place.offset; at < place.end(); ++at) {
      if (!may_be_padding(store, place, at)) bytes.emplace_back(sequence, at);
    }
  }
  for_each_case(store, bytes.size(), [&](uint64_t i, Expectation& expect) {
    const auto [sequence, at] = bytes[i];
    const RecordPlace& place = store.places[sequence];
    expect.what = flip_name(place, at);
    FileImage files = store.files;
    files.at(place.file)[at] ^= static_cast<char>(1 << (mix(seed, at) % 8));
    judge(files, sequence, expect);
  });
}

TEST(JournalFlip, InTheSyncedPartIsDamageAndSalvageKeepsWhatStandsBefore) {
  const uint64_t seed = test_seed();
  const EndedStore store =
      make_ended_store(one_file(Durability::kFull), small_commits(seed, 8), Ending::kKilled);
  flip_every_byte(store, store.history.size() - 1, seed,
                  [](const FileImage& files, uint64_t sequence, Expectation& expect) {
                    expect.is_damaged_at(files, sequence);
                  });
}

TEST(JournalFlip, InAFileThatHasASuccessorIsDamageAlsoAtNormal) {
  const uint64_t seed = test_seed();
  const EndedStore store =
      make_ended_store(many_files(Durability::kNormal), small_commits(seed, 120), Ending::kKilled);
  const std::string last_file = store.last_place().file;
  ASSERT_NE(store.places[1].file, last_file);
  uint64_t synced = 0;
  while (store.places[synced + 1].file != last_file) ++synced;
  for_each_case(store, 100, [&](uint64_t i, Expectation& expect) {
    const uint64_t sequence = 1 + mix(seed, i) % synced;
    const RecordPlace& place = store.places[sequence];
    const uint64_t at = place.offset + mix(seed, i, 1) % (place.bytes - 7);
    expect.what = flip_name(place, at);
    FileImage files = store.files;
    files.at(place.file)[at] ^= static_cast<char>(1 << (mix(seed, i, 2) % 8));
    expect.is_damaged_at(files, sequence);
  });
}

TEST(JournalFlip, InTheLastRecordAfterAnUncleanEndMayPassForATornTail) {
  const uint64_t seed = test_seed();
  const EndedStore store =
      make_ended_store(one_file(Durability::kFull), small_commits(seed, 5), Ending::kKilled);
  const uint64_t last = store.history.size();
  const RecordPlace& place = store.last_place();
  for_each_case(store, place.bytes, [&](uint64_t i, Expectation& expect) {
    const uint64_t at = place.offset + i;
    if (may_be_padding(store, place, at)) return;
    expect.what = flip_name(place, at);
    FileImage files = store.files;
    files.at(place.file)[at] ^= static_cast<char>(1 << (mix(seed, at) % 8));
    expect.opens_at(files, last - 1);
  });
}

TEST(JournalFlip, AfterACleanCloseIsDamageAlsoInTheLastRecord) {
  const uint64_t seed = test_seed();
  const EndedStore store =
      make_ended_store(one_file(Durability::kNormal), small_commits(seed, 6), Ending::kClosed);
  ASSERT_TRUE(store.files.contains(store.last_place().file)) << "close() left no journal to damage";
  flip_every_byte(store, store.history.size(), seed,
                  [](const FileImage& files, uint64_t sequence, Expectation& expect) {
                    expect.is_damaged_at(files, sequence);
                  });
}

TEST(JournalFlip, InOneHeaderCopyIsRepairedFromTheOther) {
  const uint64_t seed = test_seed();
  for (const Ending ending : {Ending::kKilled, Ending::kClosed}) {
    const EndedStore store = make_ended_store(one_file(Durability::kFull), small_commits(seed, 5), ending);
    const std::string& file = store.last_place().file;
    for_each_case(store, 1024, [&](uint64_t i, Expectation& expect) {
      const uint64_t at = i < 512 ? i : 4096 + i - 512;  // journal_format.h
      expect.what = "flip at " + std::to_string(at) + " in the header of " + file;
      FileImage files = store.files;
      files.at(file)[at] ^= static_cast<char>(1 << (mix(seed, at) % 8));
      expect.opens_at(files, store.history.size());
    });
  }
}

TEST(JournalFlip, WhereNothingIsStoredIsHarmless) {
  const uint64_t seed = test_seed();
  const EndedStore store =
      make_ended_store(one_file(Durability::kFull), small_commits(seed, 5), Ending::kKilled);
  const RecordPlace& last = store.last_place();
  const uint64_t size = store.files.at(last.file).size();
  for_each_case(store, 128, [&](uint64_t i, Expectation& expect) {
    const bool in_gap = i % 2 == 0;
    const uint64_t at = in_gap ? 512 + mix(seed, i) % (4096 - 512) + (i % 4 == 0 ? 4096 : 0)
                               : last.end() + mix(seed, i) % (size - last.end());
    expect.what = "flip at " + std::to_string(at) + " of " + last.file;
    FileImage files = store.files;
    files.at(last.file)[at] ^= 1;
    expect.opens_at(files, store.history.size());
  });
}

TEST(JournalDamage, MissingFileInTheMiddleIsDamage) {
  const uint64_t seed = test_seed();
  const EndedStore store =
      make_ended_store(many_files(Durability::kNormal), small_commits(seed, 150), Ending::kKilled);
  const std::string first_file = store.places[1].file;
  const std::string last_file = store.last_place().file;
  std::string middle;
  for (const RecordPlace& place : store.places) {
    if (!place.file.empty() && place.file != first_file && place.file != last_file) {
      middle = place.file;
    }
  }
  ASSERT_FALSE(middle.empty());
  for_each_case(store, 2 * kThinning, [&](uint64_t i, Expectation& expect) {
    FileImage files = store.files;
    const std::string& gone = i < kThinning ? first_file : middle;
    expect.what = gone + " is missing";
    files.erase(gone);
    write_directory(expect.directory, files);
    const Reopened result = reopen_and_check(expect.directory, store.history, {});
    const std::string answer = result.open.to_string();
    if (result.open.code() != StatusCode::kCorrupt || answer.find(kStoreName) == std::string::npos)
      expect.fail(answer);
  });
}

// Whatever is done to the journal: a refusal, or a state that once was; never another one, never a crash.
TEST(JournalDamage, AtRandomNeverGivesAStateThatNeverWas) {
  const uint64_t seed = test_seed();
  const uint64_t rounds = count_from_env("LAPSE_FAULT_ROUNDS", 1, 1) * 1000;
  const EndedStore store =
      make_ended_store(many_files(Durability::kNormal), small_commits(seed, 150), Ending::kKilled);
  std::vector<std::string> journals;
  for (const auto& [name, contents] : store.files) {
    if (name.find("-journal") != std::string::npos) journals.push_back(name);
  }
  for_each_case(store, rounds, [&](uint64_t i, Expectation& expect) {
    Random random(mix(seed, i));
    FileImage files = store.files;
    for (uint64_t left = random.between(1, 4); left > 0; --left) {
      std::string& file = files.at(random.pick(journals));
      const std::string& other = files.at(random.pick(journals));
      const size_t at = random.below(file.size() + 1);  // it may have been cut to nothing
      const size_t bytes = std::min<size_t>(random.between(1, 600), file.size() - at);
      switch (random.below(5)) {
        case 0: file.replace(at, bytes, random.bytes(bytes)); break;
        case 1: file.replace(at / 512 * 512, bytes, std::string(bytes, '\0')); break;
        case 2: file.replace(at, bytes, other.substr(random.below(other.size() + 1), bytes)); break;
        case 3: file = other; break;
        case 4: file.resize(at); break;
      }
    }
    write_directory(expect.directory, files);
    LocalOptions options;
    options.salvage = random.one_in(2);
    const Reopened result = reopen_and_check(expect.directory, store.history, options);
    if (!result.wrong.ok()) expect.fail(result.wrong.to_string());
    if (options.salvage && result.open.code() == StatusCode::kCorrupt) {
      expect.fail("salvage refused: " + result.open.to_string());
    }
  });
}

}  // namespace
}  // namespace lapse::fault
