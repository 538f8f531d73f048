// StoreState: what all handles on one store in this process share, beside the engine: its clock, the families as they are
// known, and hints that spare lookups.
//
// Times: `now` is the clock's reading, by which visibility is judged. A commit is dated `written_at`, which is now, but
// never before the commit ahead of it: revisions do not go backwards in time, whatever clocks do. To know that after a
// reopen, the latest date is kept in the store: with every commit that dates a revision, and else once a second. So is
// what the clock said, apart from it: a clock that has gone back for good must not be led ahead by the dates.

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "lapse/options.h"
#include "lapse/process.h"
#include "lapse/status.h"
#include "store/catalog.h"
#include "store/guarded_clock.h"

namespace lapse::internal {

class StoreState {
 public:
  explicit StoreState(const Options& options);

  // Reads the catalog, or begins one in an empty store. Only the first call does anything.
  Status load(engine::Engine* engine, const Options& options);

  // Whether this is a child of the process that opened the store. There another thread of the parent may have had any lock when
  // it forked, and nobody gives it back: to be asked before one is taken.
  bool inherited() const { return fork_generation() != opened_in_; }

  // Never negative.
  int64_t now_ms();
  // Whether the clock has gone on, or back, since it was last stored, by so much that it is to be stored again.
  bool clock_is_worth_storing(int64_t now_ms) const;
  bool clock_in_doubt() { return clock_->in_doubt(); }
  // Whether what a reading of `at_ms` found due may be removed. That reading may be an old one: the clock must not be in
  // doubt now, nor have gone back behind it since. So it is due by now as well, and by a clock that is believed.
  bool may_remove_what_was_due(int64_t at_ms);

  // --- families

  std::shared_ptr<Family> find_family(std::string_view name) const;  // null if there is none
  // The one with this identity, also if it is being made and nobody but the writer may see it yet.
  std::shared_ptr<Family> find_identity(std::string_view name, uint64_t identity) const;
  std::vector<std::shared_ptr<Family>> all_families() const;  // in name order

  // Where a reader of `snapshot` finds a family's rows. `changes` is what changes_seen() said before the snapshot was
  // taken.
  Result<FamilyId> id_in(const engine::Snapshot& snapshot, const Family& family, uint64_t changes) const;

  // An odd number, different from all others, while a change of the catalog is under way.
  uint64_t changes_seen() const;
  // One is under way from its beginning, before its commit, until it is known what has become of it: that it has been published,
  // or has not happened. Of one of which that cannot be known, for good: everyone goes by the rows then.
  void begin_change() { changes_begun_.fetch_add(1); }
  void end_change() { changes_done_.fetch_add(1); }
  // A family that is being made: so that whoever writes next finds it, though it has not been published.
  void announce(const std::shared_ptr<Family>& family);
  void retract(const std::shared_ptr<Family>& family);  // it was not made after all
  // Commit `sequence` has made these records (none: dropped) the families'. Nobody sees some of them without the others.
  struct Change {
    std::shared_ptr<Family> family;
    std::optional<FamilyRecord> record;
  };
  void publish(const std::vector<Change>& changes, uint64_t sequence) noexcept;

  // --- the writer's: only to be touched by whoever has the engine's transaction

  // The latest date of the commits before number `sequence`, the one that the writer's is to have.
  int64_t latest_date_before(uint64_t sequence) const;
  // The writer is about to make commit `sequence`, of this date. Should that fail, the next writer's is to have its number, and
  // dates nothing by it.
  void note_date(uint64_t sequence, int64_t date_ms);
  uint64_t transactions_begun = 0;
  // No id from here on was ever handed out, not even by a transaction that came to nothing: handles of what it made may be
  // around, and must not find another family under their id.
  FamilyId unused_family_id = 0;
  bool may_have_garbage = true;
  std::string garbage_list_from;  // no row of the garbage list lies before it
  std::string garbage_from;       // and no row of the first family in that list before this
  // Takes back what is said above and in the families about garbage and what is due: it was said on the word of a
  // transaction that came to nothing.
  void forget_hints();
  // What is known about the family's earliest deadline, for whoever has raised hints in so many open transactions;
  // nothing if that is not known, or may yet be taken back.
  std::optional<int64_t> next_due(const Family& family, int own_raises) const;
  // The same for a reader of what commit `sequence` left, which asks after it took its snapshot; 0 if it is not known.
  int64_t next_due_in(uint64_t sequence, const Family& family, int own_raises) const;

  // --- for anyone

  std::atomic<bool> hints_are_wrong{false};     // the next writer is to forget them
  std::atomic<int> raises_under_way{0};         // transactions that raised hints and have not come to an end
  std::atomic<int64_t> stored_date_ms{-1};      // what the time row holds, at least
  std::atomic<int64_t> stored_clock_ms{-1};     // and what it says of the clock; -1: there is no such row
  std::atomic<int64_t> latest_committed_ms{0};  // the latest date of a commit
  std::atomic<uint64_t> expired_hidden{0};
  std::atomic<uint64_t> expired_removed{0};

 private:
  const uint64_t opened_in_ = fork_generation();

  Status read_catalog(engine::Engine* engine);
  Status begin_catalog(engine::Engine* engine, const Options& options);

  std::unique_ptr<GuardedClock> own_clock_;
  Clock* clock_;

  struct DatedCommit {
    uint64_t sequence = 0;
    int64_t date_ms = 0;
  };
  DatedCommit last_dated_;         // the writer's: made, or failed
  DatedCommit dated_before_last_;  // made

  std::atomic<uint64_t> changes_begun_{0};
  std::atomic<uint64_t> changes_done_{0};

  mutable std::mutex mutex_;  // guards what follows
  bool loaded_ = false;
  // By name. Of several with one name, at most one is published: the others are being made.
  using Families = std::multimap<std::string, std::shared_ptr<Family>, std::less<>>;
  void remove(const std::shared_ptr<Family>& family) noexcept;  // REQUIRES: mutex_
  Families families_;
};

}  // namespace lapse::internal
