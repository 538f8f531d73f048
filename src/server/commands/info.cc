// INFO: the state of the server, in sections of lines "name:value", under the names that clients look for.

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <type_traits>

#include "base/try.h"
#include "server/command_table.h"
#include "server/process_info.h"
#include "server/server.h"
#include "server/text.h"
#include "server/version.h"

namespace lapse::server {

namespace {

class Text {
 public:
  void begin_section(std::string_view title) {
    if (!text_.empty()) text_ += "\r\n";
    text_.append("# ").append(title).append("\r\n");
  }
  void add(std::string_view name, std::string_view value) {
    text_.append(name).append(":").append(value).append("\r\n");
  }
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void add(std::string_view name, Number number) { add(name, std::string_view(std::to_string(number))); }
  // Twice: as a number, and for people.
  void add_bytes(const std::string& name, uint64_t bytes) {
    add(name, bytes);
    add(name + "_human", readable_bytes(bytes));
  }
  const std::string& text() const { return text_; }

 private:
  static std::string readable_bytes(uint64_t bytes) {
    if (bytes < 1024) return std::to_string(bytes) + "B";
    constexpr std::string_view kUnits = "KMGTPE";
    auto amount = static_cast<double>(bytes) / 1024;
    size_t unit = 0;
    for (; amount >= 1024; ++unit) amount /= 1024;
    std::array<char, 32> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.2f%c", amount, kUnits[unit]);
    return buffer.data();
  }

