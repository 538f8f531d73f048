// The reading half of keyspace.h.

#include <algorithm>

#include "base/try.h"
#include "lapse/keyspace.h"
#include "store/checks.h"
#include "store/history.h"
#include "store/iterator_impl.h"
#include "store/scope.h"
#include "store/visibility.h"

namespace lapse {

using internal::check_key;
using internal::kExpectedAtOnce;
using internal::no_function;
using internal::ReadView;
using internal::Row;
using std::chrono::milliseconds;

namespace {

Status needs_present(const ReadView& view, std::string_view what) {
  if (!view.is_past()) return {};
  return {StatusCode::kInvalidArgument,
          std::string(what) + " is about the present: a snapshot of the past has none"};
}

}  // namespace

Reader::Reader(std::shared_ptr<internal::Scope> scope, std::shared_ptr<internal::Family> family)
    : scope_(std::move(scope)), family_(std::move(family)) {}

Result<std::optional<std::string>> Reader::get(std::string_view key) const {
  LAPSE_TRY(check_key(key));
  LAPSE_TRY_ASSIGN(ReadView view, scope_->read(family_));
  LAPSE_TRY_ASSIGN(const std::optional<Row> row, view.row(key));
  return row ? std::optional<std::string>(row->value) : std::nullopt;
}

Result<std::optional<Entry>> Reader::get_entry(std::string_view key) const {
  LAPSE_TRY(check_key(key));
  LAPSE_TRY_ASSIGN(ReadView view, scope_->read(family_));
  LAPSE_TRY_ASSIGN(const std::optional<Row> row, view.row(key));
  return row ? std::optional(internal::to_entry(*row, view.now_ms())) : std::nullopt;
}

Result<std::vector<std::optional<std::string>>> Reader::multi_get(
    std::span<const std::string_view> keys) const {
  for (const std::string_view key : keys) LAPSE_TRY(check_key(key));
  LAPSE_TRY_ASSIGN(ReadView view, scope_->read(family_));
  std::vector<std::optional<std::string>> values;
  values.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i % kExpectedAtOnce == 0) view.expect(keys.subspan(i, std::min(kExpectedAtOnce, keys.size() - i)));
    LAPSE_TRY_ASSIGN(const std::optional<Row> row, view.row(keys[i]));
    values.push_back(row ? std::optional<std::string>(row->value) : std::nullopt);
  }
  return values;
}

void Reader::expect(std::span<const std::string_view> keys) const {
  if (Result<ReadView> view = scope_->read(family_); view.ok()) view->expect(keys);
}

Result<bool> Reader::exists(std::string_view key) const {
  LAPSE_TRY(check_key(key));
  LAPSE_TRY_ASSIGN(ReadView view, scope_->read(family_));
  LAPSE_TRY_ASSIGN(const std::optional<Row> row, view.row(key));
  return row.has_value();
}

Result<std::optional<milliseconds>> Reader::ttl(std::string_view key) const {
  LAPSE_TRY(check_key(key));
  LAPSE_TRY_ASSIGN(ReadView view, scope_->read(family_));
  LAPSE_TRY_ASSIGN(const std::optional<Row> row, view.row(key));
  return row ? std::optional(internal::to_entry(*row, view.now_ms()).left) : std::nullopt;
}

Result<std::optional<int64_t>> Reader::deadline_of(std::string_view key) const {
  LAPSE_TRY(check_key(key));
  LAPSE_TRY_ASSIGN(ReadView view, scope_->read(family_));
  LAPSE_TRY_ASSIGN(const std::optional<Row> row, view.row(key));
  return row ? std::optional<int64_t>(row->deadline_ms) : std::nullopt;
}

Result<bool> Reader::lapsed(std::string_view key) const {
  LAPSE_TRY(check_key(key));
  LAPSE_TRY_ASSIGN(const ReadView view, scope_->read(family_));
  LAPSE_TRY(needs_present(view, "lapsed()"));
  LAPSE_TRY_ASSIGN(const auto bytes, view.reader().get(internal::data_key(view.id(), key)));
  if (!bytes) return false;
  LAPSE_TRY_ASSIGN(const Row row, internal::decode_row(key, *bytes));
  return !internal::is_visible(row.deadline_ms, view.now_ms());
}

Result<Iterator> Reader::iterate(const IterateOptions& options) const {
  LAPSE_TRY_ASSIGN(ReadView view, scope_->read(family_));
  auto impl = std::make_unique<internal::IteratorImpl>(scope_, family_, std::move(view), options);
  LAPSE_TRY(impl->status());
  return Iterator(std::move(impl));
}

Result<std::vector<Expiring>> Reader::expiring(int64_t from_ms, int64_t to_ms, size_t limit) const {
  std::vector<Expiring> found;
  if (limit == 0) to_ms = from_ms;
  LAPSE_TRY(for_each_expiring(from_ms, to_ms, [&](const Expiring& one) {
    found.push_back(one);
    return found.size() < limit;
  }));
  return found;
}

Status Reader::for_each_expiring(int64_t from_ms, int64_t to_ms,
                                 const std::function<bool(const Expiring&)>& visit) const {
  if (!visit) return no_function("for_each_expiring()");
  LAPSE_TRY_ASSIGN(ReadView view, scope_->read(family_));
  LAPSE_TRY(needs_present(view, "expiring()"));
  if (from_ms >= to_ms) return {};
  // What is due at this moment is no longer visible.
  from_ms = std::max(from_ms, view.now_ms() + 1);
  return internal::for_each_expiring(
      view.reader(), view.id(), from_ms, to_ms, [&](const internal::ExpiryKey& entry) {
        return visit({.key = std::string(entry.key), .deadline_ms = entry.deadline_ms});
      });
}

