// What every fault test shares: its seed, its counts, a directory to work in.
//
// Environment variables:
//   LAPSE_SEED           the seed of every random choice; each test prints the one it used
//   LAPSE_FAULT_DIR      where scratch directories go; else /dev/shm, $TMPDIR or /tmp
//   LAPSE_FAULT_WORKERS  child processes at a time; else one a core, at most 4
//   LAPSE_FAULT_KEEP     1: scratch directories stay, to be looked at
// and for longer runs:          ordinary   sanitized   long
//   LAPSE_CRASH_IMAGES              6000         600   100000   power cuts
//   LAPSE_KILL_ROUNDS                240          40     2000   kill -9 under load
//   LAPSE_FLIPS                     1200         200    30000   bit flips in the tree
//   LAPSE_FAULT_ROUNDS                 1           1       20   failing calls, full disks,
//                                                               crash points, damaged journals,
//                                                               lost writes
//
// Nothing here sleeps: children are waited for, and a test that waits for progress in another
// process watches a counter in shared memory.

#pragma once

#include <cstdint>
#include <iterator>
#include <random>
#include <string>

namespace lapse::fault {

#if defined(__has_feature)
#define LAPSE_HAS_FEATURE(feature) __has_feature(feature)
#else
#define LAPSE_HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || LAPSE_HAS_FEATURE(thread_sanitizer)
inline constexpr uint64_t kThinning = 10;
#elif defined(__SANITIZE_ADDRESS__) || LAPSE_HAS_FEATURE(address_sanitizer)
inline constexpr uint64_t kThinning = 3;
#else
inline constexpr uint64_t kThinning = 1;
#endif
// Sanitized builds are slow to open a store: of cases that are tried one by one they take only each
// kThinning-th, beginning at one that depends on the seed.
inline constexpr bool kSanitized = kThinning > 1;

// The number in environment variable `name`, else the default of this kind of build.
uint64_t count_from_env(const char* name, uint64_t plain_default, uint64_t sanitized_default);

// $LAPSE_SEED, else a new one; printed once by each test that asks.
uint64_t test_seed();

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t next() { return engine_(); }
  // In [0, bound). REQUIRES: bound > 0
  uint64_t below(uint64_t bound) { return next() % bound; }
  // In [low, high].
  uint64_t between(uint64_t low, uint64_t high) { return low + below(high - low + 1); }
  bool one_in(uint64_t n) { return below(n) == 0; }
  std::string bytes(size_t size);

  template <typename Container>
  auto& pick(Container& from) {
    return from[below(std::size(from))];
  }

 private:
  std::mt19937_64 engine_;
};

// A well mixed function of its arguments: a random choice that needs no state.
uint64_t mix(uint64_t a, uint64_t b, uint64_t c = 0);

// A new, empty directory that goes with its owner.
class ScratchDir {
 public:
  ScratchDir();
  // In a directory of the caller's choice, e.g. one on a real disk.
  explicit ScratchDir(const std::string& parent);
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// While it lives, scratch directories are made in one of its own, which goes with it: also those whose owners
// were killed. Not to be nested.
class ScratchRoot {
 public:
  ScratchRoot();
  ~ScratchRoot();
  ScratchRoot(const ScratchRoot&) = delete;
  ScratchRoot& operator=(const ScratchRoot&) = delete;

 private:
  const ScratchDir dir_;
};

// Where files are on a disk, if there is one: $TMPDIR, else /tmp.
std::string disk_directory();

}  // namespace lapse::fault