  std::string text_;
};

std::string fixed(double number, int digits) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*f", digits, number);
  return buffer.data();
}

// ------------------------------------------------------------------------------------- the process

Status server(Call& call, Text* out) {
  const Config& config = call.server.config();
  const ProcessInfo process = read_process_info();
  const int64_t up_seconds = (call.now_ms() - call.server.started_at_ms()) / 1000;
  out->add("redis_version", kRedisVersion);
  out->add("lapse_version", kVersion);
  out->add("redis_mode", "standalone");
  out->add("os", process.system);
  out->add("arch_bits", 64);
  out->add("multiplexing_api", "epoll");
  out->add("process_id", process.id);
  out->add("run_id", call.server.run_id());
  out->add("tcp_port", config.port);
  out->add("server_time_usec", call.now_ms() * 1000);
  out->add("uptime_in_seconds", up_seconds);
  out->add("uptime_in_days", up_seconds / 86'400);
  out->add("executable", process.executable);
  out->add("config_file", config.config_file);
  return {};
}

Status clients(Call& call, Text* out) {
  size_t longest_input = 0;
  size_t longest_output = 0;
  int64_t subscribers = 0;
  for (const auto& [id, session] : call.server.sessions()) {
    longest_input = std::max(longest_input, session->input.size());
    longest_output = std::max(longest_output, session->output.pending_bytes());
    if (session->subscribed()) ++subscribers;
  }
  out->add("connected_clients", call.server.sessions().size());
  out->add("cluster_connections", 0);
  out->add("maxclients", call.server.config().max_clients);
  out->add("client_recent_max_input_buffer", longest_input);
  out->add("client_recent_max_output_buffer", longest_output);
  out->add("blocked_clients", 0);
  out->add("tracking_clients", 0);
  out->add("pubsub_clients", subscribers);
  return {};
}

Status memory(Call& /*call*/, Text* out) {
  const ProcessInfo process = read_process_info();
  out->add_bytes("used_memory", process.anonymous_bytes);
  out->add_bytes("used_memory_rss", process.resident_bytes);
  out->add_bytes("used_memory_peak", std::max(process.anonymous_bytes, process.peak_resident_bytes));
  out->add_bytes("total_system_memory", process.machine_bytes);
  out->add_bytes("maxmemory", 0);
  out->add("maxmemory_policy", "noeviction");
  out->add("mem_fragmentation_ratio",
           fixed(static_cast<double>(process.resident_bytes) /
                     static_cast<double>(std::max<uint64_t>(1, process.anonymous_bytes)),
                 2));
  out->add("mem_allocator", "libc");
  return {};
}

Status cpu(Call& /*call*/, Text* out) {
  const ProcessInfo process = read_process_info();
  out->add("used_cpu_sys", fixed(process.system_seconds, 6));
  out->add("used_cpu_user", fixed(process.user_seconds, 6));
  out->add("used_cpu_sys_children", "0.000000");
  out->add("used_cpu_user_children", "0.000000");
  return {};
}

// --------------------------------------------------------------------------------------- the store

Status persistence(Call& call, Text* out) {
  const StoreStats stats = call.server.store().stats();
  const bool in_memory = call.server.config().file.empty();
  out->add("loading", 0);
  out->add("async_loading", 0);
  out->add("rdb_changes_since_last_save", stats.last_revision - stats.durable_revision);
  out->add("rdb_bgsave_in_progress", call.server.saving_in_background() ? 1 : 0);
  out->add("rdb_last_save_time", call.server.saved_at_ms() / 1000);
  out->add("rdb_last_bgsave_status", call.server.saved_well() ? "ok" : "err");
  out->add("aof_enabled", in_memory ? 0 : 1);
  out->add("aof_rewrite_in_progress", 0);
  out->add("aof_last_bgrewrite_status", "ok");
  out->add("aof_last_write_status", stats.background_error.ok() ? "ok" : "err");
  out->add("aof_current_size", stats.journal_bytes);
  return {};
}

// Keys that are due count in the estimate until they are removed, and do not in the count: both are cheap in families
// that keep count.
Result<uint64_t> count_due(Call& call) {
  uint64_t due = 0;
  for (int db = 0; db < call.server.databases().numbered(); ++db) {
    LAPSE_TRY_ASSIGN(const Reader* keys, call.read(db));
    LAPSE_TRY_ASSIGN(const uint64_t stored, keys->estimated_count());
    LAPSE_TRY_ASSIGN(const uint64_t visible, keys->count());
    due += stored - std::min(stored, visible);
  }
  return due;
}

Status lapse(Call& call, Text* out) {
  const Statistics& statistics = call.server.statistics();
  const Expirer& expirer = call.server.expirer();
  const StoreStats stats = call.server.store().stats();
  LAPSE_TRY_ASSIGN(const uint64_t due, count_due(call));
  out->add("expired_keys", statistics.expired);
  out->add("purged_keys", statistics.purged);
  out->add("due_but_present_keys", due);
  out->add("expiry_lag_ms", expirer.lag_ms());
  out->add("expiry_longest_lag_ms", expirer.longest_lag_ms());
  out->add("next_expiry_ms", expirer.next_deadline_ms() == kNever ? -1 : expirer.next_deadline_ms());
  out->add("misses_by_expiry", statistics.misses_by_expiry);
  out->add("turns", statistics.turns);
  out->add("commits", statistics.commits);
  out->add("syncs", stats.syncs);
  out->add("last_revision", stats.last_revision);
  out->add("durable_revision", stats.durable_revision);
  out->add("unsynced_age_ms", stats.unsynced_age_ms);
  out->add("file_bytes", stats.file_bytes);
  out->add("free_bytes", stats.free_bytes);
  out->add("journal_bytes", stats.journal_bytes);
  out->add("buffer_bytes", stats.buffer_bytes);
  out->add("oldest_snapshot_ms", stats.oldest_snapshot_ms);
  out->add("clock_in_doubt", stats.clock_in_doubt ? 1 : 0);
  out->add("background_error", stats.background_error.ok() ? "" : stats.background_error.message());
  return {};
}

struct Lifetimes {
  uint64_t keys = 0;  // that have a deadline
  int64_t average_ms = 0;
};

// Exact as long as there are few, so that INFO costs the same for any number of keys; else by a sample of the first keys
// in byte order.
Result<Lifetimes> lifetimes_of(const Reader& keys, uint64_t count, int64_t now_ms) {
  constexpr size_t kFew = 2'048;
  LAPSE_TRY_ASSIGN(const std::vector<Expiring> expiring, keys.expiring(now_ms, kNever, kFew));
  double sum_ms = 0;
  if (expiring.size() < kFew) {
    for (const Expiring& key : expiring) sum_ms += static_cast<double>(key.deadline_ms - now_ms);
    const auto size = static_cast<double>(std::max<size_t>(expiring.size(), 1));
    return Lifetimes{expiring.size(), static_cast<int64_t>(sum_ms / size)};
  }
  LAPSE_TRY_ASSIGN(Iterator iterator, keys.iterate());
  uint64_t seen = 0;
  uint64_t with_deadline = 0;
  for (; iterator.valid() && seen < kFew; iterator.next(), ++seen) {
    if (iterator.deadline_ms() == kNever) continue;
    ++with_deadline;
    sum_ms += static_cast<double>(iterator.deadline_ms() - now_ms);
  }
  LAPSE_TRY(iterator.status());
  const auto average_ms =
      static_cast<int64_t>(sum_ms / static_cast<double>(std::max<uint64_t>(with_deadline, 1)));
  return Lifetimes{std::max<uint64_t>(kFew, count * with_deadline / std::max<uint64_t>(seen, 1)), average_ms};
}

Status keyspace(Call& call, Text* out) {
  for (int db = 0; db < call.server.databases().numbered(); ++db) {
    LAPSE_TRY_ASSIGN(const Reader* keys, call.read(db));
    LAPSE_TRY_ASSIGN(const uint64_t count, keys->count());
    if (count == 0) continue;
    LAPSE_TRY_ASSIGN(const Lifetimes lifetimes, lifetimes_of(*keys, count, call.now_ms()));
    out->add("db" + std::to_string(db), "keys=" + std::to_string(count) +
                                            ",expires=" + std::to_string(lifetimes.keys) +
                                            ",avg_ttl=" + std::to_string(lifetimes.average_ms));
  }
  return {};
}

// -------------------------------------------------------------------------------------- the commands

Status stats(Call& call, Text* out) {
  const Statistics& statistics = call.server.statistics();
  out->add("total_connections_received", statistics.connections);
  out->add("total_commands_processed", statistics.commands);
  out->add("instantaneous_ops_per_sec", statistics.commands_per_second);
  out->add("total_net_input_bytes", statistics.bytes_in);
  out->add("total_net_output_bytes", statistics.bytes_out);
  out->add("rejected_connections", statistics.connections_rejected);
  out->add("sync_full", 0);
  out->add("sync_partial_ok", 0);
  out->add("sync_partial_err", 0);
  out->add("expired_keys", statistics.expired);
  out->add("evicted_keys", 0);
  out->add("evicted_clients", 0);
  out->add("keyspace_hits", statistics.hits);
  out->add("keyspace_misses", statistics.misses);
  out->add("pubsub_channels", call.server.pubsub().channels().size());
  out->add("pubsub_patterns", call.server.pubsub().pattern_count());
  out->add("pubsubshard_channels", 0);
  out->add("latest_fork_usec", 0);
  out->add("total_error_replies", statistics.error_replies);
  out->add("client_query_buffer_limit_disconnections", statistics.clients_over_query_limit);
  out->add("client_output_buffer_limit_disconnections", statistics.clients_over_output_limit);
  return {};
}

Status replication(Call& /*call*/, Text* out) {
  out->add("role", "master");
  out->add("connected_slaves", 0);
  out->add("master_failover_state", "no-failover");
  out->add("master_repl_offset", 0);
  return {};
}

Status commandstats(Call& call, Text* out) {
  const auto& by_command = call.server.statistics().by_command;
  std::map<std::string_view, const CommandStatistics*> by_name;
  for (const auto& [command, statistics] : by_command) by_name.emplace(command->name, &statistics);
  for (const auto& [name, statistics] : by_name) {
    const auto calls = static_cast<double>(std::max<uint64_t>(statistics->calls, 1));
    out->add("cmdstat_" + std::string(name),
             "calls=" + std::to_string(statistics->calls) + ",usec=" + std::to_string(statistics->us) +
                 ",usec_per_call=" + fixed(static_cast<double>(statistics->us) / calls, 2) +
                 ",rejected_calls=" + std::to_string(statistics->rejected) +
                 ",failed_calls=" + std::to_string(statistics->failed));
  }
  return {};
}

Status errorstats(Call& call, Text* out) {
  for (const auto& [code, count] : call.server.statistics().errors_by_code)
    out->add("errorstat_" + code, "count=" + std::to_string(count));
  return {};
}

Status cluster(Call& /*call*/, Text* out) {
  out->add("cluster_enabled", 0);
  return {};
}

// ----------------------------------------------------------------------------------------------- INFO

struct Section {
  std::string_view name;
  std::string_view title;
  bool by_default;
  Status (*write)(Call& call, Text* out);
};

constexpr auto kSections = std::to_array<Section>({
    {"server", "Server", true, server},
    {"clients", "Clients", true, clients},
    {"memory", "Memory", true, memory},
    {"persistence", "Persistence", true, persistence},
    {"stats", "Stats", true, stats},
    {"replication", "Replication", true, replication},
    {"cpu", "CPU", true, cpu},
    {"commandstats", "Commandstats", false, commandstats},
    {"errorstats", "Errorstats", true, errorstats},
    {"lapse", "Lapse", true, lapse},
    {"cluster", "Cluster", true, cluster},
    {"keyspace", "Keyspace", true, keyspace},
});

bool is_wanted(const Section& section, std::span<const std::string_view> words) {
  if (words.empty()) return section.by_default;
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return same_word(word, section.name) || same_word(word, "all") || same_word(word, "everything") ||
           (section.by_default && same_word(word, "default"));
  });
}

Status info(Call& call) {
  Text out;
  for (const Section& section : kSections) {
    if (!is_wanted(section, call.arguments.subspan(1))) continue;
    out.begin_section(section.title);
    LAPSE_TRY(section.write(call, &out));
  }
  call.reply.verbatim(out.text());
  return {};
}

constexpr Command kCommands[] = {
    {"info",
     -1,
     kLoading | kStale,
     {},
     "server",
     "1.0.0",
     "Tells the state of the server, in sections.",
     info},
};

}  // namespace

std::span<const Command> info_commands() { return kCommands; }

}  // namespace lapse::server
