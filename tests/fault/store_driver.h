// Drives a store with random transactions, keeps the list of them, and marks in the I/O record what
// the store promised when.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "engine/local/local_engine.h"
#include "fault_env.h"
#include "history.h"

namespace lapse::fault {

// Options that make rare paths common: small buffers and files, drains all the time.
engine::LocalOptions odd_options(Random& random);
std::string describe(const engine::LocalOptions& options);

// Every way by which bytes get into a journal, for tests that have to hold for each; "Mapped" and so on.
inline constexpr engine::JournalIo kEveryJournalIo[] = {engine::JournalIo::kMapped,
                                                        engine::JournalIo::kPwrite, engine::JournalIo::kAuto};
std::string name_of(engine::JournalIo io);

// One transaction. Its first write is to a key of its own, never written again: wherever that key's
// bytes turn up in a file, this commit is there.
Commit random_commit(Random& random);
inline constexpr std::string_view kTokenPrefix = "token-";
inline constexpr size_t kTokenBytes = 22;

class StoreDriver {
 public:
  // `history` is what the store is known to have been given before.
  StoreDriver(std::string path, uint64_t seed, History history = {});
  ~StoreDriver();

  // Opens the store and takes its state for what it is: the history is cut back to it. An error if
  // it shows a state that never was.
  Status open(const engine::LocalOptions& options);
  Status close();
  bool is_open() const { return engine_ != nullptr; }

  // A commit that fails with anything but kUnknown is taken out of the history again.
  // Synced::kLater: as commit_unsynced() does it.
  enum class Synced { kNow, kLater };
  Status commit(const Commit& writes, Synced synced = Synced::kNow);
  Status commit_random() { return commit(random_commit(random_)); }
  // A few that are not waited for one by one, but together.
  static constexpr uint64_t kMostCommitsAStep = 4;
  Status commit_some_unsynced();
  Status wait_durable();
  // Mostly commits; now and then sync, checkpoint, time passing, a snapshot kept or let go.
  Status random_step();
  // Commits from several threads at once. REQUIRES: no commit fails.
  Status commit_from_threads(int threads, int commits_each);

  // That the engine shows exactly the history's last state.
  Status check_state();

  const History& history() const { return history_; }
  engine::Engine& engine() { return *engine_; }
  Random& random() { return random_; }
  ManualClock& clock() { return clock_; }
  // What LMDB's lock file held at some moment of the run, for images.
  const std::string& lock_file_bytes() const { return lock_file_bytes_; }

 private:
  Status commit_with(engine::Transaction& transaction, const Commit& writes, Synced synced);
  void capture_lock_file();

  const std::string path_;
  Random random_;
  ManualClock clock_{1000};
  engine::LocalOptions options_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<engine::Snapshot> kept_;  // across drains
  std::mutex history_mutex_;
  History history_;
  std::string lock_file_bytes_;
};

// The digest of all that a snapshot shows; History has that of what it should.
Result<uint64_t> digest_of(engine::Engine& engine);

}  // namespace lapse::fault
