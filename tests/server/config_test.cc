// CONFIG: the settings while the server runs. src/server/config_test.cc has the settings themselves.

#include <cstdio>
#include <fstream>
#include <sstream>

#include "test_server.h"

namespace lapse::server {
namespace {

class ConfigCommands : public testing::Test {
 protected:
  TestServer server_;
  TestClient client_{server_};
};

TEST_F(ConfigCommands, GetTakesSeveralPatternsAndAnswersEachSettingOnce) {
  EXPECT_EQ("1) \"timeout\"\n2) \"0\"", client_("CONFIG GET timeout"));
  EXPECT_EQ("1) \"slowlog-log-slower-than\"\n2) \"10000\"\n3) \"slowlog-max-len\"\n4) \"128\"",
            client_("CONFIG GET SLOW* slowlog-max-len"));
  EXPECT_EQ("(empty array)", client_("CONFIG GET nosuch"));
  EXPECT_EQ("1) \"save\"\n2) \"\"", client_("CONFIG GET save"));
  EXPECT_EQ("1) \"appendonly\"\n2) \"yes\"", client_("CONFIG GET appendonly"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'config|get' command", client_("CONFIG GET"));
}

TEST_F(ConfigCommands, InResp3GetIsAMap) {
  client_.ask({"HELLO", "3"});
  EXPECT_EQ(resp::Reply::Type::kMap, client_.ask({"CONFIG", "GET", "timeout"}).type);
}

TEST_F(ConfigCommands, SetChangesAllOrNothing) {
  EXPECT_EQ("OK", client_("CONFIG SET timeout 7 maxclients 99"));
  EXPECT_EQ(7, server_->config().timeout_seconds);
  EXPECT_EQ(
      "(error) ERR CONFIG SET failed (possibly related to argument 'maxclients') - argument couldn't be "
      "parsed into an "
      "integer",
      client_("CONFIG SET timeout 8 maxclients many"));
  EXPECT_EQ("(error) ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'",
            client_("CONFIG SET timeout 8 nosuch 1"));
  EXPECT_EQ("(error) ERR CONFIG SET failed (possibly related to argument 'timeout') - duplicate parameter",
            client_("CONFIG SET timeout 8 timeout 9"));
  EXPECT_EQ(
      "(error) ERR CONFIG SET failed (possibly related to argument 'port') - can't set immutable config",
      client_("CONFIG SET timeout 8 port 1"));
  EXPECT_EQ("(error) ERR syntax error", client_("CONFIG SET timeout 8 port"));
  EXPECT_EQ(7, server_->config().timeout_seconds);
  EXPECT_EQ(99, server_->config().max_clients);
}

TEST_F(ConfigCommands, SetTakesWhatAFixedSettingIsAnyway) {
  EXPECT_EQ("OK", client_({"CONFIG", "SET", "save", ""}));
  EXPECT_EQ("OK", client_("CONFIG SET appendonly yes maxmemory 0"));
  EXPECT_EQ(
      "(error) ERR CONFIG SET failed (possibly related to argument 'appendonly') - can't set immutable "
      "config",
      client_("CONFIG SET appendonly no"));
}

TEST_F(ConfigCommands, APasswordIsForThoseWhoComeLater) {
  EXPECT_EQ("OK", client_("CONFIG SET requirepass secret"));
  EXPECT_EQ("PONG", client_("PING"));
  TestClient later(server_);
  EXPECT_EQ("(error) NOAUTH Authentication required.", later("PING"));
  EXPECT_EQ("OK", client_({"CONFIG", "SET", "requirepass", ""}));
  EXPECT_EQ("PONG", later("PING"));
}

TEST_F(ConfigCommands, ANewPasswordIsAlsoForThoseWhoNeverSaidTheOldOne) {
  EXPECT_EQ("OK", client_("CONFIG SET requirepass secret"));
  TestClient known(server_);
  TestClient stranger(server_);
  EXPECT_EQ("OK", known("AUTH secret"));
  EXPECT_EQ("OK", client_({"CONFIG", "SET", "requirepass", ""}));
  EXPECT_EQ("OK", stranger({"SET", "key", std::string(20'000, 'x')}));
  EXPECT_EQ("OK", client_("CONFIG SET requirepass other"));
  EXPECT_EQ("(error) NOAUTH Authentication required.", stranger("PING"));
  EXPECT_EQ("PONG", known("PING"));
}

TEST_F(ConfigCommands, APublicAddressKeepsItsPassword) {
  Config config = TestServer::in_memory();
  config.bind = {"0.0.0.0"};
  config.requirepass = "secret";
  TestServer server(config);
  TestClient client(server);
  client("AUTH secret");
  EXPECT_TRUE(client({"CONFIG", "SET", "requirepass", ""}).starts_with("(error) ERR CONFIG SET failed"));
  EXPECT_EQ("secret", server->config().requirepass);
  EXPECT_EQ("OK", client({"CONFIG", "SET", "protected-mode", "no", "requirepass", ""}));
}

TEST_F(ConfigCommands, RewriteNeedsAFile) {
  EXPECT_EQ("(error) ERR The server is running without a config file", client_("CONFIG REWRITE"));
}

TEST_F(ConfigCommands, RewriteWritesWhatHasChanged) {
  const TempDir directory;
  const std::string path = directory.path() + "/lapse.conf";
  std::ofstream(path) << "# mine\ntimeout 5\n";
  Config config = TestServer::in_memory();
  must(read_config_file(path, &config));
  TestServer server(config);
  TestClient client(server);
  EXPECT_EQ("OK", client("CONFIG SET timeout 6 slowlog-max-len 3"));
  EXPECT_EQ("OK", client("CONFIG REWRITE"));
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ("# mine\ntimeout 6\nfile \"\"\nslowlog-max-len 3\n", text.str());
}

TEST_F(ConfigCommands, ResetstatBeginsAnew) {
  client_("GET nothing");
  EXPECT_EQ("OK", client_("CONFIG RESETSTAT"));
  EXPECT_EQ(0U, server_->statistics().misses);
  EXPECT_EQ("CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            client_.ask({"CONFIG", "HELP"}).elements[0].text);
  EXPECT_EQ("(error) ERR unknown subcommand 'x'. Try CONFIG HELP.", client_("CONFIG x"));
}

}  // namespace
}  // namespace lapse::server
