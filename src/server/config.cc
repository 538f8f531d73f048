#include "server/config.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <utility>

#include "base/try.h"
#include "resp/request_parser.h"
#include "server/events.h"
#include "server/text.h"

namespace lapse::server {

namespace {

Status must_be(std::string_view what) {
  return {StatusCode::kInvalidArgument, "argument must be " + std::string(what)};
}

// ------------------------------------------------------------------------------- kinds of settings

template <int64_t Config::*kField, int64_t kMin, int64_t kMax>
Status set_integer(Config* config, std::string_view text) {
  const std::optional<int64_t> number = to_integer(text);
  if (!number) return {StatusCode::kInvalidArgument, "argument couldn't be parsed into an integer"};
  if (*number < kMin || *number > kMax)
    return must_be("between " + std::to_string(kMin) + " and " + std::to_string(kMax) + " inclusive");
  config->*kField = *number;
  return {};
}

template <int64_t Config::*kField>
std::string get_integer(const Config& config) {
  return std::to_string(config.*kField);
}

// A number with a unit: 1k is 1,000, 1kb is 1,024, and so on for m and g.
std::optional<int64_t> to_bytes(std::string_view text) {
  struct Unit {
    std::string_view name;
    int64_t bytes;
  };
  constexpr std::array<Unit, 7> kUnits = {{{"kb", 1L << 10},
                                           {"mb", 1L << 20},
                                           {"gb", 1L << 30},
                                           {"k", 1'000},
                                           {"m", 1'000'000},
                                           {"g", 1'000'000'000},
                                           {"b", 1}}};
  const std::string small = small_letters(text);
  std::string_view digits = small;
  int64_t unit = 1;
  for (const auto& [name, bytes] : kUnits) {
    if (!digits.ends_with(name)) continue;
    digits.remove_suffix(name.size());
    unit = bytes;
    break;
  }
  const std::optional<int64_t> number = to_integer(digits);
  if (!number || *number < 0 || *number > std::numeric_limits<int64_t>::max() / unit) return std::nullopt;
  return *number * unit;
}

template <int64_t Config::*kField, int64_t kMin>
Status set_bytes(Config* config, std::string_view text) {
  const std::optional<int64_t> bytes = to_bytes(text);
  if (!bytes) return must_be("a memory value");
  if (*bytes < kMin) return must_be("at least " + std::to_string(kMin));
  config->*kField = *bytes;
  return {};
}

template <std::string Config::*kField>
Status set_text(Config* config, std::string_view text) {
  config->*kField = text;
  return {};
}

template <std::string Config::*kField>
std::string get_text(const Config& config) {
  return config.*kField;
}

std::vector<std::string> words(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> found;
  for (std::string word; in >> word;) found.push_back(word);
  return found;
}

// ---------------------------------------------------------------------------------- single settings

Status set_bind(Config* config, std::string_view text) {
  config->bind = words(text);
  return {};
}

std::string get_bind(const Config& config) {
  std::string text;
  for (const std::string& address : config.bind) text += (text.empty() ? "" : " ") + address;
  return text;
}

// In octal, as chmod has them.
Status set_permissions(Config* config, std::string_view text) {
  int64_t permissions = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), permissions, 8);
  if (error != std::errc() || end != text.data() + text.size() || permissions < 0 || permissions > 0777)
    return must_be("between 0 and 777 in octal");
  config->unix_socket_permissions = permissions;
  return {};
}

std::string get_permissions(const Config& config) {
  std::ostringstream text;
  text << std::oct << config.unix_socket_permissions;
  return text.str();
}

Status set_protected_mode(Config* config, std::string_view text) {
  if (!same_word(text, "yes") && !same_word(text, "no")) return must_be("'yes' or 'no'");
  config->protected_mode = same_word(text, "yes");
  return {};
}

std::string get_protected_mode(const Config& config) { return config.protected_mode ? "yes" : "no"; }

Status set_debug(Config* config, std::string_view text) {
  if (same_word(text, "no")) {
    config->debug_from = DebugFrom::kNobody;
  } else if (same_word(text, "local")) {
    config->debug_from = DebugFrom::kLocal;
  } else if (same_word(text, "yes")) {
    config->debug_from = DebugFrom::kAnyone;
  } else {
    return must_be("one of the following: no, yes, local");
  }
  return {};
}

std::string get_debug(const Config& config) {
  switch (config.debug_from) {
    case DebugFrom::kNobody: return "no";
    case DebugFrom::kLocal: return "local";
    case DebugFrom::kAnyone: break;
  }
  return "yes";
}

struct DurabilityName {
  std::string_view redis;
  std::string_view own;
  Durability value;
};
constexpr std::array<DurabilityName, 3> kDurabilities = {{{"always", "full", Durability::kFull},
                                                          {"everysec", "normal", Durability::kNormal},
                                                          {"no", "none", Durability::kNone}}};

Status set_durability(Config* config, std::string_view text) {
  for (const DurabilityName& name : kDurabilities) {
    if (!same_word(text, name.redis) && !same_word(text, name.own)) continue;
    config->durability = name.value;
    return {};
  }
  return must_be("one of the following: always (full), everysec (normal), no (none)");
}

const DurabilityName& durability_name(const Config& config) {
  return *std::find_if(kDurabilities.begin(), kDurabilities.end(),
                       [&](const DurabilityName& name) { return name.value == config.durability; });
}

std::string get_durability(const Config& config) { return std::string(durability_name(config).own); }
std::string get_appendfsync(const Config& config) { return std::string(durability_name(config).redis); }

Status set_events(Config* config, std::string_view text) {
  const std::optional<uint32_t> classes = parse_event_classes(text);
  if (!classes)
    return {StatusCode::kInvalidArgument, "Invalid event class character. Use 'Ag$lshzxeKEtmdn'."};
  config->notify_keyspace_events = event_class_letters(*classes);
  return {};
}

// class hard soft seconds, any number of times: "pubsub 32mb 8mb 60"
Status set_output_limits(Config* config, std::string_view text) {
  const std::vector<std::string> parts = words(text);
  if (parts.empty() || parts.size() % 4 != 0)
    return must_be("groups of: class hard-limit soft-limit soft-seconds");
  Config changed = *config;
  for (size_t i = 0; i < parts.size(); i += 4) {
    const std::optional<int64_t> hard = to_bytes(parts[i + 1]);
    const std::optional<int64_t> soft = to_bytes(parts[i + 2]);
    const std::optional<int64_t> seconds = to_integer(parts[i + 3]);
    if (!hard || !soft || !seconds || *seconds < 0)
      return {StatusCode::kInvalidArgument,
              "Error in hard, soft or soft_seconds setting in buffer limit configuration."};
    const OutputLimit limit{static_cast<uint64_t>(*hard), static_cast<uint64_t>(*soft), *seconds};
    if (same_word(parts[i], "normal")) {
      changed.normal_output = limit;
    } else if (same_word(parts[i], "pubsub")) {
      changed.pubsub_output = limit;
    } else if (!same_word(parts[i], "replica") && !same_word(parts[i], "slave")) {  // there are none to limit
      return {StatusCode::kInvalidArgument, "Invalid client class specified in buffer limit configuration."};
    }
  }
  *config = std::move(changed);
  return {};
}

std::string get_output_limits(const Config& config) {
  const auto text = [](std::string_view name, const OutputLimit& limit) {
    return std::string(name) + " " + std::to_string(limit.hard_bytes) + " " +
           std::to_string(limit.soft_bytes) + " " + std::to_string(limit.soft_seconds);
  };
  return text("normal", config.normal_output) + " slave 0 0 0 " + text("pubsub", config.pubsub_output);
}

// ------------------------------------------------------------------------------------------ the table

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kMostSeconds = std::numeric_limits<int32_t>::max();

template <int64_t Config::*kField, int64_t kMin, int64_t kMax>
constexpr Setting integer(std::string_view name, bool changeable, std::string_view summary) {
  return {name, changeable, summary, set_integer<kField, kMin, kMax>, get_integer<kField>};
}

template <int64_t Config::*kField, int64_t kMin>
constexpr Setting bytes(std::string_view name, bool changeable, std::string_view summary) {
  return {name, changeable, summary, set_bytes<kField, kMin>, get_integer<kField>};
}

constexpr Setting fixed(std::string_view name, std::string_view value) {
  return {name, false, "as clients expect it; cannot be changed", nullptr, nullptr, false, value};
}

constexpr auto kSettings = std::to_array<Setting>({
    {"appendfsync", false, "always, everysec or no: what durability is called in Redis", set_durability,
     get_appendfsync},
    fixed("appendonly", "yes"),
    {"bind", false, "addresses to listen on; a dash before one: if the machine has it; *: all", set_bind,
     get_bind, true},
    bytes<&Config::buffer_bytes, 64 << 10>("buffer-bytes", false,
                                           "commits held in memory before they go into the tree"),
    {"client-output-buffer-limit", true, "what is kept for clients that do not read: class hard soft seconds",
     set_output_limits, get_output_limits, true},
    bytes<&Config::query_buffer_limit, 1 << 20>("client-query-buffer-limit", true,
                                                "what a client may send ahead"),
    fixed("cluster-enabled", "no"),
    integer<&Config::databases, 1, 1'024>("databases", false, "how many databases SELECT knows by number"),
    {"durability", false, "full (sync at each commit), normal (each second), none", set_durability,
     get_durability},
    {"enable-debug-command", false, "no, yes or local: whose DEBUG is obeyed", set_debug, get_debug},
    {"file", false, "the store; empty: in memory", set_text<&Config::file>, get_text<&Config::file>},
    integer<&Config::half_command_timeout_seconds, 0, kMostSeconds>(
        "half-command-timeout", true,
        "seconds that a client may take to send the rest of a command, or to take replies that its commands "
        "wait behind; 0: any"),
    integer<&Config::latency_threshold_ms, 0, kMost>("latency-monitor-threshold", true,
                                                     "milliseconds from which LATENCY takes note; 0: never"),
    integer<&Config::max_arguments, 16, 1L << 30>("max-arguments", true, "arguments of one command"),
    bytes<&Config::max_queued_bytes, 1 << 10>("max-queued-bytes", true,
                                              "what a client may queue behind MULTI"),
    integer<&Config::max_queued_commands, 1, 1L << 30>("max-queued-commands", true,
                                                       "commands a client may queue behind MULTI"),
    integer<&Config::max_scan_cursors, 16, 1L << 30>("max-scan-cursors", true,
                                                     "cursors of SCAN that are remembered"),
    bytes<&Config::max_subscribed_bytes, 1 << 10>("max-subscribed-bytes", true,
                                                  "channels and patterns that a client may subscribe to"),
    bytes<&Config::max_watched_bytes, 1 << 10>("max-watched-bytes", true, "keys that a client may WATCH"),
    integer<&Config::max_clients, 1, 1L << 20>("maxclients", true, "clients at a time"),
    fixed("maxmemory", "0"),
    fixed("maxmemory-policy", "noeviction"),
    {"notify-keyspace-events", true, "which events are published: K E g $ x n m A, as Redis has them",
     set_events, get_text<&Config::notify_keyspace_events>},
    integer<&Config::port, 0, 65'535>("port", false, "0: no TCP"),
    {"protected-mode", true, "yes: no public address without a password", set_protected_mode,
     get_protected_mode},
    bytes<&Config::max_bulk_bytes, 1 << 20>("proto-max-bulk-len", true, "bytes of one argument"),
    {"requirepass", true, "the password for AUTH; empty: none", set_text<&Config::requirepass>,
     get_text<&Config::requirepass>},
    fixed("save", ""),
    integer<&Config::slowlog_slower_than_us, -1, kMost>(
        "slowlog-log-slower-than", true, "microseconds from which SLOWLOG takes note; -1: never"),
    integer<&Config::slowlog_max_len, 0, 1L << 30>("slowlog-max-len", true, "entries that SLOWLOG keeps"),
    integer<&Config::tcp_keepalive_seconds, 0, kMostSeconds>("tcp-keepalive", false, "seconds; 0: none"),
    integer<&Config::timeout_seconds, 0, kMostSeconds>("timeout", true,
                                                       "seconds that a client may be idle; 0: any"),
    {"unixsocket", false, "a path to listen on as well", set_text<&Config::unix_socket>,
     get_text<&Config::unix_socket>},
    {"unixsocketperm", false, "who may connect there, as chmod has it: 770; 0: as the umask has it",
     set_permissions, get_permissions},
});

// ------------------------------------------------------------------------------------ file and flags

Status set(Config* config, std::string_view name, std::string_view text, const std::string& where) {
  const Setting* setting = find_setting(name);
  if (setting == nullptr)
    return {StatusCode::kInvalidArgument, where + ": there is no setting '" + std::string(name) + "'"};
  const Status status =
      setting->set == nullptr
          ? (text == setting->fixed ? Status() : must_be("'" + std::string(setting->fixed) + "'"))
          : setting->set(config, text);
  if (status.ok()) return {};
  return {StatusCode::kInvalidArgument,
          where + ": " + std::string(name) + ": " + std::string(status.message())};
}

// The words of a line, quotes resolved as in an inline command. Nothing: the quotes do not match.
std::optional<std::vector<std::string>> split_line(const std::string& line) {
  const size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string::npos || line[begin] == '#') return std::vector<std::string>();
  resp::RequestParser parser;
  resp::RequestParser::Limits limits;
  limits.max_inline_bytes = line.size() + 2;
  if (parser.next(line.substr(begin) + "\n", limits) != resp::RequestParser::Outcome::kCommand)
    return std::nullopt;
  return std::vector<std::string>(parser.arguments().begin(), parser.arguments().end());
}

std::string joined(std::span<const std::string> texts) {
  std::string line;
  for (const std::string& text : texts) line += (line.empty() ? "" : " ") + text;
  return line;
}

bool is_loopback(std::string_view address) {
  in_addr parsed{};
  const bool is_v4 = inet_pton(AF_INET, std::string(address).c_str(), &parsed) == 1;  // not 127.example.org
  return address == "::1" || address == "localhost" || (is_v4 && address.starts_with("127."));
}

// In quotes only if it would be read differently without them.
std::string as_word(const std::string& text) {
  const bool plain =
      !text.empty() && text.find_first_of("\"'\\#") == std::string::npos && is_printable_word(text);
  return plain ? text : server::quoted(text);
}

// What a redis.conf says about things that are done differently here, or not at all, without harm; by patterns.
struct PassedOver {
  std::string_view pattern;
  std::string_view instead = "means nothing here";
};

constexpr std::string_view kNoEviction =
    "has no effect: the data is on disk, and nothing is evicted; keys go at their deadlines";
constexpr std::string_view kNoReplicas = "has no effect: there is no replication";

constexpr auto kPassedOver = std::to_array<PassedOver>({
    {"*-cpulist"},
    {"*_cpulist"},
    {"acl-pubsub-default"},
    {"acllog-max-len"},
    {"active-*"},
    {"activedefrag"},
    {"activerehashing"},
    {"always-show-logo"},
    {"aof-*"},
    {"appenddirname"},
    {"appendfilename"},
    {"appendonly", "has no effect: every commit goes to the disk, as durability (appendfsync) says"},
    {"auto-aof-rewrite-*"},
    {"bind-source-addr"},
    {"busy-reply-threshold"},
    {"cluster-*"},
    {"crash-*"},
    {"daemonize", "has no effect: the server runs in the foreground"},
    {"dbfilename"},
    {"dir", "has no effect: the store is where FILE says"},
    {"disable-thp"},
    {"dynamic-hz"},
    {"enable-module-command"},
    {"enable-protected-configs"},
    {"gopher-enabled"},
    {"hash-max-*"},
    {"hll-*"},
    {"hz"},
    {"ignore-warnings"},
    {"io-threads*"},
    {"jemalloc-bg-thread"},
    {"key-load-delay"},
    {"latency-tracking*"},
    {"lazyfree-*"},
    {"lfu-*"},
    {"list-*"},
    {"locale-collate"},
    {"logfile", "has no effect: what there is to say goes to the standard output"},
    {"loglevel"},
    {"lua-time-limit"},
    {"masterauth"},
    {"masteruser"},
    {"maxmemory", kNoEviction},
    {"maxmemory-*", kNoEviction},
    {"min-replicas-*", kNoReplicas},
    {"min-slaves-*", kNoReplicas},
    {"no-appendfsync-on-rewrite"},
    {"oom-score-adj*"},
    {"pidfile"},
    {"proc-title-template"},
    {"propagation-error-behavior"},
    {"rdb*"},
    {"repl-*"},
    {"replica-*"},
    {"sanitize-dump-payload"},
    {"save", "has no effect: every commit goes to the disk, as durability (appendfsync) says"},
    {"set-max-*"},
    {"set-proc-title"},
    {"shutdown-*"},
    {"slave-*"},
    {"socket-mark-id"},
    {"stop-writes-on-bgsave-error"},
    {"stream-node-*"},
    {"supervised"},
    {"syslog-*"},
    {"tcp-backlog"},
    {"tls-*"},
    {"tracking-table-max-keys"},
    {"zset-max-*"},
});

const PassedOver* find_passed_over(std::string_view name) {
  const auto* found = std::find_if(kPassedOver.begin(), kPassedOver.end(), [&](const PassedOver& one) {
    return matches_glob(one.pattern, name, /*any_case=*/true);
  });
  return found == kPassedOver.end() ? nullptr : found;
}

// What a redis.conf asks for that others rely on: to go without it would be to let in whom it keeps out, or to hold for safe
// what is not.
struct Refused {
  std::string_view name;
  std::string_view harmless;  // a value with which it asks for nothing
  std::string_view why;
};

constexpr auto kRefused = std::to_array<Refused>({
    {"aclfile", "", "there is one user, 'default': see requirepass"},
    {"cluster-enabled", "no", "there is no cluster"},
    {"loadmodule", "", "there are no modules"},
    {"rename-command", "", "commands cannot be renamed, nor taken away"},
    {"replicaof", "", "there is no replication"},
    {"slaveof", "", "there is no replication"},
    {"tls-port", "0", "there is no TLS: put a tunnel in front of the server"},
    {"user", "", "there is one user, 'default': see requirepass"},
});

const Refused* find_refused(std::string_view name) {
  const auto* found = std::find_if(kRefused.begin(), kRefused.end(),
                                   [&](const Refused& refused) { return same_word(refused.name, name); });
  return found == kRefused.end() ? nullptr : found;
}

constexpr int kDeepestInclude = 16;

Status read_file(const std::string& path, int depth, Config* config);

Status read_line(const std::string& path, const std::string& where, std::span<const std::string> line,
                 int depth, Config* config) {
  const std::string& name = line[0];
  const auto values = line.subspan(1);
  if (values.empty()) return {StatusCode::kInvalidArgument, where + ": " + name + ": needs a value"};
  if (same_word(name, "include")) {
    const auto included = std::filesystem::path(path).parent_path() / values[0];
    Status status = read_file(included.string(), depth + 1, config);
    if (status.code() == StatusCode::kNotFound)
      return {StatusCode::kInvalidArgument, where + ": include: " + std::string(status.message())};
    return status;
  }
  if (const Refused* refused = find_refused(name)) {
    if (same_word(joined(values), refused->harmless)) return {};
    return {StatusCode::kInvalidArgument, where + ": " + name + ": " + std::string(refused->why)};
  }
  const Setting* setting = find_setting(name);
  const bool is_as_wanted = setting != nullptr && setting->set == nullptr && joined(values) == setting->fixed;
  if (const PassedOver* passed_over = find_passed_over(name); passed_over != nullptr && !is_as_wanted) {
    config->warnings.push_back(where + ": " + name + " " + std::string(passed_over->instead));
    return {};
  }
  if (setting != nullptr && !setting->takes_many && values.size() > 1)
    return {StatusCode::kInvalidArgument,
            where + ": " + name + ": one value; put what has blanks into quotes"};
  return set(config, name, joined(values), where);
}

Status cannot_be_read(const std::string& path) { return {StatusCode::kNotFound, path + ": cannot be read"}; }

Status read_file(const std::string& path, int depth, Config* config) {
  if (depth > kDeepestInclude)
    return {StatusCode::kInvalidArgument, path + ": included too deep; does it include itself?"};
  std::ifstream in(path);
  if (!in) return cannot_be_read(path);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    const std::string where = path + ":" + std::to_string(++number);
    const auto words_of_line = split_line(line);
    if (!words_of_line) return {StatusCode::kInvalidArgument, where + ": the quotes do not match"};
    if (!words_of_line->empty()) LAPSE_TRY(read_line(path, where, *words_of_line, depth, config));
  }
  if (in.bad()) return cannot_be_read(path);  // a directory can be opened as well
  return {};
}

}  // namespace

