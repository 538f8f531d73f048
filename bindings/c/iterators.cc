// Iterators.

#include "bindings/c/call.h"
#include "bindings/c/iterator.h"

KVIterator::KVIterator(std::shared_ptr<lapse::c::Handle> handle, lapse::Iterator rows, bool reverse,
                       bool in_transaction)
    : handle_(std::move(handle)), rows_(std::move(rows)), reverse_(reverse), in_transaction_(in_transaction) {
  handle_->move_in(this);
}

KVIterator::~KVIterator() {
  const auto lock = lock_if_needed();
  handle_->move_out(this);
  rows_.reset();
}

bool KVIterator::at_end() noexcept {
  if (handle_->forked()) return true;
  const auto lock = lock_if_needed();
  return !rows_ || !rows_->valid();
}

namespace lapse::c {

Outcome make_iterator(const std::shared_ptr<Handle>& handle, const Reader& reader, std::string_view prefix,
                      bool reverse, bool in_transaction, KVIterator** out) {
  Result<Iterator> rows = reader.iterate({.prefix = std::string(prefix), .reverse = reverse});
  if (!rows.ok()) return rows.status();
  *out = new KVIterator(handle, std::move(*rows), reverse, in_transaction);
  ++handle->counters().iterations;
  return {};
}

namespace {

int create(KVColumnFamily* cf, const void* prefix, int prefix_len, bool reverse, KVIterator** out) {
  clear_outputs(out);
  return on_family(cf, [&](Handle& handle, const Family& family) -> Outcome {
    std::string_view start;
    KVSTORE_TRY(take_bytes(prefix, prefix_len, "prefix", &start));
    KVSTORE_TRY(check_given(out, "out"));
    return handle.iterate(family, [&](const Reader& reader, bool in_transaction) {
      return make_iterator(cf->handle, reader, start, reverse, in_transaction, out);
    });
  });
}

// Runs Outcome(lapse::Iterator&), and looks at what the iterator says of it.
template <typename Work>
int on_rows(KVIterator* it, Work work) noexcept {
  if (it == nullptr) return report(nullptr, KVSTORE_ERROR, "the iterator is NULL");
  return run(&it->handle(), [&]() -> Outcome {
    return it->with_rows([&](Iterator& rows) -> Outcome {
      KVSTORE_TRY(work(rows));
      return rows.status();
    });
  });
}

int to_start(KVIterator* it, bool reverse) {
  return on_rows(it, [&](Iterator& rows) -> Outcome {
    if (it->reverse() != reverse)
      return Outcome::error(reverse ? "this iterator goes forward: it has a first, and no last"
                                    : "this iterator goes in reverse: it has a last, and no first");
    rows.first();
    return {};
  });
}

int step(KVIterator* it, bool reverse) {
  return on_rows(it, [&](Iterator& rows) -> Outcome {
    if (it->reverse() != reverse)
      return Outcome::error(reverse ? "this iterator goes forward: it has a next, and no prev"
                                    : "this iterator goes in reverse: it has a prev, and no next");
    KVSTORE_TRY(rows.status());
    if (!rows.valid()) return {KVSTORE_NOTFOUND, "the iterator is at its end"};
    rows.next();
    return {};
  });
}

// What `part` gives of the row, without a copy.
template <typename Part>
int show(KVIterator* it, void** bytes, int* length, Part part) {
  clear_outputs(bytes, length);
  return on_rows(it, [&](Iterator& rows) -> Outcome {
    KVSTORE_TRY(check_given(bytes, "the pointer"));
    KVSTORE_TRY(check_given(length, "the length"));
    KVSTORE_TRY(rows.status());
    if (!rows.valid()) return Outcome::error("the iterator is at its end");
    const std::string_view view = part(rows);
    // An empty view may be of nothing at all, but NULL is for failures.
    *bytes = const_cast<char*>(view.data() == nullptr ? "" : view.data());
    *length = static_cast<int>(view.size());
    return {};
  });
}

}  // namespace

}  // namespace lapse::c

using namespace lapse::c;  // NOLINT(google-build-using-namespace): the functions below are in none

extern "C" {

int kvstore_cf_iterator_create(KVColumnFamily* cf, KVIterator** out) { return create(cf, "", 0, false, out); }

int kvstore_cf_prefix_iterator_create(KVColumnFamily* cf, const void* prefix, int prefix_len,
                                      KVIterator** out) {
  return create(cf, prefix, prefix_len, false, out);
}

int kvstore_cf_reverse_iterator_create(KVColumnFamily* cf, KVIterator** out) {
  return create(cf, "", 0, true, out);
}

int kvstore_cf_reverse_prefix_iterator_create(KVColumnFamily* cf, const void* prefix, int prefix_len,
                                              KVIterator** out) {
  return create(cf, prefix, prefix_len, true, out);
}

int kvstore_iterator_create(KVStore* kv, KVIterator** out) {
  return kvstore_cf_iterator_create(default_of(kv), out);
}

int kvstore_prefix_iterator_create(KVStore* kv, const void* prefix, int prefix_len, KVIterator** out) {
  return kvstore_cf_prefix_iterator_create(default_of(kv), prefix, prefix_len, out);
}

int kvstore_reverse_iterator_create(KVStore* kv, KVIterator** out) {
  return kvstore_cf_reverse_iterator_create(default_of(kv), out);
}

int kvstore_reverse_prefix_iterator_create(KVStore* kv, const void* prefix, int prefix_len,
                                           KVIterator** out) {
  return kvstore_cf_reverse_prefix_iterator_create(default_of(kv), prefix, prefix_len, out);
}

int kvstore_iterator_first(KVIterator* it) { return to_start(it, false); }
int kvstore_iterator_last(KVIterator* it) { return to_start(it, true); }
int kvstore_iterator_next(KVIterator* it) { return step(it, false); }
int kvstore_iterator_prev(KVIterator* it) { return step(it, true); }

int kvstore_iterator_seek(KVIterator* it, const void* key, int key_len) {
  return on_rows(it, [&](lapse::Iterator& rows) -> Outcome {
    std::string_view target;
    KVSTORE_TRY(take_bytes(key, key_len, "key", &target));
    rows.seek(target);
    return {};
  });
}

int kvstore_iterator_eof(KVIterator* it) { return it == nullptr || it->at_end() ? 1 : 0; }

int kvstore_iterator_key(KVIterator* it, void** key, int* key_len) {
  return show(it, key, key_len, [](const lapse::Iterator& rows) { return rows.key(); });
}

int kvstore_iterator_value(KVIterator* it, void** value, int* value_len) {
  return show(it, value, value_len, [](const lapse::Iterator& rows) { return rows.value(); });
}

void kvstore_iterator_close(KVIterator* it) {
  if (it != nullptr) destroy(it, it->handle());
}

}  // extern "C"
