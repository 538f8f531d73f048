// StoreRival: what `lapse-bench store` asks of a store: keys with lifetimes, purges, the past. One file a
// store in rivals/, each of which says how it is set up and how its users do it.
//
// All calls are made by one thread. Failures are exceptions, as in rival.h.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "bench/dataset.h"
#include "lapse/clock.h"

namespace lapse::bench {

inline constexpr int64_t kSecondMs = 1000;
inline constexpr int64_t kMinuteMs = 60 * kSecondMs;
inline constexpr int64_t kHourMs = 60 * kMinuteMs;

// The TTLs of a set of keys: spread evenly over a range, so that deadlines come in no order. They follow
// from the keys, which are random.
struct Lifetimes {
  int64_t min_ms = 0;  // 0: for ever
  int64_t max_ms = 0;

  bool forever() const { return min_ms == 0; }
  int64_t ttl_ms(std::string_view key) const {
    return min_ms + static_cast<int64_t>(mix(load_le<uint64_t>(key.data())) %
                                         static_cast<uint64_t>(max_ms - min_ms + 1));
  }
};

inline constexpr Lifetimes kForEver = {};

struct StoreOpenOptions {
  std::string folder;          // exists, and is this store's alone
  Clock* clock = nullptr;      // instead of the system's
  int64_t store_ttl_ms = 0;    // for a store that has one TTL for all its keys; 0: none
  bool keeps_history = false;  // of every key, without limit
};

// What not every store has.
enum class Skill {
  kLifetimePerKey,  // keys that live for ever beside others that do not
  kHidesExpired,    // a key that is due is not seen, purged or not
  kHistory,
};

class StoreRival {
 public:
  virtual ~StoreRival() = default;  // closes

  // The store and its settings, in a line.
  virtual std::string describe() const = 0;
  virtual bool can(Skill skill) const = 0;

  virtual void open(const StoreOpenOptions& options) = 0;
  virtual void close() = 0;

  // All or nothing; when it returns, the entries survive the end of the process.
  virtual void commit(std::span<const Entry> entries, const Lifetimes& lifetimes) = 0;

  // Whether the key is there, now; if so, its value's word_sum().
  virtual bool get(std::string_view key, uint64_t* value_sum) = 0;
  // All keys that are there, now.
  virtual ScanTotals scan() = 0;
  // Whether the key was there then.
  virtual bool get_at(std::string_view key, int64_t at_ms, uint64_t* value_sum) = 0;

  // Removes what is due. Returns how many, if the store says so.
  virtual std::optional<uint64_t> purge() = 0;

  // Brings what is in memory or a log into the tree or the tables: the end of each timed write.
  virtual void flush() = 0;
  // After flush(), never timed: waits for background work that would run into the next store's time.
  virtual void settle() {}
};

std::unique_ptr<StoreRival> make_lapse_store();
std::unique_ptr<StoreRival> make_sqlite_ttl();
std::unique_ptr<StoreRival> make_rocksdb_ttl();

struct StoreRivalEntry {
  std::string_view name;
  std::unique_ptr<StoreRival> (*make)();
};

// Every store there is, in the order of the table's columns.
inline constexpr StoreRivalEntry kStoreRivals[] = {
    {"lapse", make_lapse_store},
    {"sqlite", make_sqlite_ttl},
    {"rocksdb", make_rocksdb_ttl},
};

inline std::unique_ptr<StoreRival> make_store_rival(std::string_view name) {
  for (const StoreRivalEntry& entry : kStoreRivals) {
    if (entry.name == name) return entry.make();
  }
  throw std::runtime_error("there is no store named " + std::string(name));
}

}  // namespace lapse::bench