std::span<const Setting> settings() { return kSettings; }

const Setting* find_setting(std::string_view name) {
  for (const Setting& setting : kSettings) {
    if (same_word(setting.name, name)) return &setting;
  }
  return nullptr;
}

std::string value_of(const Setting& setting, const Config& config) {
  return setting.get ? setting.get(config) : std::string(setting.fixed);
}

Status read_config_file(const std::string& path, Config* config) {
  LAPSE_TRY(read_file(path, 0, config));
  config->config_file = path;
  return {};
}

namespace {

struct CommandLine {
  struct Flag {
    std::string name;
    std::string value;
  };
  std::optional<std::string> file;
  std::vector<Flag> flags;
};

// --port 7000, --port=7000. The values of a flag that takes many are all that follow up to the next one: --bind 127.0.0.1 ::1
Result<CommandLine> parse_command_line(std::span<const std::string_view> arguments) {
  CommandLine line;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string_view argument = arguments[i];
    if (!argument.starts_with("--")) {
      if (line.file)
        return Status(StatusCode::kInvalidArgument, "one FILE, not '" + std::string(argument) + "' too");
      line.file = argument;
      continue;
    }
    argument.remove_prefix(2);
    const size_t equals = argument.find('=');
    CommandLine::Flag flag{std::string(argument.substr(0, equals)), {}};
    const Setting* setting = find_setting(flag.name);
    const bool takes_many = setting != nullptr && setting->takes_many;
    size_t values = 0;
    if (equals != std::string_view::npos) {
      flag.value = argument.substr(equals + 1);
      ++values;
    }
    while (i + 1 < arguments.size() && (values == 0 || (takes_many && !arguments[i + 1].starts_with("--")))) {
      flag.value += (values++ == 0 ? "" : " ") + std::string(arguments[++i]);
    }
    if (values == 0) return Status(StatusCode::kInvalidArgument, "--" + flag.name + " needs a value");
    line.flags.push_back(std::move(flag));
  }
  return line;
}

}  // namespace

