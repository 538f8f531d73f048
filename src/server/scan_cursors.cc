#include "server/scan_cursors.h"

namespace lapse::server {

uint64_t ScanCursors::add(std::string_view after_key, size_t most) {
  by_use_.push_front({++last_, std::string(after_key)});
  by_cursor_[last_] = by_use_.begin();
  while (by_use_.size() > most && by_use_.size() > 1) {
    by_cursor_.erase(by_use_.back().cursor);
    by_use_.pop_back();
  }
  return last_;
}

std::optional<std::string> ScanCursors::find(uint64_t cursor) {
  const auto at = by_cursor_.find(cursor);
  if (at == by_cursor_.end()) return std::nullopt;
  by_use_.splice(by_use_.begin(), by_use_, at->second);
  return at->second->after_key;
}

}  // namespace lapse::server
