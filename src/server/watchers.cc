#include "server/watchers.h"

#include <algorithm>

namespace lapse::server {

void Watchers::watch(Session* session, int db, std::string_view key, int64_t deadline_ms) {
  DbKey watched{db, std::string(key)};
  const auto at = by_key_.find(watched);
  if (at != by_key_.end() && at->second.contains(session)) return;
  // The session's list comes first, since unwatch() goes by it: if there is no memory for more, nothing is left behind.
  session->watches.keys.push_back({watched, deadline_ms});
  session->watches.bytes += bytes_to_remember(key);
  by_key_[std::move(watched)].insert(session);
}

void Watchers::unwatch(Session* session) {
  for (const auto& watched : session->watches.keys) {
    const auto at = by_key_.find(watched.key);
    if (at == by_key_.end()) continue;
    at->second.erase(session);
    if (at->second.empty()) by_key_.erase(at);
  }
  session->watches = Watches();
  std::erase(marked_in_turn_, session);
}

void Watchers::mark(Session* session) {
  if (session->watches.touched) return;
  marked_in_turn_.push_back(session);
  session->watches.touched = true;
}

void Watchers::key_changed(int db, std::string_view key) {
  if (by_key_.empty()) return;
  const auto at = by_key_.find(DbKey{db, std::string(key)});
  if (at == by_key_.end()) return;
  for (Session* session : at->second) mark(session);
}

void Watchers::database_changed(int db) {
  for (auto at = by_key_.lower_bound(DbKey{db, ""}); at != by_key_.end() && at->first.db == db; ++at) {
    for (Session* session : at->second) mark(session);
  }
}

std::vector<std::string> Watchers::watched_keys(int db) const {
  std::vector<std::string> keys;
  for (auto at = by_key_.lower_bound(DbKey{db, ""}); at != by_key_.end() && at->first.db == db; ++at)
    keys.push_back(at->first.key);
  return keys;
}

void Watchers::take_back(size_t marks_before) {
  while (marked_in_turn_.size() > marks_before) {
    marked_in_turn_.back()->watches.touched = false;
    marked_in_turn_.pop_back();
  }
}

}  // namespace lapse::server