namespace {

// The first address where others than this machine's could come without a password.
std::optional<std::string> exposed_address(const Config& config) {
  if (!config.requirepass.empty() || config.port == 0) return std::nullopt;
  for (const std::string& address : config.bind) {
    const std::string bare = address.substr(address.starts_with('-') ? 1 : 0);
    if (!is_loopback(bare)) return bare;
  }
  return std::nullopt;
}

}  // namespace

// What a file says comes first, so that flags win over it.
Result<Config> read_command_line(std::span<const std::string_view> arguments) {
  LAPSE_TRY_ASSIGN(const CommandLine line, parse_command_line(arguments));
  Config config;
  for (const auto& [name, value] : line.flags) {
    if (name == "config") LAPSE_TRY(read_config_file(value, &config));
  }
  if (line.file) config.file = *line.file;
  for (const auto& [name, value] : line.flags) {
    if (name != "config") LAPSE_TRY(set(&config, name, value, "command line"));
  }
  LAPSE_TRY(check_config(config));
  if (const std::optional<std::string> address = exposed_address(config))
    config.warnings.push_back("bind " + *address +
                              ": whoever can reach this machine can reach the store: there is no password");
  return config;
}

namespace {

std::string line_of(const Setting& setting, const Config& config) {
  const std::string value = setting.get(config);
  const bool as_it_is = setting.takes_many && !value.empty();
  return std::string(setting.name) + " " + (as_it_is ? value : as_word(value)) + "\n";
}

// The file's lines with present values in them, and behind them what differs from the defaults and is not there yet.
std::string rewritten(std::istream& in, const Config& config) {
  std::string text;
  std::vector<std::string_view> written;
  const auto is_written = [&](std::string_view name) {
    return std::find(written.begin(), written.end(), name) != written.end();
  };
  for (std::string line; std::getline(in, line);) {
    const auto line_words = split_line(line);
    const Setting* setting = line_words && !line_words->empty() ? find_setting(line_words->front()) : nullptr;
    if (setting == nullptr || setting->get == nullptr) {
      text += line + "\n";
    } else if (!is_written(setting->name)) {
      text += line_of(*setting, config);
      written.push_back(setting->name);
    }
  }
  if (is_written("appendfsync")) written.push_back("durability");  // which it is another name for
  const Config defaults;
  for (const Setting& setting : kSettings) {
    if (setting.get == nullptr || setting.name == "appendfsync" || is_written(setting.name)) continue;
    if (setting.get(config) != setting.get(defaults)) text += line_of(setting, config);
  }
  return text;
}

}  // namespace

