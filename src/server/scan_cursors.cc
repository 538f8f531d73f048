#include "server/scan_cursors.h"

namespace lapse::server {

uint64_t ScanCursors::add(std::string_view after_key, size_t most) {
  live_.push_front({++last_, std::string(after_key), false});
  by_cursor_[last_] = live_.begin();
  while (by_cursor_.size() > most && by_cursor_.size() > 1) {
    Positions& oldest = superseded_.empty() ? live_ : superseded_;
    by_cursor_.erase(oldest.back().cursor);
    oldest.pop_back();
  }
  return last_;
}

std::optional<std::string> ScanCursors::find(uint64_t cursor) {
  const auto at = by_cursor_.find(cursor);
  if (at == by_cursor_.end()) return std::nullopt;
  return at->second->after_key;
}

// It may have been superseded before, by a call that was repeated: from whichever list it comes, it is the youngest here.
void ScanCursors::supersede(uint64_t cursor) {
  const auto at = by_cursor_.find(cursor);
  if (at == by_cursor_.end()) return;
  superseded_.splice(superseded_.begin(), at->second->superseded ? superseded_ : live_, at->second);
  at->second->superseded = true;
}

}  // namespace lapse::server
