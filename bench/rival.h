// Rival: what the benchmarks ask of a store. One file a store in rivals/, each of which says how it
// is set up and how its users read.
//
// Failures are exceptions (std::runtime_error): a benchmark that fails stops as a whole.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/dataset.h"

namespace lapse::bench {

// What every store may hold in memory: for writes not yet in its tree or tables, and, where it has
// a cache of its own beside the kernel's, for reads.
inline constexpr size_t kWriteBufferBytes = 64 << 20;
inline constexpr size_t kReadCacheBytes = 64 << 20;

struct OpenOptions {
  std::string folder;  // exists, and is this store's alone
  bool sync_every_commit = false;
  bool drain_constantly = false;  // Lapse: a small write buffer and small slices; no one else's concern
};

// One thread's way to read. A value found is summed up where the store has it: nobody copies just
// for us, and nobody gets away without touching the bytes.
class Reader {
 public:
  virtual ~Reader() = default;

  // Between these two, all reads are of one snapshot or read transaction.
  virtual void begin() = 0;
  virtual void end() = 0;

  // REQUIRES: between begin() and end(). Whether the key is there; if so, its value's word_sum().
  virtual bool get(std::string_view key, uint64_t* value_sum) = 0;
  virtual ScanTotals scan() = 0;

  // REQUIRES: not between begin() and end(). The way to read a single key of the newest state.
  virtual bool get_alone(std::string_view key, uint64_t* value_sum) = 0;
};

class Rival {
 public:
  virtual ~Rival() = default;  // closes

  // The store and its settings, in a line.
  virtual std::string describe() const = 0;

  virtual void open(const OpenOptions& options) = 0;
  virtual void close() = 0;

  // All or nothing; when it returns, the entries are as safe as the options say. From any thread.
  virtual void commit(std::span<const Entry> entries) = 0;
  // To be used by the calling thread, and to go before close().
  virtual std::unique_ptr<Reader> reader() = 0;

  // Brings what is in memory or a log into the tree or the tables: the end of each timed write.
  virtual void flush() = 0;
  // After flush(), never timed: waits for background work (compaction) that would otherwise run
  // into the next store's time.
  virtual void settle() {}

  // How full the write buffer is, 0 to 1, after `written_bytes` of entries since the last flush().
  virtual double buffer_fill(uint64_t written_bytes) {
    return static_cast<double>(written_bytes) / kWriteBufferBytes;
  }

  // Whether each commit waits for the disk even without sync_every_commit.
  virtual bool always_syncs() const { return false; }
  // Whether sync_every_commit can be had.
  virtual bool can_sync() const { return true; }
};

std::unique_ptr<Rival> make_lapse(bool background_drain);
std::unique_ptr<Rival> make_lmdb(bool sync);
std::unique_ptr<Rival> make_rocksdb();
std::unique_ptr<Rival> make_sqlite();
std::unique_ptr<Rival> make_leveldb();

struct RivalEntry {
  std::string_view name;
  std::unique_ptr<Rival> (*make)();
};

// Every store there is, in the order of the table's columns.
inline constexpr RivalEntry kRivals[] = {
    {"lapse", [] { return make_lapse(false); }}, {"lapse-bg", [] { return make_lapse(true); }},
    {"lmdb", [] { return make_lmdb(true); }},    {"lmdb-nosync", [] { return make_lmdb(false); }},
    {"rocksdb", [] { return make_rocksdb(); }},  {"sqlite", [] { return make_sqlite(); }},
    {"leveldb", [] { return make_leveldb(); }},
};

inline std::unique_ptr<Rival> make_rival(std::string_view name) {
  for (const RivalEntry& entry : kRivals) {
    if (entry.name == name) return entry.make();
  }
  throw std::runtime_error("there is no store named " + std::string(name));
}

}  // namespace lapse::bench