// Under another name first, so that there is a whole file at any time; with the same permissions, as it may hold a
// password.
Status rewrite_config_file(const std::string& path, const Config& config) {
  std::ifstream in(path);
  if (!in) return cannot_be_read(path);
  const std::string text = rewritten(in, config);
  if (in.bad()) return cannot_be_read(path);
  const std::string beside = path + ".new";
  std::error_code error;
  std::filesystem::copy_file(path, beside, std::filesystem::copy_options::overwrite_existing, error);
  if (error) return {StatusCode::kIoError, beside + ": cannot be written: " + error.message()};
  std::ofstream out(beside, std::ios::trunc);
  out << text;
  out.close();
  if (!out) return {StatusCode::kIoError, beside + ": cannot be written"};
  std::filesystem::rename(beside, path, error);
  if (error) return {StatusCode::kIoError, path + ": cannot be replaced: " + error.message()};
  return {};
}

Status check_config(const Config& config) {
  const std::optional<std::string> address = exposed_address(config);
  if (!address || !config.protected_mode) return {};
  return {StatusCode::kInvalidArgument, "bind " + *address +
                                            ": others could reach the store there, and there is no "
                                            "password: set requirepass (or protected-mode no, "
                                            "if that is what you want)"};
}

}  // namespace lapse::server
