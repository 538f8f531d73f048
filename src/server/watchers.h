// Watchers: which sessions watch which keys.
//
// A change marks them at once, so that an EXEC later in the same turn sees it; if the turn's commit fails, the marks that it
// made are taken back. A key's end at its deadline needs no mark: EXEC looks at the deadline that the key had when the watch
// began.

#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/session.h"

namespace lapse::server {

class Watchers {
 public:
  void watch(Session* session, int db, std::string_view key, int64_t deadline_ms);
  void unwatch(Session* session);  // all that it watches

  bool empty() const { return by_key_.empty(); }
  void key_changed(int db, std::string_view key);
  void database_changed(int db);
  std::vector<std::string> watched_keys(int db) const;

  // What a command has marked goes with what it has done, if it fails.
  size_t marks() const { return marked_in_turn_.size(); }
  void take_back(size_t marks_before);

  void turn_committed() { marked_in_turn_.clear(); }
  void turn_failed() { take_back(0); }

 private:
  void mark(Session* session);

  std::map<DbKey, std::set<Session*>> by_key_;
  std::vector<Session*> marked_in_turn_;
};

}  // namespace lapse::server
