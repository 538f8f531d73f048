// The writing half of keyspace.h.

#include "lapse/keyspace.h"

#include <algorithm>
#include <charconv>

#include "base/clock.h"
#include "base/try.h"
#include "store/batch.h"
#include "store/checks.h"
#include "store/deadlines.h"
#include "store/history.h"
#include "store/purge.h"
#include "store/row_cursor.h"
#include "store/scope.h"
#include "store/visibility.h"

namespace lapse {

using internal::check_key;
using internal::check_value;
using internal::FamilyWriter;
using internal::kExpectedAtOnce;
using internal::Row;
using std::chrono::milliseconds;

namespace {

Status invalid(std::string message) { return {StatusCode::kInvalidArgument, std::move(message)}; }

Status check_entry(std::string_view key, std::string_view value) {
  LAPSE_TRY(check_key(key));
  return check_value(value.size());
}

bool is_seen(const std::optional<Row>& row, const FamilyWriter& writer) {
  return row && internal::is_visible(row->deadline_ms, writer.now_ms());
}

Status check_revisions(const FamilyWriter& writer) {
  if (writer.record().keeps_revisions()) return {};
  return invalid("family " + internal::quoted(writer.family()->name) +
                 " has no revisions: turn on `revisions` or `history`");
}

Result<int64_t> parse_integer(std::string_view key, std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return invalid("the value of " + internal::quoted(key) +
                   " is not an integer of 64 bits: " + internal::quoted(text));
  return number;
}

Status check_only(Only only) {
  return only > Only::kIfSooner ? invalid("expire(): `only` is none of those that there are") : Status();
}

// Whether the key's present deadline is as the caller wants it.
bool allows(Only only, int64_t present_ms, int64_t wanted_ms) {
  switch (only) {
    case Only::kAlways: return true;
    case Only::kIfNone: return present_ms == kNever;
    case Only::kIfAny: return present_ms != kNever;
    case Only::kIfLater: return wanted_ms > present_ms;
    case Only::kIfSooner: return wanted_ms < present_ms;
  }
  return false;
}

Status check_touch(const TouchOptions& options) {
  if (options.if_left_below.count() < 0)
    return invalid("touch(): if_left_below of " + std::to_string(options.if_left_below.count()) +
                   " ms is negative");
  if (options.not_past_ms <= 0)
    return invalid("touch(): not_past_ms of " + std::to_string(options.not_past_ms) +
                   ": it must be after the beginning of 1970");
  return {};
}

bool needs_renewal(const Row& row, int64_t now_ms, const TouchOptions& options) {
  return row.deadline_ms != kNever && milliseconds(row.deadline_ms - now_ms) < options.if_left_below;
}

// Gives a visible key another deadline, if it may have that.
Result<bool> change_deadline(FamilyWriter* writer, std::string_view key, const Lifetime& lifetime,
                             Only only) {
  LAPSE_TRY(check_only(only));
  LAPSE_TRY_ASSIGN(const int64_t wanted_ms, writer->deadline_for(key, lifetime, std::nullopt));
  LAPSE_TRY_ASSIGN(const std::optional<Row> row, writer->visible_row(key));
  // It was visible until now: a deadline in the past must not say otherwise.
  const int64_t deadline_ms = std::max(wanted_ms, writer->now_ms());
  if (!row || !allows(only, row->deadline_ms, deadline_ms)) return false;
  LAPSE_TRY(writer->set_deadline(key, *row, deadline_ms));
  return true;
}

// Erases a batch of a range's keys; `range->from` is where to go on. Returns whether there may be more.
Result<bool> erase_some(FamilyWriter* writer, internal::KeyRange* range, uint64_t* erased) {
  const std::string prefix = internal::data_prefix(writer->id());
  const auto cursor = writer->transaction()->engine()->cursor(range->within(prefix));
  std::vector<std::string> keys;
  for (Status status = cursor->first(); keys.size() < internal::kBatchKeys; status = cursor->next()) {
    LAPSE_TRY(status);
    if (!cursor->valid()) break;
    keys.emplace_back(cursor->key().substr(prefix.size()));
  }
  internal::Batch batch(writer->transaction());
  for (const std::string& key : keys) {
    bool was_there = false;
    LAPSE_TRY_ASSIGN(const bool fits, batch.take([&]() -> Status {
      LAPSE_TRY_ASSIGN(was_there, writer->erase(key));
      return {};
    }));
    if (!fits) {
      range->from = key;
      return true;
    }
    *erased += was_there ? 1 : 0;
  }
  if (keys.size() < internal::kBatchKeys) return false;
  range->from = keys.back() + '\0';
  return true;
}

Result<uint64_t> erase_all(internal::Scope* scope, const std::shared_ptr<internal::Family>& family,
                           internal::KeyRange range) {
  uint64_t erased = 0;
  LAPSE_TRY(scope->run([&]() -> Status {
    for (bool more = true; more;) {
      internal::KeyRange rest;
      uint64_t erased_here = 0;
      LAPSE_TRY(scope->write(family, [&](FamilyWriter& writer) -> Status {
        rest = range;
        erased_here = 0;
        LAPSE_TRY_ASSIGN(more, erase_some(&writer, &rest, &erased_here));
        return {};
      }));
      range = std::move(rest);
      erased += erased_here;
    }
    return {};
  }));
  return erased;
}

}  // namespace

// --------------------------------------------------------------------------------------------- writing

namespace {

void expect_keys(const FamilyWriter& writer, std::span<const KeyValue> entries) {
  std::string_view keys[kExpectedAtOnce];
  const size_t count = std::min(entries.size(), kExpectedAtOnce);
  for (size_t i = 0; i < count; ++i) keys[i] = entries[i].first;
  writer.expect({keys, count});
}

}  // namespace

Status Keyspace::put(std::string_view key, std::string_view value, Lifetime lifetime) {
  LAPSE_TRY(check_entry(key, value));
  return scope_->write(family_, [&](FamilyWriter& writer) { return writer.put(key, value, lifetime); });
}

Status Keyspace::multi_put(std::span<const KeyValue> entries, Lifetime lifetime) {
  for (const auto& [key, value] : entries) LAPSE_TRY(check_entry(key, value));
  return scope_->write(family_, [&](FamilyWriter& writer) -> Status {
    if (entries.empty()) return internal::check_lifetime(lifetime, writer.now_ms());
    const bool reads = writer.record().reads_before_writes();
    for (size_t i = 0; i < entries.size(); ++i) {
      if (reads && i % kExpectedAtOnce == 0) expect_keys(writer, entries.subspan(i));
      LAPSE_TRY(writer.put(entries[i].first, entries[i].second, lifetime));
    }
    return {};
  });
}

Result<bool> Keyspace::put_if_absent(std::string_view key, std::string_view value, Lifetime lifetime) {
  LAPSE_TRY(check_entry(key, value));
  bool inserted = false;
  LAPSE_TRY(scope_->write(family_, [&](FamilyWriter& writer) -> Status {
    LAPSE_TRY(internal::check_lifetime(lifetime, writer.now_ms()));
    LAPSE_TRY_ASSIGN(const std::optional<Row> old, writer.stored_row(key));
    inserted = !is_seen(old, writer);
    return inserted ? writer.put_over(key, old, value, lifetime) : Status();
  }));
  return inserted;
}

Result<bool> Keyspace::compare_and_set(std::string_view key, std::string_view expected,
                                       std::string_view value, Lifetime lifetime) {
  LAPSE_TRY(check_entry(key, value));
  bool matched = false;
  LAPSE_TRY(scope_->write(family_, [&](FamilyWriter& writer) -> Status {
    LAPSE_TRY(internal::check_lifetime(lifetime, writer.now_ms()));
    LAPSE_TRY_ASSIGN(const std::optional<Row> old, writer.visible_row(key));
    matched = old && old->value == expected;
    return matched ? writer.put_over(key, old, value, lifetime) : Status();
  }));
  return matched;
}

Result<bool> Keyspace::compare_and_erase(std::string_view key, std::string_view expected) {
  LAPSE_TRY(check_key(key));
  bool matched = false;
  LAPSE_TRY(scope_->write(family_, [&](FamilyWriter& writer) -> Status {
    LAPSE_TRY_ASSIGN(const std::optional<Row> old, writer.visible_row(key));
    matched = old && old->value == expected;
    return matched ? writer.erase_row(key, *old) : Status();
  }));
  return matched;
}

Result<bool> Keyspace::compare_and_set_revision(std::string_view key, uint64_t expected,
                                                std::string_view value, Lifetime lifetime) {
  LAPSE_TRY(check_entry(key, value));
  bool matched = false;
  LAPSE_TRY(scope_->write(family_, [&](FamilyWriter& writer) -> Status {
    LAPSE_TRY(internal::check_lifetime(lifetime, writer.now_ms()));
    LAPSE_TRY(check_revisions(writer));
    LAPSE_TRY_ASSIGN(const std::optional<Row> old, writer.visible_row(key));
    matched = old && old->revision_number() == expected;
    return matched ? writer.put_over(key, old, value, lifetime) : Status();
  }));
  return matched;
}

Result<bool> Keyspace::compare_and_erase_revision(std::string_view key, uint64_t expected) {
  LAPSE_TRY(check_key(key));
  bool matched = false;
  LAPSE_TRY(scope_->write(family_, [&](FamilyWriter& writer) -> Status {
    LAPSE_TRY(check_revisions(writer));
    LAPSE_TRY_ASSIGN(const std::optional<Row> old, writer.visible_row(key));
    matched = old && old->revision_number() == expected;
    return matched ? writer.erase_row(key, *old) : Status();
  }));
  return matched;
}

Result<std::optional<std::string>> Keyspace::get_and_set(std::string_view key, std::string_view value,
                                                         Lifetime lifetime) {
  LAPSE_TRY(check_entry(key, value));
  std::optional<std::string> before;
  LAPSE_TRY(scope_->write(family_, [&](FamilyWriter& writer) -> Status {
    LAPSE_TRY_ASSIGN(const std::optional<Row> old, writer.stored_row(key));
    before = is_seen(old, writer) ? std::optional<std::string>(old->value) : std::nullopt;
    return writer.put_over(key, old, value, lifetime);
  }));
  return before;
}

Result<std::optional<std::string>> Keyspace::get_and_erase(std::string_view key) {
  LAPSE_TRY(check_key(key));
  std::optional<std::string> before;
  LAPSE_TRY(scope_->write(family_, [&](FamilyWriter& writer) -> Status {
    LAPSE_TRY_ASSIGN(const std::optional<Row> old, writer.visible_row(key));
    before = old ? std::optional<std::string>(old->value) : std::nullopt;
    return old ? writer.erase_row(key, *old) : Status();
  }));
  return before;
}

Result<Increment> Keyspace::increment(std::string_view key, int64_t by, const IncrementOptions& options) {
  LAPSE_TRY(check_key(key));
  if (options.min > options.max)
    return invalid("increment(): min " + std::to_string(options.min) + " is above max " +
                   std::to_string(options.max));
  Increment result{0, false};
  LAPSE_TRY(scope_->write(family_, [&](FamilyWriter& writer) -> Status {
    LAPSE_TRY(internal::check_lifetime(options.lifetime, writer.now_ms()));
    LAPSE_TRY_ASSIGN(const std::optional<Row> old, writer.stored_row(key));
    const bool is_there = is_seen(old, writer);
    int64_t present = 0;
    if (is_there) {
      LAPSE_TRY_ASSIGN(present, parse_integer(key, old->value));
    }
    int64_t sum = 0;
    if (__builtin_add_overflow(present, by, &sum))
      return invalid(std::to_string(present) + " + " + std::to_string(by) + " is beyond 64 bits");
    result = {present, sum >= options.min && sum <= options.max};
    if (!result.applied) return {};
    result.value = sum;
    return writer.put_over(key, old, std::to_string(sum), is_there ? Lifetime::keep() : options.lifetime);
  }));
  return result;
}

Result<uint64_t> Keyspace::append(std::string_view key, std::string_view suffix, Lifetime lifetime) {
  LAPSE_TRY(check_entry(key, suffix));
  uint64_t length = 0;
  LAPSE_TRY(scope_->write(family_, [&](FamilyWriter& writer) -> Status {
    LAPSE_TRY(internal::check_lifetime(lifetime, writer.now_ms()));
    LAPSE_TRY_ASSIGN(const std::optional<Row> old, writer.stored_row(key));
    const bool is_there = is_seen(old, writer);
    std::string value(is_there ? old->value : std::string_view());
    LAPSE_TRY(check_value(value.size() + suffix.size()));
    value.append(suffix);
    length = value.size();
    return writer.put_over(key, old, value, is_there ? Lifetime::keep() : lifetime);
  }));
  return length;
}

// --------------------------------------------------------------------------------------------- erasing

Result<bool> Keyspace::erase(std::string_view key) {
  LAPSE_TRY(check_key(key));
  bool was_there = false;
  LAPSE_TRY(scope_->write(family_, [&](FamilyWriter& writer) -> Status {
    LAPSE_TRY_ASSIGN(was_there, writer.erase(key));
    return {};
  }));
  return was_there;
}

Result<uint64_t> Keyspace::erase_prefix(std::string_view prefix) {
  LAPSE_TRY(check_key(prefix));
  return erase_all(scope_.get(), family_, internal::KeyRange::of(prefix, std::nullopt, std::nullopt));
}

Result<uint64_t> Keyspace::erase_range(std::string_view from, std::string_view to) {
  LAPSE_TRY(check_key(from));
  LAPSE_TRY(check_key(to));
  if (from > to)
    return invalid("erase_range(): from " + internal::quoted(from) + " lies behind to " +
                   internal::quoted(to));
  return erase_all(scope_.get(), family_, {std::string(from), std::string(to)});
}

Status Keyspace::clear() {
  return scope_->write(family_, [](FamilyWriter& writer) { return writer.clear(); });
}

// ------------------------------------------------------------------------------------------- lifetimes

Result<std::optional<Entry>> Keyspace::touch(std::string_view key, Ttl ttl, const TouchOptions& options) {
  LAPSE_TRY(check_key(key));
  LAPSE_TRY(check_touch(options));
  std::optional<Entry> entry;
  {
    LAPSE_TRY_ASSIGN(internal::ReadView view, scope_->read(family_));
    LAPSE_TRY_ASSIGN(const std::optional<Row> row, view.row(key));
    LAPSE_TRY(internal::check_lifetime(ttl, view.now_ms()));
    if (row) entry = internal::to_entry(*row, view.now_ms());
    if (!row || !needs_renewal(*row, view.now_ms(), options)) return entry;
  }
  // By a reading of its own, as it may have to wait: a key that has expired meanwhile was seen by others to be gone.
  LAPSE_TRY(scope_->write(family_, [&](FamilyWriter& writer) -> Status {
    const int64_t now_ms = writer.now_ms();
    LAPSE_TRY_ASSIGN(const std::optional<Row> row, writer.visible_row(key));
    entry = row ? std::optional(internal::to_entry(*row, now_ms)) : std::nullopt;
    if (!row || !needs_renewal(*row, now_ms, options)) return {};
    LAPSE_TRY_ASSIGN(const int64_t wanted_ms, writer.deadline_for(key, ttl, std::nullopt));
    const int64_t deadline_ms = std::max(now_ms, std::min(wanted_ms, options.not_past_ms));
    entry->deadline_ms = deadline_ms;
    entry->left = milliseconds(deadline_ms - now_ms);
    return writer.set_deadline(key, *row, deadline_ms);
  }));
  return entry;
}

Result<bool> Keyspace::expire(std::string_view key, Ttl ttl, Only only) {
  LAPSE_TRY(check_key(key));
  bool changed = false;
  LAPSE_TRY(scope_->write(family_, [&](FamilyWriter& writer) -> Status {
    LAPSE_TRY_ASSIGN(changed, change_deadline(&writer, key, ttl, only));
    return {};
  }));
  return changed;
}

Result<bool> Keyspace::expire_at(std::string_view key, int64_t deadline_ms, Only only) {
  LAPSE_TRY(check_key(key));
  bool changed = false;
  LAPSE_TRY(scope_->write(family_, [&](FamilyWriter& writer) -> Status {
    LAPSE_TRY_ASSIGN(changed, change_deadline(&writer, key, Lifetime::until(deadline_ms), only));
    return {};
  }));
  return changed;
}

Result<bool> Keyspace::persist(std::string_view key) {
  LAPSE_TRY(check_key(key));
  bool changed = false;
  LAPSE_TRY(scope_->write(family_, [&](FamilyWriter& writer) -> Status {
    LAPSE_TRY_ASSIGN(changed, change_deadline(&writer, key, Lifetime::forever(), Only::kIfAny));
    return {};
  }));
  return changed;
}

Result<PurgeResult> Keyspace::purge_expired(const PurgeOptions& options) {
  PurgeResult total;
  LAPSE_TRY(internal::purge_family(scope_.get(), family_, options, &total));
  return total;
}

// --------------------------------------------------------------------------------------------- history

Result<uint64_t> Keyspace::purge_history() {
  uint64_t purged = 0;
  std::string from;
  LAPSE_TRY(scope_->run([&]() -> Status {
    do {
      std::string next;
      uint64_t purged_here = 0;
      LAPSE_TRY(scope_->write(family_, [&](FamilyWriter& writer) -> Status {
        next = from;
        LAPSE_TRY_ASSIGN(purged_here,
                         internal::trim_some(writer.transaction(), writer.id(), writer.options().history,
                                             internal::kBatchKeys, &next));
        return {};
      }));
      from = std::move(next);
      purged += purged_here;
    } while (!from.empty());
    return {};
  }));
  return purged;
}

Result<bool> Keyspace::restore(std::string_view key, int64_t at_ms, Lifetime lifetime) {
  LAPSE_TRY(check_key(key));
  bool restored = false;
  LAPSE_TRY(scope_->write(family_, [&](FamilyWriter& writer) -> Status {
    LAPSE_TRY(internal::check_lifetime(lifetime, writer.now_ms()));
    if (!writer.options().history)
      return invalid("family " + internal::quoted(writer.family()->name) + " keeps no history");
    LAPSE_TRY(internal::check_past(at_ms, writer.transaction()->written_at_ms()));
    LAPSE_TRY_ASSIGN(const std::optional<Revision> past,
                     internal::revision_at(*writer.transaction()->engine(), writer.id(), key, at_ms));
    restored = past.has_value();
    return restored ? writer.put(key, past->value, lifetime) : Status();
  }));
  return restored;
}

}  // namespace lapse
