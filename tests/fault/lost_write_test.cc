// Pages of the tree's file that hold what they held at an earlier time: the disk said that it had written them,
// and had not. All checksums on them hold. What that hides or brings back, verify() finds.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/try.h"
#include "ended_store.h"
#include "fault_env.h"
#include "jobs.h"
#include "store_driver.h"
#include "tree_examination.h"

namespace lapse::fault {
namespace {

constexpr int kVersions = 40;
constexpr uint64_t kMetaPages = 2;

// Of few pages, with values and keys of all sizes. In the end values of a few keys change, one at a time: their
// leaves go to and fro between the same pages, so that an earlier state of a page is one of the same leaf, with the
// same keys. Only the sum of checksums tells the two apart.
Commit commit_to_small_tree(int i, Random& random, const State& state) {
  if (i < 0) return tree_commit(random, 6);
  const auto changing = state.lower_bound("key" + std::to_string(random.between(1, 9)));
  return {{changing->first, random.bytes(changing->second.size())}};
}

// Of three levels, since keys are long: a branch, too, can be of an earlier time, with all that is below it.
Commit commit_to_deep_tree(int i, Random& random, const State& /*state*/) {
  Commit commit = tree_commit(random, i < 0 ? 6 : 2);
  for (KeyWrite& write : commit) {
    if (write.key.size() < 100) write.key += std::string(300, 'p');
  }
  return commit;
}

struct TreeVersions {
  std::vector<std::string> earlier;  // the tree's file, as it was after each of the last checkpoints
  SoundStore last;
};

using NextCommit = Commit(int i, Random& random, const State& state);
enum class Journal { kGone, kLeft };

Status make_versions(uint64_t seed, NextCommit* next, Journal journal, TreeVersions* tree) {
  const ScratchDir dir;
  Random random(seed);
  StoreDriver driver(dir.file(kStoreName), seed);
  engine::LocalOptions options;
  options.journal_file_bytes = 64 << 10;  // less to copy for each case
  LAPSE_TRY(driver.open(options));
  const auto commit_next = [&](int i) -> Status {
    const Commit commit = next(i, random, tree->last.known.state);
    tree->last.known.apply(commit);
    return driver.commit(commit);
  };
  for (int i = -150; i < kVersions; ++i) {
    LAPSE_TRY(commit_next(i));
    if (i < 0) continue;
    LAPSE_TRY(driver.engine().checkpoint());
    tree->earlier.push_back(read_whole_file(dir.file(kStoreName)));
  }
  if (journal == Journal::kLeft) LAPSE_TRY(commit_next(kVersions));
  LAPSE_TRY(driver.close());
  tree->last.files = read_directory(dir.path());
  return {};
}

struct LostPages {
  size_t version;  // what they hold instead
  std::vector<uint64_t> pages;
};

// The pages that are not as they were then.
std::vector<uint64_t> changed_pages(const TreeVersions& tree, size_t version) {
  const std::string& then = tree.earlier[version];
  const std::string& now = tree.last.tree_file();
  std::vector<uint64_t> pages;
  for (uint64_t at = 0; at < std::min(then.size(), now.size()); at += kTreePageBytes) {
    if (then.compare(at, kTreePageBytes, now, at, kTreePageBytes) != 0) pages.push_back(at / kTreePageBytes);
  }
  return pages;
}

// Each page as it was at each time.
std::vector<LostPages> one_page(const TreeVersions& tree, Random& /*random*/) {
  std::vector<LostPages> cases;
  for (size_t version = 0; version < tree.earlier.size(); ++version) {
    for (const uint64_t page : changed_pages(tree, version)) cases.push_back({version, {page}});
  }
  return cases;
}

// Some, or all but the meta pages, that changed since one time.
std::vector<LostPages> several_pages(const TreeVersions& tree, Random& random) {
  static constexpr int kSetsPerVersion = 20;
  std::vector<LostPages> cases;
  for (size_t version = 0; version < tree.earlier.size(); ++version) {
    std::vector<uint64_t> changed = changed_pages(tree, version);
    std::erase_if(changed, [](uint64_t page) { return page < kMetaPages; });
    for (int set = 0; set < kSetsPerVersion; ++set) {
      LostPages lost{version, {}};
      const uint64_t percent = set == 0 ? 100 : random.between(1, 100);
      for (const uint64_t page : changed) {
        if (random.below(100) < percent) lost.pages.push_back(page);
      }
      if (!lost.pages.empty()) cases.push_back(std::move(lost));
    }
  }
  return cases;
}

// The file is sound then, only old: nothing but a journal can know.
std::vector<LostPages> all_pages(const TreeVersions& tree, Random& /*random*/) {
  std::vector<LostPages> cases;
  for (size_t version = 0; version + 1 < tree.earlier.size(); ++version) {
    cases.push_back({version, changed_pages(tree, version)});
  }
  return cases;
}

std::string lose(const LostPages& lost, const TreeVersions& tree, std::string* tree_file) {
  std::string what =
      "as of version " + std::to_string(lost.version) + " of " + std::to_string(kVersions) + ": page";
  for (const uint64_t page : lost.pages) {
    tree_file->replace(page * kTreePageBytes, kTreePageBytes, tree.earlier[lost.version],
                       page * kTreePageBytes, kTreePageBytes);
    what += " " + std::to_string(page);
  }
  return what;
}

using Losses = std::vector<LostPages>(const TreeVersions& tree, Random& random);

struct Scenario {
  NextCommit* next;
  Losses* losses;
  bool write = false;  // into the damaged tree
  Journal journal = Journal::kGone;
};

void examine_losses(const Scenario& scenario) {
  const uint64_t rounds = count_from_env("LAPSE_FAULT_ROUNDS", 1, 1);
  const uint64_t seed = test_seed();
  const Shared<DamageTally> tally;
  for (uint64_t round = 0; round < rounds; ++round) {
    TreeVersions tree;
    const Status made = make_versions(mix(seed, round), scenario.next, scenario.journal, &tree);
    ASSERT_TRUE(made.ok()) << made.to_string();
    Random random(mix(seed, round));
    const std::vector<LostPages> cases = scenario.losses(tree, random);
    const uint64_t first = random.below(kThinning);
    const DamageOptions options{.seed = seed,
                                .cases = cases.size() / kThinning,
                                .write = scenario.write,
                                .damage = [&](size_t i, std::string* tree_file) {
                                  return lose(cases[i * kThinning + first], tree, tree_file);
                                }};
    const auto failures = examine_damage(tree.last, options, &*tally);
    ASSERT_TRUE(failures.empty()) << "round " << round << "\n" << join(failures);
  }
  EXPECT_LT(tally->harmless, tally->cases);
  std::printf("%s\n", tally->describe().c_str());
}

TEST(LostWrite, OfAPageIsFound) { examine_losses({commit_to_small_tree, one_page}); }

TEST(LostWrite, OfAPageOfADeepTreeIsFound) { examine_losses({commit_to_deep_tree, one_page}); }

TEST(LostWrite, OfSeveralPagesIsFound) { examine_losses({commit_to_small_tree, several_pages}); }

TEST(LostWrite, OfSeveralPagesOfADeepTreeIsFound) { examine_losses({commit_to_deep_tree, several_pages}); }

TEST(LostWrite, OfAPageOfATreeThatIsThenWrittenToIsFound) {
  examine_losses({.next = commit_to_deep_tree, .losses = one_page, .write = true});
}

TEST(LostWrite, OfSeveralPagesOfATreeThatIsThenWrittenToIsFound) {
  examine_losses({.next = commit_to_small_tree, .losses = several_pages, .write = true});
}

TEST(LostWrite, OfTheWholeFileIsFoundByTheJournal) {
  examine_losses({.next = commit_to_small_tree, .losses = all_pages, .journal = Journal::kLeft});
}

}  // namespace
}  // namespace lapse::fault
