// LATENCY: what took longer than it should, and when.

#include "server/latency.h"

#include <algorithm>
#include <map>

#include "server/command_table.h"
#include "server/commands/help.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

Status latest(Call& call) {
  const LatencyMonitor::Events& events = call.server.latency().events();
  call.reply.array(events.size());
  for (const auto& [name, event] : events) {
    call.reply.array(4);
    call.reply.bulk(name);
    call.reply.integer(event.samples.back().at_seconds);
    call.reply.integer(static_cast<int64_t>(event.samples.back().ms));
    call.reply.integer(static_cast<int64_t>(event.longest_ms));
  }
  return {};
}

Status history(Call& call) {
  const LatencyMonitor::Events& events = call.server.latency().events();
  const auto found = events.find(call[2]);
  if (found == events.end()) {
    call.reply.array(0);
    return {};
  }
  call.reply.array(found->second.samples.size());
  for (const LatencyMonitor::Sample& sample : found->second.samples) {
    call.reply.array(2);
    call.reply.integer(sample.at_seconds);
    call.reply.integer(static_cast<int64_t>(sample.ms));
  }
  return {};
}

// LATENCY RESET [event …]
Status reset(Call& call) {
  LatencyMonitor& monitor = call.server.latency();
  int64_t forgotten = 0;
  for (const std::string_view event : call.arguments.subspan(2)) forgotten += monitor.forget(event) ? 1 : 0;
  if (call.size() == 2) {
    forgotten = static_cast<int64_t>(monitor.events().size());
    monitor = LatencyMonitor();
  }
  call.reply.integer(forgotten);
  return {};
}

// The named commands that were called, or all; of one with subcommands, those.
std::map<std::string_view, const CommandStatistics*> called_commands(const Call& call) {
  std::map<std::string_view, const CommandStatistics*> called;
  const std::span<const std::string_view> names = call.arguments.subspan(2);
  for (const auto& [command, statistics] : call.server.statistics().by_command) {
    const std::string_view whole = command->name;
    const std::string_view parent = whole.substr(0, whole.find('|'));
    const auto is_meant = [&](std::string_view name) {
      return same_word(name, whole) || same_word(name, parent);
    };
    if (statistics.calls == 0 || (!names.empty() && std::none_of(names.begin(), names.end(), is_meant)))
      continue;
    called.emplace(whole, &statistics);
  }
  return called;
}

// LATENCY HISTOGRAM [command …]. Counts include those of all shorter calls, and are left out where they do not grow.
Status histogram(Call& call) {
  const auto called = called_commands(call);
  call.reply.map(called.size());
  for (const auto& [name, statistics] : called) {
    const auto& by_duration = statistics->by_duration;
    call.reply.bulk(name);
    call.reply.map(2);
    call.reply.bulk("calls");
    call.reply.integer(static_cast<int64_t>(statistics->calls));
    call.reply.bulk("histogram_usec");
    const auto empty = std::count(by_duration.begin(), by_duration.end(), 0U);
    call.reply.map(by_duration.size() - static_cast<size_t>(empty));
    uint64_t calls = 0;
    for (size_t i = 0; i < by_duration.size(); ++i) {
      if (by_duration[i] == 0) continue;
      calls += by_duration[i];
      call.reply.integer(static_cast<int64_t>(CommandStatistics::longest_us(i)));
      call.reply.integer(static_cast<int64_t>(calls));
    }
  }
  return {};
}

Status doctor(Call& call) {
  const LatencyMonitor::Events& events = call.server.latency().events();
  std::string report;
  if (call.server.config().latency_threshold_ms == 0) {
    report =
        "Nothing is being watched: CONFIG SET latency-monitor-threshold <milliseconds> says from when on "
        "something is "
        "worth a note.\n";
  } else if (events.empty()) {
    report = "Nothing has taken longer than latency-monitor-threshold.\n";
  }
  for (const auto& [name, event] : events) {
    report += name + ": " + std::to_string(event.samples.size()) + " seconds with spikes, the longest of " +
              std::to_string(event.longest_ms) + " ms, the latest of " +
              std::to_string(event.samples.back().ms) + " ms.\n";
  }
  call.reply.verbatim(report);
  return {};
}

constexpr uint32_t kFlags = kAdmin | kNoScript | kLoading | kStale;

constexpr Command kLatencyCommands[] = {
    {"latency|doctor", 2, kFlags, {}, "server", "2.8.13", "Says in words what took long.", doctor},
    help_row("latency|help", "server", "2.8.13"),
    {"latency|histogram",
     -2,
     kFlags,
     {},
     "server",
     "7.0.0",
     "Returns how many calls of commands took how long.",
     histogram},
    {"latency|history", 3, kFlags, {}, "server", "2.8.13", "Returns the spikes of an event.", history},
    {"latency|latest", 2, kFlags, {}, "server", "2.8.13", "Returns the latest spike of each event.", latest},
    {"latency|reset", -2, kFlags, {}, "server", "2.8.13", "Forgets the spikes of all or some events.", reset},
};

constexpr Command kCommands[] = {
    {"latency",
     -2,
     0,
     {},
     "server",
     "2.8.13",
     "Tells what took longer than it should.",
     nullptr,
     kLatencyCommands},
};

}  // namespace

std::span<const Command> latency_commands() { return kCommands; }

}  // namespace lapse::server
