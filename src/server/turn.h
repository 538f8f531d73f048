// Turn: what the commands of one turn of the loop have in common: one reading of the clock, one view of the store, one
// commit.
//
// As long as they only read, they read a snapshot, and no writer is taken. With the first write a transaction begins, and
// from then on all of them read and write in it, in order, each under a savepoint of its own.

#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lapse/store.h"
#include "server/databases.h"

namespace lapse::server {

class Turn {
 public:
  // With more written than this, it is committed between two commands: the engine has a limit for one transaction.
  static constexpr uint64_t kMostBytes = 64UL << 20;

  Turn(Store* store, Databases* databases) : store_(store), databases_(databases) {}

  // Both answer handles that are good until the turn's next change of kind, or its end.
  Result<const Reader*> read(int db);
  Result<Keyspace*> write(int db);
  // For what a family alone cannot do. Begins the transaction.
  Result<Transaction*> transaction();

  // A database by its number, or by the name of a family as the turn has it. kNotFound: there is none.
  Result<int> find(std::string_view number_or_name);
  Result<std::vector<std::string>> list_families() const;
  // Forgets the handles of a database whose family has been made or dropped.
  void forget(int db);

  // The databases that it may have changed since the last forget_changes(); at first, all.
  bool may_have_changed(int db) const {
    return all_changed_ || std::find(changed_.begin(), changed_.end(), db) != changed_.end();
  }
  void forget_changes() {
    all_changed_ = false;
    changed_.clear();
  }

  bool writes() const { return transaction_.has_value(); }
  // Which keys have been written since the last commit, of families with history.
  void note_key(int db, std::string_view key) { keys_.emplace(db, key); }
  bool has_noted_keys() const { return !keys_.empty(); }
  bool has_noted(int db, std::string_view key) const { return keys_.contains({db, std::string(key)}); }
  bool is_full() const { return transaction_ && transaction_->written_bytes() > kMostBytes; }
  // What a command may go back to: a turn that has not written yet goes back to nothing written.
  Savepoint savepoint() const { return transaction_ ? transaction_->savepoint() : Savepoint{}; }
  Status rollback_to(Savepoint savepoint);

  // Lets go of what it reads, so that the next read sees what has been changed beside the turn. REQUIRES: !writes()
  void refresh() { forget_handles(); }
  // Lets the turn's commit fail with this error: what it holds cannot be trusted.
  void give_up(const Status& why) { failure_ = why; }
  // The same where there is no memory even to say why: its commit throws std::bad_alloc.
  void give_up_without_memory() { out_of_memory_ = true; }
  // Lets the disk go to work; commit() then waits for it. Only for a store at durability full.
  void begin_commit();
  // Ends it. An error means that nothing of it has happened, or (kUnknown) that the disk did not confirm it. What it
  // throws it has ended, too; of a std::bad_alloc it is not known how far the commit came.
  Status commit();

 private:
  Status begin_transaction();
  void forget_handles();

  Store* store_;
  Databases* databases_;
  Status failure_;
  bool out_of_memory_ = false;
  std::optional<Result<uint64_t>> begun_;  // the commit that the disk has not confirmed
  std::set<std::pair<int, std::string>> keys_;
  std::vector<int> changed_;
  bool all_changed_ = true;
  std::optional<Snapshot> snapshot_;
  std::optional<Transaction> transaction_;
  // By database. A handle stays where it is when there is one for another database, too.
  std::deque<std::optional<Reader>> readers_;
  std::deque<std::optional<Family>> writers_;
};

}  // namespace lapse::server
