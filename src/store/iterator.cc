#include "lapse/iterator.h"

#include <cassert>

#include "store/iterator_impl.h"

namespace lapse {

namespace internal {

IteratorImpl::IteratorImpl(std::shared_ptr<Scope> scope, std::shared_ptr<Family> family, ReadView view,
                           const IterateOptions& options)
    : scope_(std::move(scope)),
      family_(std::move(family)),
      now_ms_(view.now_ms()),
      range_(KeyRange::of(options.prefix, options.from, options.to)),
      reverse_(options.reverse) {
  if (view.is_past()) {
    rows_ = std::make_unique<PastRows>(view.reader(), view.id(), range_, now_ms_);
  } else {
    rows_ = std::make_unique<LiveRows>(view.reader(), view.id(), range_, now_ms_, &expired_);
  }
  snapshot_ = view.release();
  to_end(true);
}

IteratorImpl::~IteratorImpl() {
  rows_.reset();
  snapshot_.reset();
  if (!expired_.empty()) scope_->remove_expired(family_, expired_, now_ms_);
}

void IteratorImpl::to_end(bool front) {
  status_ = front != reverse_ ? rows_->seek(range_.from) : rows_->seek_before(range_.to);
}

void IteratorImpl::seek(std::string_view key) {
  // In reverse: to the last one that is not behind the key, which is the last before the key's successor.
  status_ = reverse_ ? rows_->seek_before(std::string(key) + '\0') : rows_->seek(key);
}

void IteratorImpl::step(bool along) { status_ = along != reverse_ ? rows_->next() : rows_->prev(); }

}  // namespace internal

Iterator::Iterator(std::unique_ptr<internal::IteratorImpl> impl) : impl_(std::move(impl)) {}
Iterator::~Iterator() = default;
Iterator::Iterator(Iterator&&) noexcept = default;
Iterator& Iterator::operator=(Iterator&&) noexcept = default;

bool Iterator::valid() const { return impl_->valid(); }

void Iterator::next() {
  assert(valid());
  impl_->step(true);
}

void Iterator::prev() {
  assert(valid());
  impl_->step(false);
}

void Iterator::first() { impl_->to_end(true); }
void Iterator::last() { impl_->to_end(false); }
void Iterator::seek(std::string_view key) { impl_->seek(key); }

std::string_view Iterator::key() const {
  assert(valid());
  return impl_->rows().key();
}

std::string_view Iterator::value() const {
  assert(valid());
  return impl_->rows().row().value;
}

int64_t Iterator::deadline_ms() const {
  assert(valid());
  return impl_->rows().row().deadline_ms;
}

uint64_t Iterator::revision() const {
  assert(valid());
  return impl_->rows().row().revision_number();
}

const Status& Iterator::status() const { return impl_->status(); }

}  // namespace lapse
