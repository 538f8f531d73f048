// IteratorImpl: what stands behind an Iterator: rows, a range, a direction.

#pragma once

#include <memory>
#include <vector>

#include "engine/engine.h"
#include "lapse/iterator.h"
#include "store/row_cursor.h"
#include "store/scope.h"

namespace lapse::internal {

class IteratorImpl {
 public:
  // Takes the view's snapshot, if it has one of its own. The scope is kept alive.
  IteratorImpl(std::shared_ptr<Scope> scope, std::shared_ptr<Family> family, ReadView view,
               const IterateOptions& options);
  ~IteratorImpl();
  IteratorImpl(const IteratorImpl&) = delete;
  IteratorImpl& operator=(const IteratorImpl&) = delete;

  bool valid() const { return status_.ok() && rows_->valid(); }
  const RowCursor& rows() const { return *rows_; }
  const Status& status() const { return status_; }

  void to_end(bool front);  // the front is where the direction begins
  void seek(std::string_view key);
  void step(bool along);  // along the direction, or against it

 private:
  const std::shared_ptr<Scope> scope_;
  const std::shared_ptr<Family> family_;
  const int64_t now_ms_;
  const KeyRange range_;
  const bool reverse_;
  std::unique_ptr<engine::Snapshot> snapshot_;
  std::vector<ExpiredKey> expired_;
  std::unique_ptr<RowCursor> rows_;
  Status status_;
};

}  // namespace lapse::internal
