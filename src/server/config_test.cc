#include "server/config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "support/support.h"

namespace lapse::server {
namespace {

class ConfigFile : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(directory_ + "/" + name) << text;
    return directory_ + "/" + name;
  }
  static std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::string error_of(const std::string& text) {
    Config config;
    return std::string(read_config_file(write("lapse.conf", text), &config).message());
  }
  std::string place(int line) { return directory_ + "/lapse.conf:" + std::to_string(line) + ": "; }

  const TempDir folder_;
  const std::string& directory_ = folder_.path();
};

std::string value(const Config& config, std::string_view name) {
  return value_of(*find_setting(name), config);
}

Status set(Config* config, std::string_view name, std::string_view text) {
  return find_setting(name)->set(config, text);
}

// A value of each setting that is not its default, and as which it comes back.
const std::map<std::string, std::pair<std::string, std::string>>& samples() {
  static const std::map<std::string, std::pair<std::string, std::string>> all = {
      {"appendfsync", {"always", "always"}},
      {"bind", {"10.0.0.1 -::1", "10.0.0.1 -::1"}},
      {"buffer-bytes", {"1mb", "1048576"}},
      {"client-output-buffer-limit",
       {"normal 1kb 2kb 3 pubsub 4k 5k 6", "normal 1024 2048 3 slave 0 0 0 pubsub 4000 5000 6"}},
      {"client-query-buffer-limit", {"2mb", "2097152"}},
      {"databases", {"3", "3"}},
      {"durability", {"none", "none"}},
      {"enable-debug-command", {"Yes", "yes"}},
      {"file", {"my store.db", "my store.db"}},
      {"half-command-timeout", {"7", "7"}},
      {"latency-monitor-threshold", {"8", "8"}},
      {"max-arguments", {"99", "99"}},
      {"max-queued-bytes", {"2kb", "2048"}},
      {"max-queued-commands", {"9", "9"}},
      {"max-scan-cursors", {"17", "17"}},
      {"max-subscribed-bytes", {"2mb", "2097152"}},
      {"max-watched-bytes", {"3mb", "3145728"}},
      {"maxclients", {"5", "5"}},
      {"notify-keyspace-events", {"KEx", "xKE"}},
      {"port", {"7000", "7000"}},
      {"proto-max-bulk-len", {"1gb", "1073741824"}},
      {"protected-mode", {"NO", "no"}},
      {"requirepass", {"a \"secret\" #1", "a \"secret\" #1"}},
      {"slowlog-log-slower-than", {"-1", "-1"}},
      {"slowlog-max-len", {"1", "1"}},
      {"tcp-keepalive", {"0", "0"}},
      {"timeout", {"30", "30"}},
      {"unixsocket", {"/tmp/lapse.sock", "/tmp/lapse.sock"}},
      {"unixsocketperm", {"0770", "770"}},
  };
  return all;
}

TEST(Config, SettingsAreInNameOrderAndExplained) {
  std::string_view before;
  for (const Setting& setting : settings()) {
    EXPECT_LT(before, setting.name);
    before = setting.name;
    EXPECT_FALSE(setting.summary.empty());
    EXPECT_EQ(setting.set == nullptr, setting.get == nullptr) << setting.name;
  }
}

TEST(Config, EverySettingComesBackAsItWasSet) {
  for (const Setting& setting : settings()) {
    if (setting.set == nullptr) continue;
    const auto sample = samples().find(std::string(setting.name));
    if (sample == samples().end()) {
      ADD_FAILURE() << "no sample for " << setting.name;
      continue;
    }
    Config config;
    EXPECT_NE(sample->second.second, setting.get(config)) << setting.name << " is the default";
    EXPECT_TRUE(setting.set(&config, sample->second.first).ok()) << setting.name;
    EXPECT_EQ(sample->second.second, setting.get(config));
    Config again;
    EXPECT_TRUE(setting.set(&again, setting.get(config)).ok()) << setting.name;
    EXPECT_EQ(setting.get(config), setting.get(again));
  }
}

