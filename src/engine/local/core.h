// Core: the one engine behind all handles on a store. It ties journal, buffers and tree together.
//
//   commit:  append to the journal → insert into the active buffer → let the writer go
//            → at `full`: sync, shared → advance visible_ → acknowledge
//   read:    active buffer → frozen buffer, if one is being drained → tree
//   drain:   freeze the active buffer, end its journal file → sync → mark the tree as being drained into
//            → write the buffer into it in slices → sync → use the journal files again
//
// Invariants:
//  - visible_ ≤ appended_. A transaction reads at appended_, so that two increments that share a sync add up;
//    all others read at visible_, so that at `full` nobody acts on what may yet vanish.
//  - A commit is in the buffer, whole, before its sequence is appended_ or visible_.
//  - Every commit of the frozen buffer is visible before the first of its rows goes into the tree. So whoever
//    takes a view with that tree also takes a sequence that covers those rows.
//  - There is at most one frozen buffer, and freezing waits for it.
//
// Locks, in the order in which they may be taken: the writer's token, commit_mutex_, drain_mutex_,
// view_mutex_. Readers take only the last, for as long as it takes to copy a pointer; a cursor's first move may
// also take a buffer's own lock, under which nothing else is taken (write_buffer.h says for how long).

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "engine/local/journal.h"
#include "engine/local/local_engine.h"
#include "engine/local/owner_lock.h"
#include "engine/local/tree.h"
#include "engine/local/view.h"
#include "engine/local/writer_token.h"
#include "lapse/process.h"

namespace lapse::engine {

class Core {
 public:
  // What open found.
  struct Contents {
    std::unique_ptr<Tree> tree;
    std::shared_ptr<WriteBuffer> buffer;  // what the journal holds beyond the tree
    Journal::Position end;                // where the journal ends
  };

  // `iterated`: whether cursors are likely to come (write_buffer.h).
  static std::shared_ptr<WriteBuffer> new_buffer(const LocalOptions& options, bool iterated = false);

  // `path` is for messages. Without start_journal() it has none: what is committed lives as long as it does.
  Core(std::string path, const LocalOptions& options, Contents contents, OwnerLock lock);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Both before the first commit, by open. kIoError: there is no thread to be had.
  void start_journal(std::unique_ptr<Journal> journal) { journal_ = std::move(journal); }
  Status start_background_thread();
  // Brings what open found into the tree. The journal, whose files hold it, is to be started afterwards.
  Status drain_recovered();

  // All three under handles_mutex(), of a core that others may find.
  void add_handle() { ++handles_; }
  bool remove_handle() { return --handles_ == 0; }  // true for the last one
  bool has_handles() const { return handles_ > 0; }

  // Snapshots and transactions, which keep the files in use after close().
  void add_guest() { guests_.fetch_add(1, std::memory_order_relaxed); }
  void remove_guest() { guests_.fetch_sub(1, std::memory_order_release); }
  bool has_guests() const { return guests_.load(std::memory_order_acquire) > 0; }

  // kUnavailable once closed, or in a forked child.
  Status check_usable() const;
  bool forked() const { return fork_generation() != opened_in_; }
  bool closed() const { return closed_.load(std::memory_order_acquire); }
  bool read_only() const { return options_.read_only; }
  const LocalOptions& options() const { return options_; }

  ReadPoint read_point();

  // The writer's side. begin_write() waits for the token; end_write() gives it back.
  Status begin_write(std::chrono::milliseconds timeout);
  void end_write();
  void note_writer_thread() { token_.note_use(); }
  ReadPoint write_point();
  uint64_t next_sequence() const { return appended_.load(std::memory_order_relaxed) + 1; }
  WriteBuffer* own_writes() { return &own_writes_; }
  // Appends and inserts what own_writes() holds. Without patience it is kBusy where it would have to wait, for the
  // disk or for anyone. REQUIRES: the token
  enum class Patience { kWait, kNone };
  Result<uint64_t> append_commit(Patience patience);
  // What is left to do once the token is free: make it durable, unless somebody will wait for that later, and help
  // draining.
  enum class Confirmation { kNow, kLater };
  Status finish_commit(uint64_t sequence, Confirmation confirmation);

  uint64_t appended_sequence() const { return appended_.load(std::memory_order_acquire); }
  Status wait_durable(uint64_t sequence);
  Status checkpoint();
  Status verify();
  EngineStats stats();
  // By how much of a buffer the drain is behind the writers; negative if it is ahead. Asked at each commit, so without a
  // lock.
  double drain_arrears() const;
  std::shared_ptr<void> shared_state(const std::function<std::shared_ptr<void>()>& make);
  // Syncs, drains if that is worth it, marks the journal as clean. Transactions that are still open cannot
  // commit any more. The files are free when the last snapshot is gone, too.
  Status close();

