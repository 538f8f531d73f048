// Batch: as many steps of a long work as belong into one transaction.

#pragma once

#include <cstddef>

#include "base/function_ref.h"
#include "lapse/status.h"
#include "store/write_transaction.h"

namespace lapse::internal {

// One transaction of a long work takes so many keys, so that no other writer waits long.
inline constexpr size_t kBatchKeys = 256;

class Batch {
 public:
  explicit Batch(WriteTransaction* transaction)
      : transaction_(transaction), began_at_bytes_(transaction->written_bytes()) {}

  // Makes a step; or does not, and says so, if enough has been written, or if there is no room for it in the transaction: it is
  // for the next one then. The first step is made in any case, or fails.
  Result<bool> take(FunctionRef<Status()> step);

 private:
  WriteTransaction* const transaction_;
  const size_t began_at_bytes_;
  bool has_begun_ = false;
};

}  // namespace lapse::internal
