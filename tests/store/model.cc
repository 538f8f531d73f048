#include "model.h"

#include <algorithm>
#include <utility>

namespace lapse::model {

namespace {

// A revision ends at its deadline, if that comes before anything else does: by the clock, or by the dates, where those are
// ahead of it and the deadline is not behind them from the start.
void end(Revision* revision, const Moment& at, Ending how) {
  const bool expired =
      revision->deadline_ms <= at.now_ms ||
      (revision->deadline_ms > revision->written_at_ms && revision->deadline_ms <= at.written_at_ms);
  const bool was_seen = revision->deadline_ms > revision->written_at_ms;  // by those who look back
  const int64_t replaced_at_ms = was_seen ? at.written_at_ms : revision->written_at_ms;
  revision->ended_at_ms = expired ? revision->deadline_ms : replaced_at_ms;
  revision->ending = expired ? Ending::kExpired : how;
}

Revision to_revision(const Row& row) {
  Revision revision;
  revision.value = row.value;
  revision.revision = row.revision;
  revision.written_at_ms = row.written_at_ms;
  revision.deadline_ms = row.deadline_ms;
  return revision;
}

}  // namespace

// --------------------------------------------------------------------------------------------- reading

const Row* Family::stored(const std::string& key) const {
  const auto found = keys_.find(key);
  return found != keys_.end() && found->second.row ? &*found->second.row : nullptr;
}

const Row* Family::visible(const std::string& key, int64_t now_ms) const {
  const Row* row = stored(key);
  return row && row->is_visible(now_ms) ? row : nullptr;
}

std::map<std::string, Row> Family::all_visible(int64_t now_ms) const {
  std::map<std::string, Row> all;
  for (const auto& [key, state] : keys_) {
    if (state.row && state.row->is_visible(now_ms)) all[key] = *state.row;
  }
  return all;
}

std::vector<Expiring> Family::expiring(int64_t from_ms, int64_t to_ms, int64_t now_ms) const {
  std::vector<Expiring> all;
  for (const auto& [key, row] : all_visible(now_ms)) {
    if (row.deadline_ms != kNever && row.deadline_ms >= from_ms && row.deadline_ms < to_ms) {
      all.push_back({key, row.deadline_ms});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Expiring& a, const Expiring& b) { return a.deadline_ms < b.deadline_ms; });
  return all;
}

std::vector<uint64_t> Family::forecast(int64_t width_ms, size_t buckets, int64_t now_ms) const {
  std::vector<uint64_t> counts;
  for (size_t i = 0; i < buckets; ++i) {
    const int64_t from_ms = now_ms + static_cast<int64_t>(i) * width_ms;
    counts.push_back(expiring(from_ms, from_ms + width_ms, now_ms).size());
  }
  return counts;
}

int64_t Family::earliest_deadline_ms() const {
  int64_t earliest_ms = kNever;
  for (const auto& [key, state] : keys_) {
    if (state.row) earliest_ms = std::min(earliest_ms, state.row->deadline_ms);
  }
  return earliest_ms;
}

size_t Family::stored_count() const {
  return static_cast<size_t>(std::count_if(keys_.begin(), keys_.end(),
                                           [](const auto& entry) { return entry.second.row.has_value(); }));
}

int64_t Family::latest_date_ms() const {
  int64_t latest_ms = 0;
  for (const auto& [key, state] : keys_) {
    if (state.row) latest_ms = std::max(latest_ms, state.row->written_at_ms);
    for (const PastRow& past : state.past) latest_ms = std::max(latest_ms, past.revision.written_at_ms);
  }
  return latest_ms;
}

std::vector<Revision> Family::history(const std::string& key, int64_t now_ms) const {
  std::vector<Revision> revisions;
  const auto found = keys_.find(key);
  if (found == keys_.end()) return revisions;
  if (found->second.row) {
    revisions.push_back(to_revision(*found->second.row));
    if (!found->second.row->is_visible(now_ms)) end(&revisions.back(), {now_ms, now_ms}, Ending::kExpired);
  }
  const auto& past = found->second.past;
  for (auto row = past.rbegin(); row != past.rend(); ++row) revisions.push_back(row->revision);
  return revisions;
}

std::optional<std::string> Family::get_at(const std::string& key, int64_t at_ms) const {
  // Of several that were written at one moment, the last counts.
  for (const Revision& revision : history(key, at_ms)) {
    if (revision.written_at_ms > at_ms) continue;
    return at_ms < revision.ended_at_ms ? std::optional(revision.value) : std::nullopt;
  }
  return std::nullopt;
}

std::map<std::string, std::string> Family::all_at(int64_t at_ms) const {
  std::map<std::string, std::string> all;
  for (const auto& [key, state] : keys_) {
    if (const auto value = get_at(key, at_ms)) all[key] = *value;
  }
  return all;
}

// --------------------------------------------------------------------------------------------- writing

int64_t Family::deadline_for(Lifetime lifetime, int64_t now_ms, const Row* present) const {
  int64_t deadline_ms = options.default_ttl.count() > 0 ? now_ms + options.default_ttl.count() : kNever;
  switch (lifetime.kind()) {
    case Lifetime::Kind::kDefault: break;
    case Lifetime::Kind::kPermanent: deadline_ms = kNever; break;
    case Lifetime::Kind::kTtl: deadline_ms = now_ms + lifetime.ms(); break;
    case Lifetime::Kind::kUntil: deadline_ms = lifetime.ms(); break;
    case Lifetime::Kind::kKeep:
      if (present) deadline_ms = present->deadline_ms;
      break;
  }
  return options.max_ttl.count() > 0 ? std::min(deadline_ms, now_ms + options.max_ttl.count()) : deadline_ms;
}

void Family::put(const std::string& key, const std::string& value, Lifetime lifetime, const Moment& at) {
  Row row;
  row.value = value;
  row.deadline_ms = deadline_for(lifetime, at.now_ms, visible(key, at.now_ms));
  row.written_at_ms = at.written_at_ms;
  row.revision = at.revision;
  replace(key, row, at);
}

bool Family::erase(const std::string& key, const Moment& at) {
  const bool was_there = visible(key, at.now_ms) != nullptr;
  if (stored(key)) replace(key, std::nullopt, at);
  return was_there;
}

void Family::set_deadline(const std::string& key, int64_t deadline_ms) {
  keys_[key].row->deadline_ms = deadline_ms;
}

void Family::remove_expired(const std::string& key, const Moment& at) { replace(key, std::nullopt, at); }

uint64_t Family::purge_expired(uint64_t limit, const Moment& at) {
  std::vector<std::pair<int64_t, std::string>> due;
  for (const auto& [key, state] : keys_) {
    if (state.row && !state.row->is_visible(at.now_ms)) due.emplace_back(state.row->deadline_ms, key);
  }
  std::sort(due.begin(), due.end());
  if (due.size() > limit) due.resize(limit);
  for (const auto& [deadline_ms, key] : due) remove_expired(key, at);
  return due.size();
}

uint64_t Family::purge_history(const Moment& at) {
  uint64_t trimmed = 0;
  for (auto& [key, state] : keys_) trimmed += trim(&state, at);
  return trimmed;
}

void Family::replace(const std::string& key, std::optional<Row> next, const Moment& at) {
  KeyState& state = keys_[key];
  if (options.history) {
    if (state.trimmed_by == at.revision)
      state.past.insert(state.past.begin(), state.trimmed.begin(), state.trimmed.end());
    state.trimmed.clear();
    // What the same transaction wrote was never there for anyone.
    if (state.row && state.row->revision != at.revision) {
      state.past.push_back({to_revision(*state.row), at.revision});
    }
    // What this commit ended was overwritten, unless it erased it at any time.
    if (!state.past.empty() && state.past.back().ended_by == at.revision &&
        state.past.back().revision.ending != Ending::kErased) {
      end(&state.past.back().revision, at, next ? Ending::kOverwritten : Ending::kErased);
    }
  }
  state.row = std::move(next);
  trim(&state, at);
}

uint64_t Family::trim(KeyState* state, const Moment& at) const {
  if (!options.history) return 0;
  const HistoryPolicy& policy = *options.history;
  if (std::exchange(state->trimmed_by, at.revision) != at.revision) state->trimmed.clear();
  uint64_t trimmed = 0;
  while (!state->past.empty()) {
    const size_t kept = state->past.size() + (state->row ? 1 : 0);
    const Revision& oldest = state->past.front().revision;
    const int64_t ended_ms = std::max(oldest.ended_at_ms, oldest.written_at_ms);
    const bool too_many = policy.keep_last > 0 && kept > policy.keep_last;
    const bool too_old = policy.keep_for.count() > 0 && at.written_at_ms - ended_ms > policy.keep_for.count();
    if (!too_many && !too_old) break;
    state->trimmed.push_back(state->past.front());
    state->past.erase(state->past.begin());
    ++trimmed;
  }
  return trimmed;
}

}  // namespace lapse::model
