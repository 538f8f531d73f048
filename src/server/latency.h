// LatencyMonitor: what took longer than latency-monitor-threshold, and when.
//
// Events: "command" and "fast-command" (those that should not take long), "commit" (a turn's), "expire-cycle" (the removal
// of keys that are due).

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

namespace lapse::server {

class LatencyMonitor {
 public:
  static constexpr size_t kKept = 160;  // samples of an event, as Redis keeps

  struct Sample {
    int64_t at_seconds;
    uint64_t ms;
  };
  struct Event {
    std::deque<Sample> samples;  // oldest first; of each second, the longest
    uint64_t longest_ms = 0;
  };
  using Events = std::map<std::string, Event, std::less<>>;

  void add(std::string_view event, int64_t at_ms, uint64_t ms);
  // Whether there was such an event.
  bool forget(std::string_view event);
  const Events& events() const { return events_; }

 private:
  Events events_;
};

}  // namespace lapse::server
