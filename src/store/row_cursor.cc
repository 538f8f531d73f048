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

LiveRows::LiveRows(const engine::Reader& reader, FamilyId id, const KeyRange& range, int64_t now_ms,
                   std::vector<ExpiredKey>* expired)
    : prefix_(data_prefix(id)),
      now_ms_(now_ms),
      expired_(expired),
      cursor_(reader.cursor(range.within(prefix_))) {}

Status LiveRows::seek(std::string_view key) {
  valid_ = false;
  LAPSE_TRY(cursor_->seek(prefix_ + std::string(key)));
  return settle_forward();
}

Status LiveRows::seek_before(const std::optional<std::string>& key) {
  valid_ = false;
  LAPSE_TRY(key ? seek_last_before(cursor_.get(), prefix_ + *key) : cursor_->last());
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
  while (cursor_->valid()) {
    LAPSE_TRY_ASSIGN(valid_, is_visible_here());
    if (valid_) return {};
    LAPSE_TRY(cursor_->next());
  }
  return {};
}

Status LiveRows::settle_backward() {
  while (cursor_->valid()) {
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

PastKeys::PastKeys(const engine::Reader& reader, FamilyId id, const KeyRange& range, const Layout& layout)
    : id_(id),
      layout_(layout),
      prefix_bytes_(layout.prefix(id).size()),
      cursor_(reader.cursor({layout.place(id, range.from),
                             range.to ? layout.place(id, *range.to) : prefix_end(layout.prefix(id))})) {}

Result<std::optional<std::string>> PastKeys::first_from(const std::string& key) {
  const bool is_known = ahead_ && ahead_->from <= key && (!ahead_->found || key <= *ahead_->found);
  if (!is_known) {
    LAPSE_TRY(cursor_->seek(layout_.place(id_, key)));
    LAPSE_TRY_ASSIGN(std::optional<std::string> found, key_here());
    ahead_ = {key, std::move(found)};
  }
  return ahead_->found;
}

Result<std::optional<std::string>> PastKeys::last_before(const std::optional<std::string>& key) {
  const bool is_known = behind_ && (!behind_->from || (key && *key <= *behind_->from)) &&
                        (!behind_->found || !key || *key > *behind_->found);
  if (!is_known) {
    LAPSE_TRY(key ? seek_last_before(cursor_.get(), layout_.place(id_, *key)) : cursor_->last());
    LAPSE_TRY_ASSIGN(std::optional<std::string> found, key_here());
    behind_ = {key, std::move(found)};
  }
  return behind_->found;
}

Result<std::optional<std::string>> PastKeys::key_here() const {
  if (!cursor_->valid()) return std::optional<std::string>();
  std::optional<std::string> key = layout_.parse(cursor_->key().substr(prefix_bytes_));
  if (!key) return Status(StatusCode::kCorrupt, "a history row has a key that cannot be read");
  return key;
}

namespace {

constexpr PastKeys::Layout kInRows = {
    .prefix = data_prefix, .place = data_key, .parse = [](std::string_view behind_prefix) {
      return std::optional(std::string(behind_prefix));
    }};
constexpr PastKeys::Layout kInHistory = {
    .prefix = history_prefix, .place = history_key_prefix, .parse = [](std::string_view behind_prefix) {
      std::optional<HistoryKey> parsed = parse_history_key(behind_prefix);
      return parsed ? std::optional(std::move(parsed->key)) : std::nullopt;
    }};

}  // namespace

PastRows::PastRows(const engine::Reader& reader, FamilyId id, const KeyRange& range, int64_t at_ms)
    : reader_(reader),
      id_(id),
      at_ms_(at_ms),
      in_rows_(reader, id, range, kInRows),
      in_history_(reader, id, range, kInHistory) {}

Status PastRows::seek(std::string_view key) {
  valid_ = false;
  for (std::string from(key);; from = key_ + '\0') {
    LAPSE_TRY_ASSIGN(const std::optional<std::string> in_rows, in_rows_.first_from(from));
    LAPSE_TRY_ASSIGN(const std::optional<std::string> in_history, in_history_.first_from(from));
    if (!in_rows && !in_history) return {};
    key_ = !in_history || (in_rows && *in_rows < *in_history) ? *in_rows : *in_history;
    LAPSE_TRY_ASSIGN(valid_, was_visible_here());
    if (valid_) return {};
  }
}

Status PastRows::seek_before(const std::optional<std::string>& key) {
  valid_ = false;
  for (std::optional<std::string> before = key;; before = key_) {
    LAPSE_TRY_ASSIGN(const std::optional<std::string> in_rows, in_rows_.last_before(before));
    LAPSE_TRY_ASSIGN(const std::optional<std::string> in_history, in_history_.last_before(before));
    if (!in_rows && !in_history) return {};
    key_ = std::max(in_rows, in_history).value();  // none is less than any
    LAPSE_TRY_ASSIGN(valid_, was_visible_here());
    if (valid_) return {};
  }
}

Status PastRows::next() { return seek(key_ + '\0'); }
Status PastRows::prev() { return seek_before(std::string(key_)); }

Result<bool> PastRows::was_visible_here() {
  LAPSE_TRY_ASSIGN(std::optional<Revision> past, revision_at(reader_, id_, key_, at_ms_));
  if (!past) return false;
  value_ = std::move(past->value);
  row_.value = value_;
  row_.deadline_ms = past->deadline_ms;
  row_.revision = RevisionInfo{.written_at_ms = past->written_at_ms, .number = past->revision};
  return true;
}

}  // namespace lapse::internal