Result<std::vector<uint64_t>> Reader::forecast(milliseconds width, size_t buckets) const {
  constexpr size_t kMostBuckets = 1'000'000;
  if (width.count() <= 0)
    return Status(StatusCode::kInvalidArgument,
                  "forecast(): a width of " + std::to_string(width.count()) + " ms: it must be above zero");
  if (buckets > kMostBuckets)
    return Status(StatusCode::kInvalidArgument, "forecast(): " + std::to_string(buckets) +
                                                    " buckets: the limit is " + std::to_string(kMostBuckets));
  LAPSE_TRY_ASSIGN(ReadView view, scope_->read(family_));
  LAPSE_TRY(needs_present(view, "forecast()"));
  const int64_t now_ms = view.now_ms();
  const int64_t reach = (kNever - now_ms) / width.count();
  const int64_t end_ms =
      static_cast<int64_t>(buckets) > reach ? kNever : now_ms + width.count() * static_cast<int64_t>(buckets);
  std::vector<uint64_t> counts(buckets);
  LAPSE_TRY(internal::for_each_expiring(
      view.reader(), view.id(), now_ms + 1, end_ms, [&](const internal::ExpiryKey& entry) {
        ++counts[static_cast<size_t>((entry.deadline_ms - now_ms) / width.count())];
        return true;
      }));
  return counts;
}

Result<int64_t> Reader::next_deadline() const { return scope_->next_deadline(family_); }

Result<uint64_t> Reader::count() const {
  LAPSE_TRY_ASSIGN(ReadView view, scope_->read(family_));
  LAPSE_TRY_ASSIGN(const internal::FamilyRecord record, internal::read_record_of(view.reader(), *family_));
  uint64_t count = 0;
  if (record.options.counted && !view.is_past()) {
    LAPSE_TRY_ASSIGN(count, internal::read_count(view.reader(), view.id()));
    LAPSE_TRY(internal::for_each_expiring(view.reader(), view.id(), view.next_due_ms(), view.now_ms() + 1,
                                          [&](const internal::ExpiryKey&) { return --count, true; }));
    return count;
  }
  internal::IteratorImpl all(scope_, family_, std::move(view), {});
  for (; all.valid(); all.step(true)) ++count;
  LAPSE_TRY(all.status());
  return count;
}

Result<uint64_t> Reader::estimated_count() const {
  LAPSE_TRY_ASSIGN(ReadView view, scope_->read(family_));
  LAPSE_TRY(needs_present(view, "estimated_count()"));
  LAPSE_TRY_ASSIGN(const internal::FamilyRecord record, internal::read_record_of(view.reader(), *family_));
  if (record.options.counted) return internal::read_count(view.reader(), view.id());
  const std::string prefix = internal::data_prefix(view.id());
  return view.reader().estimate_entries(prefix, *internal::prefix_end(prefix));
}

Result<std::optional<std::string>> Reader::get_at(std::string_view key, int64_t at_ms) const {
  LAPSE_TRY(check_key(key));
  LAPSE_TRY_ASSIGN(ReadView view, read_history(at_ms));
  LAPSE_TRY_ASSIGN(std::optional<Revision> past, internal::revision_at(view.reader(), view.id(), key, at_ms));
  return past ? std::optional<std::string>(std::move(past->value)) : std::nullopt;
}

Result<std::optional<Revision>> Reader::get_revision(std::string_view key, uint64_t revision) const {
  LAPSE_TRY(check_key(key));
  LAPSE_TRY_ASSIGN(ReadView view, read_history(0));
  LAPSE_TRY_ASSIGN(std::optional<Revision> found,
                   internal::revision_numbered(view.reader(), view.id(), key, revision, view.now_ms()));
  return found && view.is_past() ? internal::as_seen_at(*std::move(found), view.now_ms()) : found;
}

Result<std::vector<Revision>> Reader::history(std::string_view key) const {
  std::vector<Revision> revisions;
  LAPSE_TRY(for_each_revision(key, [&](const Revision& revision) {
    revisions.push_back(revision);
    return true;
  }));
  return revisions;
}

Status Reader::for_each_revision(std::string_view key,
                                 const std::function<bool(const Revision&)>& visit) const {
  LAPSE_TRY(check_key(key));
  if (!visit) return no_function("for_each_revision()");
  LAPSE_TRY_ASSIGN(ReadView view, read_history(0));
  return internal::for_each_revision(
      view.reader(), view.id(), key, view.now_ms(), [&](const Revision& revision) {
        if (!view.is_past()) return visit(revision);
        const std::optional<Revision> seen = internal::as_seen_at(revision, view.now_ms());
        return !seen || visit(*seen);
      });
}

// A view to look back in, as far as `at_ms`.
Result<ReadView> Reader::read_history(int64_t at_ms) const {
  LAPSE_TRY_ASSIGN(ReadView view, scope_->read(family_));
  LAPSE_TRY_ASSIGN(const internal::FamilyRecord record, internal::read_record_of(view.reader(), *family_));
  if (!record.options.history)
    return Status(StatusCode::kInvalidArgument,
                  "family " + internal::quoted(family_->name) + " keeps no history");
  LAPSE_TRY_ASSIGN(const int64_t latest_ms, scope_->latest_moment(view));
  LAPSE_TRY(internal::check_past(at_ms, latest_ms));
  return view;
}

std::string Reader::family_name() const { return family_->name; }

Result<FamilyOptions> Reader::family_options() const {
  LAPSE_TRY_ASSIGN(ReadView view, scope_->read(family_));
  LAPSE_TRY_ASSIGN(const internal::FamilyRecord record, internal::read_record_of(view.reader(), *family_));
  return record.options;
}

}  // namespace lapse
