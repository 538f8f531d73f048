// KVIterator: a lapse::Iterator that ends with its handle, or with the write transaction that it was made in.

#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "bindings/c/handle.h"
#include "lapse/iterator.h"

struct KVIterator final : public lapse::c::Tenant {
 public:
  // REQUIRES: the handle's transaction is locked, if `in_transaction`
  KVIterator(std::shared_ptr<lapse::c::Handle> handle, lapse::Iterator rows, bool reverse,
             bool in_transaction);
  ~KVIterator() override;
  KVIterator(const KVIterator&) = delete;
  KVIterator& operator=(const KVIterator&) = delete;

  lapse::c::Handle& handle() { return *handle_; }
  bool reverse() const { return reverse_; }

  // Runs Outcome(lapse::Iterator&), or says that the iterator has ended.
  template <typename Work>
  lapse::c::Outcome with_rows(Work work) {
    const auto lock = lock_if_needed();
    if (!rows_) return lapse::c::Outcome::error("the iterator ended with its transaction, or its store");
    return work(*rows_);
  }
  bool at_end() noexcept;

  void evict() override { rows_.reset(); }
  bool lives_in_transaction() const override { return in_transaction_; }

 private:
  std::unique_lock<std::mutex> lock_if_needed() {
    return in_transaction_ ? handle_->lock_transaction() : std::unique_lock<std::mutex>();
  }

  const std::shared_ptr<lapse::c::Handle> handle_;
  std::optional<lapse::Iterator> rows_;  // none once it has ended
  const bool reverse_;
  const bool in_transaction_;
};

namespace lapse::c {

// An iterator over `reader`, into *out.
Outcome make_iterator(const std::shared_ptr<Handle>& handle, const Reader& reader, std::string_view prefix,
                      bool reverse, bool in_transaction, KVIterator** out);

}  // namespace lapse::c