TEST(Config, UnitsAreRedis) {
  Config config;
  for (const auto& [text, bytes] : std::map<std::string, std::string>{{"100000", "100000"},
                                                                      {"100000b", "100000"},
                                                                      {"100k", "100000"},
                                                                      {"100KB", "102400"},
                                                                      {"1m", "1000000"},
                                                                      {"1mb", "1048576"},
                                                                      {"1g", "1000000000"},
                                                                      {"1Gb", "1073741824"}}) {
    EXPECT_TRUE(set(&config, "buffer-bytes", text).ok()) << text;
    EXPECT_EQ(bytes, value(config, "buffer-bytes"));
  }
  for (const std::string_view text : {"", "k", "1tb", "-1", "1.5mb", "9223372036854775807gb", " 1"})
    EXPECT_EQ("argument must be a memory value", set(&config, "buffer-bytes", text).message()) << text;
  EXPECT_EQ("argument must be at least 65536", set(&config, "buffer-bytes", "1kb").message());
}

TEST(Config, BadValuesSayWhatIsWanted) {
  Config config;
  EXPECT_EQ("argument couldn't be parsed into an integer", set(&config, "port", "x").message());
  EXPECT_EQ("argument must be between 0 and 65535 inclusive", set(&config, "port", "65536").message());
  EXPECT_EQ("argument must be 'yes' or 'no'", set(&config, "protected-mode", "maybe").message());
  EXPECT_EQ("argument must be one of the following: always (full), everysec (normal), no (none)",
            set(&config, "durability", "some").message());
  EXPECT_EQ("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.",
            set(&config, "notify-keyspace-events", "Q").message());
  EXPECT_EQ("argument must be groups of: class hard-limit soft-limit soft-seconds",
            set(&config, "client-output-buffer-limit", "normal 1 2").message());
  EXPECT_EQ("Invalid client class specified in buffer limit configuration.",
            set(&config, "client-output-buffer-limit", "x 1 2 3").message());
  EXPECT_EQ("Error in hard, soft or soft_seconds setting in buffer limit configuration.",
            set(&config, "client-output-buffer-limit", "normal x 2 3").message());
}

TEST_F(ConfigFile, HasNamesValuesQuotesAndComments) {
  Config config;
  const std::string path = write("lapse.conf",
                                 "# a comment\n\n"
                                 "  PORT 7000\r\n"
                                 "bind 127.0.0.1 -::1 10.0.0.1\n"
                                 "requirepass \"two words \\x41\\\"\"\n"
                                 "file 'my store.db'\n"
                                 "timeout\t5\n"
                                 "timeout 6\n"
                                 "appendonly yes\n"
                                 "save \"\"\n");
  const Status status = read_config_file(path, &config);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(7000, config.port);
  EXPECT_EQ((std::vector<std::string>{"127.0.0.1", "-::1", "10.0.0.1"}), config.bind);
  EXPECT_EQ("two words A\"", config.requirepass);
  EXPECT_EQ("my store.db", config.file);
  EXPECT_EQ(6, config.timeout_seconds);
  EXPECT_EQ(path, config.config_file);
}

TEST_F(ConfigFile, ErrorsNameFileAndLine) {
  EXPECT_EQ(place(2) + "there is no setting 'nosuch'", error_of("port 1\nnosuch 2\n"));
  EXPECT_EQ(place(1) + "port: argument couldn't be parsed into an integer", error_of("port x\n"));
  EXPECT_EQ(place(3) + "port: needs a value", error_of("\n#\nport\n"));
  EXPECT_EQ(place(1) + "the quotes do not match", error_of("requirepass \"open\n"));
  EXPECT_EQ(place(1) + "requirepass: one value; put what has blanks into quotes",
            error_of("requirepass two words\n"));
  Config config;
  EXPECT_EQ(StatusCode::kNotFound, read_config_file(directory_ + "/none", &config).code());
}

TEST_F(ConfigFile, WhatOnlyRedisHasIsPassedOverWithAWarning) {
  Config config;
  const std::string path =
      write("redis.conf", "daemonize no\ndir ./\nsave 900 1 60 5\nsave \"\"\nport 7000\n");
  ASSERT_TRUE(read_config_file(path, &config).ok());
  EXPECT_EQ(7000, config.port);
  EXPECT_EQ(
      (std::vector<std::string>{
          path + ":1: daemonize has no effect: the server runs in the foreground",
          path + ":2: dir has no effect: the store is where FILE says",
          path + ":3: save has no effect: every commit goes to the disk, as durability (appendfsync) says"}),
      config.warnings);
}