 private:
  // The frozen buffer's way into the tree. No stage is more than one sync: a writer that helps takes a step, and on a disk
  // that is slow at times it should wait for one of them, not for all.
  struct Drain {
    enum class Stage { kSyncJournal, kMark, kRows, kSyncTree };
    Stage stage = Stage::kSyncJournal;
    uint64_t target = 0;         // the last sequence of the frozen buffer
    Journal::Position end;       // where the journal goes on behind it
    WriteBuffer::Iterator next;  // the first row not in the tree yet
  };
  struct OvertakenGeneration {
    std::weak_ptr<const Generation> generation;
    int64_t since_ms;
  };

  std::shared_ptr<const View> view() const;
  void publish(View next);
  void advance_visible();
  Status confirm(uint64_t sequence, Confirmation confirmation);
  Status sync_to(uint64_t sequence);
  int64_t note_unsynced();
  Status sync_if_due(uint64_t sequence, int64_t patience);  // in intervals

  Status make_room();
  void freeze();
  void help_draining();
  Status drain_until(uint64_t sequence);
  Status drain_frozen();
  Status drain_step();
  Status sync_journal_to_drain();
  Status mark_drain();
  Status drain_slice();
  Result<StoreMeta> write_slice(TreeBatch* batch, WriteBuffer::Iterator* next, size_t* rows);
  Status finish_drain();
  void remember_drain_result(const Status& status);
  void stop(const Status& status);
  void stop_locked(const Status& status);
  Status stopped() const;

  bool worth_draining();
  void background_loop();

  const std::string path_;
  const LocalOptions options_;
  const uint64_t opened_in_ = fork_generation();
  OwnerLock lock_;
  std::unique_ptr<Tree> tree_;
  std::unique_ptr<Journal> journal_;

  std::mutex shared_state_mutex_;
  std::shared_ptr<void> shared_state_;

  int handles_ = 0;
  std::atomic<int> guests_{0};
  WriterToken token_;
  WriteBuffer own_writes_{0};  // of the transaction that has the token
  std::string record_;
  std::shared_ptr<WriteBuffer> active_;  // that of the newest view

  std::mutex commit_mutex_;  // held while a commit is appended, so that close() does not cut in
  std::atomic<bool> closed_{false};

  std::atomic<uint64_t> appended_;
  std::atomic<uint64_t> visible_;
  std::atomic<uint64_t> commits_{0};
  std::atomic<int64_t> last_sync_ms_;
  std::atomic<int64_t> unsynced_since_ms_{-1};

  mutable std::mutex view_mutex_;
  std::shared_ptr<const View> view_;
  std::vector<OvertakenGeneration> overtaken_;

  std::mutex drain_mutex_;  // guards drain_ and the writing side of tree_
  Drain drain_;
  size_t slice_rows_;  // up to drain_slice_rows; fewer while slices take too long
  std::atomic<uint64_t> drained_;
  std::atomic<bool> has_frozen_{false};
  // How far the active buffer is filled, and the frozen one drained.
  std::atomic<size_t> active_bytes_{0};
  std::atomic<size_t> frozen_rows_{0};
  std::atomic<size_t> drained_rows_{0};
  std::atomic<uint64_t> drains_{0};
  std::atomic<uint64_t> slices_{0};
  std::atomic<uint64_t> longest_slice_us_{0};
  std::atomic<uint64_t> slices_us_{0};

  mutable std::mutex stopped_mutex_;
  Status stopped_;   // an error that only a reopen can mend
  Status no_space_;  // one that is tried again
  std::atomic<bool> is_stopped_{false};
  std::atomic<int64_t> retry_drain_at_ms_{0};

  std::thread background_;
  std::mutex background_mutex_;
  std::condition_variable background_wakeup_;
  bool background_stop_ = false;
  std::atomic<bool> has_background_{false};
};

// A reference to a Core that lets it be in a forked child: there, its locks, threads and files are the
// parent's, and even its destructor would be wrong.
class CoreRef {
 public:
  CoreRef() = default;
  explicit CoreRef(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  CoreRef(const CoreRef&) = default;
  CoreRef(CoreRef&&) = default;
  CoreRef& operator=(CoreRef&&) = default;
  CoreRef& operator=(const CoreRef&) = default;
  ~CoreRef() {
    if (core_ && core_->forked()) abandon(std::move(core_));
  }
  Core* operator->() const { return core_.get(); }
  Core& operator*() const { return *core_; }
  explicit operator bool() const { return core_ != nullptr; }
  void reset() { *this = CoreRef(); }
  // Keeps it from ever being destroyed.
  static void abandon(std::shared_ptr<Core> core) {
    (void)new (std::nothrow) std::shared_ptr<Core>(std::move(core));
  }

 private:
  std::shared_ptr<Core> core_;
};

}  // namespace lapse::engine
