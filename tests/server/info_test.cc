// INFO: what clients and people look for, in sections.

#include "test_server.h"

namespace lapse::server {
namespace {

class InfoCommand : public testing::Test {
 protected:
  std::string info(std::vector<std::string> sections) {
    sections.insert(sections.begin(), "INFO");
    return client_.ask(sections).text;
  }
  // The value of a field, or "none".
  std::string field(const std::string& section, const std::string& name) {
    const std::string text = "\r\n" + info({section});
    const size_t at = text.find("\r\n" + name + ":");
    if (at == std::string::npos) return "none";
    const size_t begin = at + 3 + name.size();
    return text.substr(begin, text.find("\r\n", begin) - begin);
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  TestServer server_;
  TestClient client_{server_};
};

TEST_F(InfoCommand, HasTheSectionsAskedFor) {
  EXPECT_TRUE(info({"replication"}).starts_with("# Replication\r\nrole:master\r\n"));
  const std::string two = info({"SERVER", "clients", "server"});
  EXPECT_TRUE(two.starts_with("# Server\r\n")) << two;
  EXPECT_EQ(two.find("# Server"), two.rfind("# Server"));
  EXPECT_TRUE(has(two, "\r\n\r\n# Clients\r\n"));
  EXPECT_EQ("", info({"nosuch"}));
  EXPECT_FALSE(has(info({}), "# Commandstats"));
  EXPECT_EQ(info({}).find("# Commandstats"), info({"default"}).find("# Commandstats"));
  EXPECT_TRUE(has(info({"all"}), "# Commandstats") && has(info({"everything"}), "# Commandstats"));
}

TEST_F(InfoCommand, HasTheFieldsThatClientsLookFor) {
  EXPECT_EQ("7.2.0", field("server", "redis_version"));
  EXPECT_EQ("standalone", field("server", "redis_mode"));
  EXPECT_EQ("6379", field("server", "tcp_port"));
  EXPECT_EQ(40U, field("server", "run_id").size());
  EXPECT_NE(TestServer()->run_id(), field("server", "run_id"));
  EXPECT_EQ("1", field("clients", "connected_clients"));
  EXPECT_EQ("0", field("persistence", "loading"));
  EXPECT_EQ("master", field("replication", "role"));
  EXPECT_EQ("0", field("cluster", "cluster_enabled"));
  EXPECT_NE("none", field("cpu", "used_cpu_user"));
  EXPECT_NE("none", field("memory", "used_memory_human"));
  EXPECT_GT(std::stoull(field("memory", "used_memory")), 0U);
  server_.advance(90'061'000);
  EXPECT_EQ("90061", field("server", "uptime_in_seconds"));
  EXPECT_EQ("1", field("server", "uptime_in_days"));
}

TEST_F(InfoCommand, CountsHitsMissesAndErrors) {
  client_("SET key value");
  client_("GET key");
  client_("GET nothing");
  client_("NOSUCH");
  EXPECT_EQ("1", field("stats", "keyspace_hits"));
  EXPECT_EQ("1", field("stats", "keyspace_misses"));
  EXPECT_EQ("count=1", field("errorstats", "errorstat_ERR"));
  EXPECT_TRUE(field("commandstats", "cmdstat_get").starts_with("calls=2,usec="));
  EXPECT_TRUE(field("commandstats", "cmdstat_get").ends_with(",rejected_calls=0,failed_calls=0"));
  client_("CONFIG RESETSTAT");
  EXPECT_EQ("0", field("stats", "keyspace_hits"));
  EXPECT_EQ("none", field("errorstats", "errorstat_ERR"));
}

TEST_F(InfoCommand, CountsCommandsThatAreRefusedForTheirArguments) {
  client_("CONFIG RESETSTAT");
  client_("GET");
  client_("INCR a b");
  EXPECT_TRUE(field("commandstats", "cmdstat_get").ends_with(",rejected_calls=1,failed_calls=0"));
  EXPECT_TRUE(field("commandstats", "cmdstat_incr").ends_with(",rejected_calls=1,failed_calls=0"));
  EXPECT_EQ("3", field("stats", "total_commands_processed")) << "CONFIG's own, and two INFOs before this one";
}

TEST_F(InfoCommand, CountsKeysAndLifetimesOfEachDatabase) {
  EXPECT_EQ("none", field("keyspace", "db0"));
  client_("SET a 1");
  client_("SET b 1 PX 1000");
  client_("SET c 1 PX 3000");
  client_("SELECT 5");
  client_("SET d 1");
  EXPECT_EQ("keys=3,expires=2,avg_ttl=2000", field("keyspace", "db0"));
  EXPECT_EQ("keys=1,expires=0,avg_ttl=0", field("keyspace", "db5"));
  server_.advance(999);
  EXPECT_EQ("keys=3,expires=2,avg_ttl=1001", field("keyspace", "db0"));
  server_.advance(1);
  EXPECT_EQ("keys=2,expires=1,avg_ttl=2000", field("keyspace", "db0"));
}

TEST_F(InfoCommand, EstimatesLifetimesOfManyKeys) {
  server_.together([&] {
    for (int i = 0; i < 3'000; ++i) client_("SET key:" + std::to_string(i) + " value PX 1000");
  });
  client_.receive_all();
  EXPECT_EQ("keys=3000,expires=3000,avg_ttl=1000", field("keyspace", "db0"));
}

TEST_F(InfoCommand, TellsOfExpiry) {
  client_("SET key value PX 100");
  EXPECT_EQ(std::to_string(server_.now_ms() + 100), field("lapse", "next_expiry_ms"));
  server_.advance(100);
  EXPECT_EQ("1", field("lapse", "expired_keys"));
  EXPECT_EQ("1", field("stats", "expired_keys"));
  EXPECT_EQ("0", field("lapse", "expiry_lag_ms"));
  EXPECT_EQ("-1", field("lapse", "next_expiry_ms"));
  EXPECT_EQ("0", field("lapse", "clock_in_doubt"));
}

TEST_F(InfoCommand, TellsWhatPurgeRemovedFromWhatWentByItself) {
  client_("DEBUG SET-ACTIVE-EXPIRE 0");
  client_("MSET a 1 b 2 c 3");
  for (const std::string key : {"a", "b", "c"}) client_("PEXPIRE " + key + " 100");
  server_.advance(100);
  EXPECT_EQ("3", field("lapse", "due_but_present_keys"));
  client_("PURGE 2");
  EXPECT_EQ("2", field("lapse", "purged_keys"));
  client_("DEBUG SET-ACTIVE-EXPIRE 1");
  server_.turn();
  EXPECT_EQ("2", field("lapse", "purged_keys"));
  EXPECT_EQ("3", field("lapse", "expired_keys"));
}

TEST_F(InfoCommand, TellsMissesThatAreDueToExpiry) {
  client_("SET key value PX 100");
  server_.advance(100);
  client_("GET never");
  EXPECT_EQ("0", field("lapse", "misses_by_expiry"));
  client_("GET key");
  EXPECT_EQ("1", field("lapse", "misses_by_expiry"));
  client_("SET key again");
  client_("GETDEL key");
  client_("GET key");
  EXPECT_EQ("1", field("lapse", "misses_by_expiry"));
}

TEST_F(InfoCommand, TellsWhatIsDueAndStillThere) {
  client_("DEBUG SET-ACTIVE-EXPIRE 0");
  client_("SET key value PX 100");
  client_("SET other value PX 100");
  EXPECT_EQ("0", field("lapse", "due_but_present_keys"));
  server_.advance(250);
  EXPECT_EQ("2", field("lapse", "due_but_present_keys"));
  client_("DEBUG SET-ACTIVE-EXPIRE 1");
  server_.turn();
  EXPECT_EQ("0", field("lapse", "due_but_present_keys"));
  EXPECT_EQ("150", field("lapse", "expiry_lag_ms"));
}

TEST_F(InfoCommand, InResp3ItIsVerbatim) {
  client_.ask({"HELLO", "3"});
  EXPECT_EQ(resp::Reply::Type::kVerbatim, client_.ask({"INFO", "server"}).type);
}

}  // namespace
}  // namespace lapse::server