TEST_F(ConfigFile, SomethingElseThanRedisDoesIsToldInAWarning) {
  Config config;
  const std::string path = write("redis.conf",
                                 "appendonly no\nmaxmemory 100mb\nmaxmemory-policy allkeys-lru\n"
                                 "Replica-Serve-Stale-Data yes\nmin-replicas-to-write 1\n");
  ASSERT_TRUE(read_config_file(path, &config).ok());
  ASSERT_EQ(5U, config.warnings.size());
  EXPECT_EQ(
      path + ":1: appendonly has no effect: every commit goes to the disk, as durability (appendfsync) says",
      config.warnings[0]);
  EXPECT_TRUE(config.warnings[1].starts_with(path + ":2: maxmemory has no effect: the data is on disk"));
  EXPECT_TRUE(
      config.warnings[2].starts_with(path + ":3: maxmemory-policy has no effect: the data is on disk"));
  EXPECT_EQ(path + ":4: Replica-Serve-Stale-Data means nothing here", config.warnings[3]);
  EXPECT_EQ(path + ":5: min-replicas-to-write has no effect: there is no replication", config.warnings[4]);
}

TEST_F(ConfigFile, WhatOthersRelyOnIsRefused) {
  for (const auto& [line, why] : std::map<std::string, std::string>{
           {"rename-command FLUSHALL \"\"", "rename-command: commands cannot be renamed, nor taken away"},
           {"user ada on >secret ~* +@all", "user: there is one user, 'default': see requirepass"},
           {"aclfile /etc/users.acl", "aclfile: there is one user, 'default': see requirepass"},
           {"tls-port 6380", "tls-port: there is no TLS: put a tunnel in front of the server"},
           {"replicaof 10.0.0.1 6379", "replicaof: there is no replication"},
           {"loadmodule my.so", "loadmodule: there are no modules"},
           {"cluster-enabled yes", "cluster-enabled: there is no cluster"}})
    EXPECT_EQ(place(1) + why, error_of(line + "\n"));
  EXPECT_EQ("", error_of("tls-port 0\ncluster-enabled no\nreplicaof \"\"\naclfile \"\"\n"));
}

TEST_F(ConfigFile, IncludesOthersFromItsOwnPlace) {
  write("more.conf", "timeout 5\nport 7000\n");
  Config config;
  ASSERT_TRUE(read_config_file(write("lapse.conf", "port 1\ninclude more.conf\ntimeout 6\n"), &config).ok());
  EXPECT_EQ(7000, config.port);
  EXPECT_EQ(6, config.timeout_seconds);
  EXPECT_EQ(directory_ + "/lapse.conf", config.config_file);
  EXPECT_EQ(place(1) + "include: " + directory_ + "/none: cannot be read", error_of("include none\n"));
  EXPECT_TRUE(error_of("include lapse.conf\n").ends_with("does it include itself?"));
}

