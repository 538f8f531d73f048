#include "store/batch.h"

#include <utility>

#include "base/try.h"

namespace lapse::internal {

namespace {

constexpr size_t kBatchBytes = 8 << 20;

}  // namespace

Result<bool> Batch::take(FunctionRef<Status()> step) {
  const bool is_first = !std::exchange(has_begun_, true);
  if (!is_first && transaction_->written_bytes() - began_at_bytes_ >= kBatchBytes) return false;
  const engine::Savepoint before = transaction_->savepoint();
  const Status made = step();
  if (made.ok()) return true;
  if (is_first || made.code() != StatusCode::kTooLarge) return made;
  LAPSE_TRY(transaction_->rollback_to(before));
  return false;
}

}  // namespace lapse::internal
