#include "store/row_cursor.h"

#include <algorithm>

#include "base/try.h"
#include "store/history.h"
#include "store/visibility.h"

namespace lapse::internal {

KeyRange KeyRange::of(std::string_view prefix, const std::optional<std::string>& from,
                      const std::optional<std::string>& to) {
  KeyRange range{std::string(prefix), prefix_end(prefix)};
  if (from) range.from = std::max(range.from, *from);
  if (to) range.to = range.to ? std::min(*range.to, *to) : *to;
  return range;
}

// -------------------------------------------------------------------------------------------- LiveRows

LiveRows::LiveRows(const engine::Reader& reader, FamilyId id, KeyRange range, int64_t now_ms,
                   std::vector<ExpiredKey>* expired)
    : prefix_(data_prefix(id)),
      from_(prefix_ + range.from),
      to_(range.to ? prefix_ + *range.to : *prefix_end(prefix_)),
      now_ms_(now_ms),
      expired_(expired),
      cursor_(reader.cursor()) {}

Status LiveRows::seek(std::string_view key) {
  valid_ = false;
  const std::string at = prefix_ + std::string(key);
  LAPSE_TRY(cursor_->seek(std::max(at, from_)));
  return settle_forward();
}

Status LiveRows::seek_before(const std::optional<std::string>& key) {
  valid_ = false;
  LAPSE_TRY(seek_last_before(cursor_.get(), key ? std::min(prefix_ + *key, to_) : to_));
  return settle_backward();
}

Status LiveRows::next() {
  valid_ = false;
  LAPSE_TRY(cursor_->next());
  return settle_forward();
}

Status LiveRows::prev() {
  valid_ = false;
  LAPSE_TRY(cursor_->prev());
  return settle_backward();
}

Status LiveRows::settle_forward() {
  while (cursor_->valid() && cursor_->key() < to_) {
    LAPSE_TRY_ASSIGN(valid_, is_visible_here());
    if (valid_) return {};
    LAPSE_TRY(cursor_->next());
  }
  return {};
}

Status LiveRows::settle_backward() {
  while (cursor_->valid() && cursor_->key() >= from_) {
    LAPSE_TRY_ASSIGN(valid_, is_visible_here());
    if (valid_) return {};
    LAPSE_TRY(cursor_->prev());
  }
  return {};
}

Result<bool> LiveRows::is_visible_here() {
  LAPSE_TRY_ASSIGN(row_, decode_row(key(), cursor_->value()));
  if (is_visible(row_.deadline_ms, now_ms_)) return true;
  if (expired_ != nullptr && expired_->size() < kMostExpired)
    expired_->push_back({std::string(key()), row_.deadline_ms});
  return false;
}

// -------------------------------------------------------------------------------------------- PastRows

PastRows::PastRows(const engine::Reader& reader, FamilyId id, KeyRange range, int64_t at_ms)
    : reader_(reader),
      id_(id),
      range_(std::move(range)),
      at_ms_(at_ms),
      data_(reader.cursor()),
      history_(reader.cursor()) {}

Status PastRows::seek(std::string_view key) {
  valid_ = false;
  std::string from = std::max(std::string(key), range_.from);
  for (;;) {
    LAPSE_TRY_ASSIGN(const std::optional<std::string> found, first_key_from(from));
    if (!found || !range_.is_before_end(*found)) return {};
    LAPSE_TRY_ASSIGN(valid_, take(*found));
    if (valid_) return {};
    from = *found + '\0';
  }
}

Status PastRows::seek_before(const std::optional<std::string>& key) {
  valid_ = false;
  std::optional<std::string> before = range_.to;
  if (key) before = before ? std::min(*before, *key) : *key;
  for (;;) {
    LAPSE_TRY_ASSIGN(const std::optional<std::string> found, last_key_before(before));
    if (!found || *found < range_.from) return {};
    LAPSE_TRY_ASSIGN(valid_, take(*found));
    if (valid_) return {};
    before = found;
  }
}

Status PastRows::next() { return seek(key_ + '\0'); }
Status PastRows::prev() { return seek_before(std::string(key_)); }

// The first key that has a row or history, or both.
Result<std::optional<std::string>> PastRows::first_key_from(const std::string& key) {
  std::optional<std::string> first;
  const std::string data = data_prefix(id_);
  LAPSE_TRY(data_->seek(data_key(id_, key)));
  if (data_->valid() && data_->key().starts_with(data)) first = std::string(data_->key().substr(data.size()));
  const std::string history = history_prefix(id_);
  LAPSE_TRY(history_->seek(history_key_prefix(id_, key)));
  if (history_->valid() && history_->key().starts_with(history)) {
    const auto parsed = parse_history_key(history_->key().substr(history.size()));
    if (!parsed) return Status(StatusCode::kCorrupt, "a history row has a key that cannot be read");
    if (!first || parsed->key < *first) first = parsed->key;
  }
  return first;
}

Result<std::optional<std::string>> PastRows::last_key_before(const std::optional<std::string>& key) {
  std::optional<std::string> last;
  const std::string data = data_prefix(id_);
  LAPSE_TRY(seek_last_before(data_.get(), key ? data_key(id_, *key) : *prefix_end(data)));
  if (data_->valid() && data_->key().starts_with(data)) last = std::string(data_->key().substr(data.size()));
  const std::string history = history_prefix(id_);
  LAPSE_TRY(seek_last_before(history_.get(), key ? history_key_prefix(id_, *key) : *prefix_end(history)));
  if (history_->valid() && history_->key().starts_with(history)) {
    const auto parsed = parse_history_key(history_->key().substr(history.size()));
    if (!parsed) return Status(StatusCode::kCorrupt, "a history row has a key that cannot be read");
    if (!last || parsed->key > *last) last = parsed->key;
  }
  return last;
}

// Stands on the key, if it was visible then.
Result<bool> PastRows::take(const std::string& key) {
  LAPSE_TRY_ASSIGN(std::optional<Revision> past, revision_at(reader_, id_, key, at_ms_));
  if (!past) return false;
  key_ = key;
  value_ = std::move(past->value);
  row_.value = value_;
  row_.deadline_ms = past->deadline_ms;
  row_.revision = RevisionInfo{.written_at_ms = past->written_at_ms, .number = past->revision};
  return true;
}

}  // namespace lapse::internal
