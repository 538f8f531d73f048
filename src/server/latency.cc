#include "server/latency.h"

#include <algorithm>

namespace lapse::server {

void LatencyMonitor::add(std::string_view event, int64_t at_ms, uint64_t ms) {
  Event& known = events_.try_emplace(std::string(event)).first->second;
  known.longest_ms = std::max(known.longest_ms, ms);
  const int64_t at_seconds = at_ms / 1000;
  if (!known.samples.empty() && known.samples.back().at_seconds == at_seconds) {
    known.samples.back().ms = std::max(known.samples.back().ms, ms);
    return;
  }
  known.samples.push_back({at_seconds, ms});
  if (known.samples.size() > kKept) known.samples.pop_front();
}

bool LatencyMonitor::forget(std::string_view event) {
  const auto at = events_.find(event);
  if (at == events_.end()) return false;
  events_.erase(at);
  return true;
}

}  // namespace lapse::server