TEST_F(ConfigFile, RewriteKeepsCommentsAndIsReadBackTheSame) {
  const std::string path = write("lapse.conf",
                                 "# mine\nport 7000\n\n# twice\ntimeout 5\ntimeout 6\nappendonly yes\n"
                                 "appendfsync always\n");
  std::filesystem::permissions(path,
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  Config config;
  ASSERT_TRUE(read_config_file(path, &config).ok());
  ASSERT_TRUE(set(&config, "timeout", "7").ok());
  ASSERT_TRUE(set(&config, "requirepass", "a \"b\" #c").ok());
  ASSERT_TRUE(set(&config, "bind", "127.0.0.1 10.0.0.1").ok());
  ASSERT_TRUE(rewrite_config_file(path, config).ok());
  EXPECT_EQ(
      "# mine\nport 7000\n\n# twice\ntimeout 7\nappendonly yes\nappendfsync always\n"
      "bind 127.0.0.1 10.0.0.1\nrequirepass \"a \\\"b\\\" #c\"\n",
      text_of(path));
  EXPECT_EQ(std::filesystem::perms::none,
            std::filesystem::status(path).permissions() & std::filesystem::perms::others_all);
  Config again;
  ASSERT_TRUE(read_config_file(path, &again).ok());
  for (const Setting& setting : settings()) EXPECT_EQ(value_of(setting, config), value_of(setting, again));
}

TEST_F(ConfigFile, RewriteBringsEverySettingBack) {
  Config config;
  const std::string path = write("lapse.conf", "");
  for (const auto& [name, sample] : samples()) {
    if (name == "appendfsync") continue;  // another name for durability
    ASSERT_TRUE(set(&config, name, sample.first).ok()) << name;
  }
  ASSERT_TRUE(rewrite_config_file(path, config).ok());
  Config again;
  const Status status = read_config_file(path, &again);
  ASSERT_TRUE(status.ok()) << status.message();
  for (const Setting& setting : settings()) EXPECT_EQ(value_of(setting, config), value_of(setting, again));
}

Result<Config> flags(std::vector<std::string_view> arguments) { return read_command_line(arguments); }

TEST_F(ConfigFile, FlagsWinOverTheFile) {
  const std::string path = write("lapse.conf", "port 7000\ntimeout 5\nfile of-the-file.db\n");
  const Result<Config> config =
      flags({"mine.db", "--port", "7001", "--config", path, "--bind", "127.0.0.1", "::1"});
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ("mine.db", config->file);
  EXPECT_EQ(7001, config->port);
  EXPECT_EQ(5, config->timeout_seconds);
  EXPECT_EQ((std::vector<std::string>{"127.0.0.1", "::1"}), config->bind);
}

TEST_F(ConfigFile, ThatCannotBeReadIsNotAnEmptyOne) {
  const std::string folder = std::filesystem::path(write("lapse.conf", "")).parent_path();
  EXPECT_EQ(folder + ": cannot be read", flags({"--config", folder}).status().message());
  const std::string path = write("including.conf", "include " + folder + "\n");
  EXPECT_FALSE(flags({"--config", path}).ok());
}

TEST(ConfigFlags, TakeValuesBehindABlankOrAnEqualsSign) {
  const Result<Config> config = flags({"--port=7001", "--bind=127.0.0.1", "::1", "--requirepass", "--a=b"});
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(7001, config->port);
  EXPECT_EQ((std::vector<std::string>{"127.0.0.1", "::1"}), config->bind);
  EXPECT_EQ("--a=b", config->requirepass);
}

TEST(ConfigFlags, SayWhatIsWrong) {
  EXPECT_EQ("command line: there is no setting 'nosuch'", flags({"--nosuch", "1"}).status().message());
  EXPECT_EQ("--port needs a value", flags({"--port"}).status().message());
  EXPECT_EQ("one FILE, not 'b' too", flags({"a", "b"}).status().message());
  EXPECT_EQ("command line: port: argument couldn't be parsed into an integer",
            flags({"--port", "x"}).status().message());
}

TEST(ConfigFlags, NoPublicAddressWithoutAPassword) {
  EXPECT_TRUE(flags({}).ok());
  EXPECT_TRUE(flags({"--bind", "127.0.0.5", "::1", "localhost"}).ok());
  EXPECT_TRUE(flags({"--bind", "127.0.0.5", "--protected-mode", "no"})->warnings.empty());
  for (const std::string_view address :
       {"0.0.0.0", "*", "::", "-::", "10.0.0.1", "example.org", "127.evil.org"}) {
    const Result<Config> refused = flags({"--bind", "127.0.0.1", address});
    ASSERT_FALSE(refused.ok()) << address;
    EXPECT_EQ(StatusCode::kInvalidArgument, refused.status().code());
    EXPECT_NE(std::string::npos, refused.status().message().find("set requirepass"));
    EXPECT_TRUE(flags({"--bind", address, "--requirepass", "secret"}).ok());
    const Result<Config> exposed = flags({"--bind", address, "--protected-mode", "no"});
    ASSERT_TRUE(exposed.ok()) << address;
    ASSERT_EQ(1U, exposed->warnings.size());
    EXPECT_TRUE(exposed->warnings[0].ends_with("there is no password"));
    EXPECT_TRUE(flags({"--bind", address, "--port", "0"}).ok());
  }
}

}  // namespace
}  // namespace lapse::server
