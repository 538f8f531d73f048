// The local engine: LMDB, with a journal and a write buffer in front of it.
//
// Files, for a store at my.db:
//   my.db            the tree (an LMDB file)
//   my.db-lock       LMDB's table of readers
//   my.db-owner      locked by the process that has the store open
//   my.db-journal0…  commits that are not in the tree yet, and spare files to be used again
//   my.db-new        only while a store is being created
//
// docs/architecture.md tells how a commit and a read go; docs/formats.md has the bytes.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "engine/engine.h"
#include "lapse/durability.h"

namespace lapse::engine {

enum class JournalIo {
  kAuto,    // kMapped where preallocated space is really reserved, else kPwrite; at full, all is written
  kMapped,  // stores into a mapped, preallocated file; only large records by a system call
  kPwrite,  // a system call per commit
};

struct LocalOptions {
  bool create_if_missing = true;  // else an absent store is kNotFound
  bool read_only = false;         // writes nothing, not even a lock, where the directory is read-only
  // Opens a store whose journal is damaged with what stands before the damage. If it was just being drained, what the tree
  // has got already of later commits stays as well, of some perhaps not all. The damaged files are kept beside the store
  // as *-journalN.damaged.
  bool salvage = false;

  Durability durability = Durability::kNormal;
  int64_t sync_interval_ms = 1000;
  bool background_drain = false;  // one thread for drains and interval syncs; none otherwise

  size_t buffer_bytes = 64 << 20;            // of commits held in memory before they are drained
  size_t journal_file_bytes = 8 << 20;       // the largest; the first ones are smaller
  size_t max_transaction_bytes = 2UL << 30;  // kTooLarge beyond; below 4 GiB
  size_t drain_slice_rows = 8192;            // the most that one tree commit takes,
  size_t drain_slice_bytes = 8 << 20;        // and so the longest that a writer is held up
  size_t map_bytes = 1UL << 30;  // of the tree's file, at first; doubled whenever the file outgrows it
  JournalIo journal_io = JournalIo::kAuto;
  bool verify_checksums = true;  // of each entry, at each read

  Clock* clock = SteadyClock::instance();  // for sync_interval_ms and ages; must outlive the engine
};

// kInvalidArgument: they make no sense.
Status check_options(const LocalOptions& options);

// Opens or creates the store at `path`. Several handles in one process share one engine, with the
// options of the first; a read_only handle refuses writes whatever the others may do.
//   kNotFound: no store there, and create_if_missing is off (or its directory does not exist).
//   kBusy: another process has it open; the message has its pid.
//   kInvalidArgument: not a Lapse store, or options that make no sense. The file is untouched.
//   kUnsupported: written by a newer Lapse. kCorrupt: damaged; the message has file and offset.
//   kNoSpace, kIoError: as the operating system says.
Result<std::unique_ptr<Engine>> open_local(const std::string& path, const LocalOptions& options);

}  // namespace lapse::engine
