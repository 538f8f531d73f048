#include "server/turn.h"

#include <new>
#include <utility>

#include "base/memory.h"
#include "base/try.h"

namespace lapse::server {

Result<const Reader*> Turn::read(int db) {
  if (transaction_) {
    LAPSE_TRY_ASSIGN(Keyspace * keys, write(db));
    return static_cast<const Reader*>(keys);
  }
  if (!snapshot_) {
    LAPSE_TRY_ASSIGN(Snapshot snapshot, store_->snapshot());
    snapshot_.emplace(std::move(snapshot));
  }
  const auto at = static_cast<size_t>(db);
  if (readers_.size() <= at) readers_.resize(at + 1);
  if (!readers_[at]) readers_[at].emplace(snapshot_->in(databases_->family(db)));
  return &*readers_[at];
}

Result<Keyspace*> Turn::write(int db) {
  LAPSE_TRY(begin_transaction());
  const auto at = static_cast<size_t>(db);
  if (writers_.size() <= at) writers_.resize(at + 1);
  if (!writers_[at]) {
    if (!may_have_changed(db)) changed_.push_back(db);
    writers_[at].emplace(transaction_->in(databases_->family(db)));
  }
  return static_cast<Keyspace*>(&*writers_[at]);
}

Result<Transaction*> Turn::transaction() {
  LAPSE_TRY(begin_transaction());
  all_changed_ = true;
  return &*transaction_;
}

Result<int> Turn::find(std::string_view number_or_name) {
  return databases_->find(number_or_name, [&](std::string_view name) {
    return transaction_ ? transaction_->family(name) : store_->family(name);
  });
}

Result<std::vector<std::string>> Turn::list_families() const {
  return transaction_ ? transaction_->list_families() : store_->list_families();
}

void Turn::forget(int db) {
  const auto at = static_cast<size_t>(db);
  if (at < writers_.size()) writers_[at].reset();
  if (at < readers_.size()) readers_[at].reset();
}

Status Turn::begin_transaction() {
  if (transaction_) return {};
  LAPSE_TRY_ASSIGN(Transaction transaction, store_->begin());
  transaction_.emplace(std::move(transaction));
  readers_.clear();
  snapshot_.reset();
  return {};
}

Status Turn::rollback_to(Savepoint savepoint) {
  return transaction_ ? transaction_->rollback_to(savepoint) : Status();
}

void Turn::begin_commit() {
  if (!transaction_ || !failure_.ok() || out_of_memory_) return;
  if (!has_memory_for([&] { begun_.emplace(transaction_->commit_unsynced()); })) out_of_memory_ = true;
}

Status Turn::commit() {
  Status status = std::exchange(failure_, Status());
  try {
    if (std::exchange(out_of_memory_, false)) throw std::bad_alloc();
    if (begun_) {
      status = begun_->ok() ? store_->wait_durable(**begun_) : begun_->status();
    } else if (transaction_ && status.ok()) {
      status = transaction_->commit().status();
    }
  } catch (...) {
    forget_handles();
    throw;
  }
  forget_handles();
  return status;
}

void Turn::forget_handles() {
  begun_.reset();
  keys_.clear();
  readers_.clear();
  writers_.clear();
  snapshot_.reset();
  transaction_.reset();
}

}  // namespace lapse::server
