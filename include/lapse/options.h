// Options of a store, and of a column family.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "lapse/clock.h"
#include "lapse/durability.h"
#include "lapse/lifetime.h"

namespace lapse {

inline constexpr size_t kMaxKeyBytes = 64 << 10;              // 64 KiB
inline constexpr size_t kMaxValueBytes = (1UL << 30) - 1024;  // a little under 1 GiB
inline constexpr size_t kMaxFamilyNameBytes = 255;

// What a family remembers of the values that were. Both limits hold: a revision goes when it is not among the
// newest `keep_last` of its key, the present one included, or when it ended (or was written, if its deadline had passed by
// then) longer than `keep_for` ago.
// Trimming happens when a key is written, and in purge_history().
struct HistoryPolicy {
  uint32_t keep_last = 0;                 // 0: any number
  std::chrono::milliseconds keep_for{0};  // 0: for ever

  bool operator==(const HistoryPolicy&) const = default;
};

// A family's policies. They are stored with it.
struct FamilyOptions {
  // Keeps the number of its keys, so that count() need not walk over them; each write pays for that with a
  // read of the key before it.
  bool counted = false;
  // Keys carry a revision: the number of the commit that wrote them, never used again in this store, also not
  // after compact_to(). So it is a fencing token. A family with history has them anyway.
  bool revisions = false;
  // Given to keys that are written without a lifetime. 0: none.
  std::chrono::milliseconds default_ttl{0};
  // No key lives longer than this from its latest change of lifetime: longer lifetimes are cut to it,
  // permanent ones included. 0: no limit.
  std::chrono::milliseconds max_ttl{0};
  // Whether a key that would be permanent is refused, with kInvalidArgument.
  bool require_ttl = false;
  // TTLs are varied by up to so many percent either way, so that a million keys set together do not die
  // together. 0 to 100. Absolute deadlines are left as they are, unless max_ttl cuts them; and no key lives longer than that.
  int jitter_percent = 0;
  std::optional<HistoryPolicy> history = {};

  bool operator==(const FamilyOptions&) const = default;
};

enum class ClockPolicy {
  // The system's clock, watched against the time since boot. Small steps back are absorbed by standing still. A
  // leap of more than 5 s, either way, is not believed at once: time goes on at its old pace, nothing is removed
  // meanwhile, and the leap is adopted when it has stood for 10 minutes. So a clock that is set an hour ahead and
  // back kills no key, and one that really was wrong heals by itself.
  kGuarded,
  // The system's clock, whatever it says.
  kFollow,
};

struct Options {
  bool create_if_missing = true;  // else an absent store is kNotFound
  bool read_only = false;         // writes nothing, not even a lock, where the directory is read-only
  // Opens a store whose journal is damaged with what stands before the damage. If it was just being drained, what the tree
  // has got already of later commits stays as well, of some perhaps not all. The damaged files are kept beside the store
  // as *-journalN.damaged.
  bool salvage = false;

  Durability durability = Durability::kNormal;
  std::chrono::milliseconds sync_interval{1000};
  // One thread for moving commits from the journal into the tree, and for interval syncs. Without it there is no
  // thread, and writers do that work, a little at a time.
  bool background_drain = false;
  size_t buffer_bytes = 64 << 20;            // of commits held in memory before they go into the tree
  size_t max_transaction_bytes = 2UL << 30;  // kTooLarge beyond; below 4 GiB
  bool verify_checksums = true;              // of each entry, at each read

  // How long a single write waits for another transaction to end before it is kBusy.
  std::chrono::milliseconds busy_timeout = kForever;
  // Asked every 100 ms or so while a write or begin() waits for another transaction to end, in the thread that waits and
  // with nothing locked. False: it is kBusy now. For hosts that have signals to look after.
  std::function<bool()> keep_waiting = {};
  // How many due keys of the same family each write transaction also removes.
  uint32_t sweep_per_write = 0;

  ClockPolicy clock_policy = ClockPolicy::kGuarded;
  // Instead of the system's. Must outlive the store, its snapshots and iterators, and all Stores that were opened on the
  // file while this one was: they share it.
  Clock* clock = nullptr;

  // Policies of the default family, for a store that is being created.
  FamilyOptions default_family = {};
};

}  // namespace lapse
