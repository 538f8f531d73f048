// One flipped bit in the tree's file: reads give the right bytes, or kCorrupt, or do not find the key.
// Whatever is hidden, or comes back from an earlier time, verify() finds. Nothing crashes, nothing hangs.

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "base/coding.h"
#include "base/try.h"
#include "ended_store.h"
#include "fault_env.h"
#include "jobs.h"
#include "store_driver.h"
#include "tree_examination.h"

namespace lapse::fault {
namespace {

constexpr uint64_t kPageBits = kTreePageBytes * 8;

// A tree of a few levels that has been rewritten often, so that old pages lie about.
Status make_tree(uint64_t seed, SoundStore* sound) {
  const ScratchDir dir;
  Random random(seed);
  StoreDriver driver(dir.file(kStoreName), seed);
  engine::LocalOptions options;
  options.buffer_bytes = 16 << 10;
  LAPSE_TRY(driver.open(options));
  for (int i = 0; i < 150; ++i) {
    const Commit commit = tree_commit(random, 8);
    LAPSE_TRY(driver.commit(commit));
    sound->known.apply(commit);
  }
  LAPSE_TRY(driver.engine().checkpoint());
  LAPSE_TRY(driver.close());
  sound->files = read_directory(dir.path());
  return {};
}

using Bits = std::vector<uint64_t>;  // of the tree's file, counted from its begin

void examine_flips(bool write,
                   const std::function<Bits(const std::string& file, Random& random)>& choose_bits) {
  const uint64_t seed = test_seed();
  SoundStore sound;
  const Status made = make_tree(seed, &sound);
  ASSERT_TRUE(made.ok()) << made.to_string();
  Random random(seed);
  const Bits bits = choose_bits(sound.tree_file(), random);
  const auto flip = [&](size_t i, std::string* tree_file) {
    const uint64_t bit = bits[i];
    (*tree_file)[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    return "page " + std::to_string(bit / kPageBits) + ", byte " + std::to_string(bit % kPageBits / 8) +
           ", bit " + std::to_string(bit % 8);
  };
  const Shared<DamageTally> tally;
  const auto failures =
      examine_damage(sound, {.seed = seed, .cases = bits.size(), .write = write, .damage = flip}, &*tally);
  EXPECT_TRUE(failures.empty()) << join(failures);
  EXPECT_LT(tally->harmless, tally->cases);
  std::printf("%zu bytes, %s\n", sound.tree_file().size(), tally->describe().c_str());
}

// Half of them anywhere, half of them where pages say how they are built.
Bits random_bits(uint64_t count, const std::string& file, Random& random) {
  Bits bits;
  for (; count > 0; --count) {
    const uint64_t page = random.below(file.size() / kTreePageBytes);
    const uint64_t byte = random.below(random.one_in(2) ? 160 : kTreePageBytes);
    bits.push_back(page * kPageBits + byte * 8 + random.below(8));
  }
  return bits;
}

// Bits [begin, end), or some of them: see kThinning.
void append_bits(uint64_t begin, uint64_t end, Random& random, Bits* bits) {
  for (uint64_t bit = begin + random.below(kThinning); bit < end; bit += kThinning) bits->push_back(bit);
}

// What LMDB keeps in its two meta pages.
constexpr uint64_t kPageHeaderBytes = 16;
constexpr uint64_t kMetaBytes = kPageHeaderBytes + 136;
constexpr uint64_t kFreeRootOffset = 80;
constexpr uint64_t kTxnidOffset = 144;

Bits meta_bits(const std::string& /*file*/, Random& random) {
  Bits bits;
  append_bits(0, kMetaBytes * 8, random, &bits);
  append_bits(kPageBits, kPageBits + kMetaBytes * 8, random, &bits);
  return bits;
}

// All that is in use of the page at the root of LMDB's list of free pages: a wrong number there, and LMDB writes
// over a page that is in use.
Bits free_list_bits(const std::string& file, Random& random) {
  const auto txnid = [&](uint64_t page) {
    return load_le<uint64_t>(file.data() + page * kTreePageBytes + kTxnidOffset);
  };
  const uint64_t meta = txnid(0) > txnid(1) ? 0 : 1;
  const auto root = load_le<uint64_t>(file.data() + meta * kTreePageBytes + kFreeRootOffset);
  const char* page = file.data() + root * kTreePageBytes;
  const auto lower = load_le<uint16_t>(page + 12);
  const auto upper = load_le<uint16_t>(page + 14);
  Bits bits;
  append_bits(root * kPageBits, root * kPageBits + lower * 8, random, &bits);
  append_bits(root * kPageBits + upper * 8, (root + 1) * kPageBits, random, &bits);
  return bits;
}

TEST(BitFlip, NeverGivesWrongBytesAndVerifyFindsWhatIsHidden) {
  const uint64_t flips = count_from_env("LAPSE_FLIPS", 1200, 200);
  examine_flips(false, [=](auto& file, Random& random) { return random_bits(flips, file, random); });
}

TEST(BitFlip, InATreeThatIsThenWrittenToNeverCrashesOrGivesWrongBytes) {
  const uint64_t flips = count_from_env("LAPSE_FLIPS", 1200, 200) / 2;
  examine_flips(true, [=](auto& file, Random& random) { return random_bits(flips, file, random); });
}

TEST(BitFlip, InEveryBitOfTheMetaPages) { examine_flips(false, meta_bits); }

TEST(BitFlip, InEveryBitOfTheMetaPagesOfATreeThatIsThenWrittenTo) { examine_flips(true, meta_bits); }

TEST(BitFlip, InEveryBitOfTheFreeListOfATreeThatIsThenWrittenTo) { examine_flips(true, free_list_bits); }

}  // namespace
}  // namespace lapse::fault
