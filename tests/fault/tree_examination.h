// What a store with a damaged tree may answer, and what it may not.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ended_store.h"
#include "fault_env.h"
#include "file_image.h"
#include "history.h"

namespace lapse::fault {

inline constexpr uint64_t kTreePageBytes = 4096;

// What a tree should hold, and all that it ever held.
struct KnownTree {
  State state;
  std::map<std::string, std::set<std::string>> ever;  // all values that a key has had

  void apply(const Commit& commit);
};

// A store that was closed, before any damage.
struct SoundStore {
  FileImage files;
  KnownTree known;

  const std::string& tree_file() const { return files.at(kStoreName); }
};

// A few writes: small and large values, keys that are longer than LMDB takes, some erased.
Commit tree_commit(Random& random, int writes);

struct DamageTally {
  std::atomic<uint64_t> cases{0};
  std::atomic<uint64_t> refused{0};   // at open
  std::atomic<uint64_t> detected{0};  // by a read or a write
  std::atomic<uint64_t> hidden{0};    // reads gave an earlier state; verify() found it
  std::atomic<uint64_t> latent{0};    // all answers were right; verify() found it
  std::atomic<uint64_t> harmless{0};

  std::string describe() const;
};

struct DamageOptions {
  uint64_t seed = 0;
  size_t cases = 0;
  bool write = false;  // commit and drain into the damaged tree before it is read
  // Does the damage of case `i` to the tree's file, and says what it was.
  std::function<std::string(size_t i, std::string* tree_file)> damage;
};

// Damages the store in one way after the other, each time from sound, opens it and reads all there is, in all ways.
// Returns what is wrong, see run_jobs(): a crash, a hang, or any answer that is not one of these:
//  - kCorrupt, or a refusal to open that says as much,
//  - the right bytes,
//  - the bytes of an earlier time, or nothing for a key that should be there: then verify() says kCorrupt.
// `tally` is in shared memory.
std::vector<std::string> examine_damage(const SoundStore& sound, const DamageOptions& options,
                                        DamageTally* tally);

}  // namespace lapse::fault
