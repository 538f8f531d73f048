// Journal: the writing side. Commits are appended as records (journal_format.h) to files that are
// preallocated, mapped, and used again once what they hold is in the tree.
//
// Invariants:
//  - A file is synced before the first record goes into its successor, so records are lost only from the end.
//  - A file is put to other use only when the tree says, synced, that it has all of it.
//  - The directory entry of a file is synced before its first record.
//  - Once a sync has failed nobody knows what is on disk: nothing is appended any more, until a reopen.
//
// Threads: append(), seal() and close() belong to the engine's one writer; the rest may be called by anyone.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/file.h"
#include "engine/local/journal_format.h"
#include "engine/local/local_engine.h"

namespace lapse::engine {

// The file of a slot, by its fixed name: <path>-journal<slot>.
struct JournalSlot {
  int slot = 0;
  File file;
  Mapping mapping;  // as found; the journal maps it anew for writing
};

class Journal {
 public:
  struct Position {
    uint64_t next_file = 1;  // the number of the next file to be put to use
    uint64_t sequence = 0;   // of the last record
    uint64_t chain = 0;      // its checksum
  };

  // `path` is the store's. Everything up to position.sequence is taken to be synced.
  Journal(std::string path, const StoreId& store_id, const LocalOptions& options, const Position& position);

  // Takes over files found at open. Live ones hold records that are not in the tree yet, in order; spare ones
  // may be overwritten.
  Status adopt_live(JournalSlot found);
  Status adopt_spare(JournalSlot found);

  // Appends one commit. `record` holds its payload behind kRecordHeaderBytes left free.
  //   kNoSpace, kIoError: nothing happened. kUnknown: the disk refused, and refused to take it back.
  Status append(std::string* record, uint64_t sequence);
  // Whether append() would have nothing to wait for: the record fits into the current file.
  bool fits(const std::string& record) const;

  // Lets the disk begin with what a sync will have to wait for: a hint.
  void start_sync() const;
  // Returns when the record of `sequence` is on disk; callers share syncs. An error is final.
  Status wait_synced(uint64_t sequence);
  uint64_t synced_sequence() const { return synced_.load(std::memory_order_acquire); }
  uint64_t syncs() const { return syncs_.load(std::memory_order_relaxed); }
  // The sync error that ended it, if one has.
  Status failure() const;

  // Ends the current file: the next record begins a new one. Returns where that will be.
  Position seal();
  // The tree has everything before file `number`, synced.
  void release_before(uint64_t number);

  // Syncs, and marks the end as clean. With `drained`, nothing in the journal is needed any more, and its
  // files go.
  Status close(bool drained);

  // Reads every record that is not in the tree yet. kCorrupt says where one is damaged.
  Status verify();

  struct Sizes {
    uint64_t bytes = 0;
    uint64_t files = 0;
    uint64_t live_files = 0;
  };
  Sizes sizes() const;

 private:
  class JournalFile;

  Status rotate(size_t record_size, uint64_t sequence);
  Status sync_without_records();
  Result<std::shared_ptr<JournalFile>> find_or_make_file(size_t record_size);
  std::shared_ptr<JournalFile> take_spare(uint64_t at_least_bytes);
  Result<std::shared_ptr<JournalFile>> make_file(uint64_t bytes);
  Status sync_once(std::unique_lock<std::mutex>* lock);
  Status mark_clean();
  bool sync_for_good(const JournalFile& file);
  // REQUIRES, both: sync_mutex_ held
  void fail(const Status& status);
  Status why_it_failed() const;
  std::shared_ptr<JournalFile> current_file() const;

  const std::string path_;
  const StoreId store_id_;
  const size_t file_bytes_;
  const JournalIo io_;
  const size_t write_from_bytes_;  // records of this size and more are written, even into a mapped file

  // The writer's own.
  uint64_t next_file_;
  uint64_t chain_;
  uint64_t next_file_bytes_;
  bool sealed_ = true;

  std::atomic<uint64_t> appended_;
  std::atomic<uint64_t> synced_;
  std::atomic<uint64_t> syncs_{0};

  mutable std::mutex files_mutex_;  // guards the lists and current_
  std::vector<std::shared_ptr<JournalFile>> live_;
  std::vector<std::shared_ptr<JournalFile>> spare_;
  std::shared_ptr<JournalFile> current_;  // the last of live_, unless there has been no append yet

  mutable std::mutex sync_mutex_;
  std::condition_variable sync_done_;
  bool syncing_ = false;
  Status failure_;
  std::atomic<bool> failed_{false};  // whether it has failed, without the lock
};

// The slots that exist for the store at `path`, opened and mapped for reading.
Result<std::vector<JournalSlot>> find_journal_slots(const std::string& path, bool read_only);

}  // namespace lapse::engine
