// The connection itself: who is there, which protocol, which database.

#include "test_server.h"

namespace lapse::server {
namespace {

class ConnectionCommands : public testing::Test {
 protected:
  static Config with_password() {
    Config config = TestServer::in_memory();
    config.requirepass = "secret";
    return config;
  }

  TestServer server_;
  TestClient client_{server_};
};

TEST_F(ConnectionCommands, PingAndEchoAnswer) {
  EXPECT_EQ("PONG", client_("PING"));
  EXPECT_EQ("\"hello\"", client_("PING hello"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'ping' command", client_("PING a b"));
  EXPECT_EQ("\"hello\"", client_("ECHO hello"));
  EXPECT_EQ("\"\"", client_("ECHO \"\""));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'echo' command", client_("ECHO"));
}

TEST_F(ConnectionCommands, SelectKeepsDatabasesApart) {
  client_("SET key zero");
  EXPECT_EQ("OK", client_("SELECT 15"));
  EXPECT_EQ("(nil)", client_("GET key"));
  EXPECT_EQ("(error) ERR DB index is out of range", client_("SELECT 16"));
  EXPECT_EQ("(error) ERR DB index is out of range", client_("SELECT -1"));
  EXPECT_TRUE(client_("SELECT x").starts_with("(error) ERR invalid DB index"));
  EXPECT_EQ("OK", client_("SELECT 0"));
  EXPECT_EQ("\"zero\"", client_("GET key"));
}

TEST_F(ConnectionCommands, HelloChoosesTheProtocolAndTellsAboutTheServer) {
  const resp::Reply two = client_.ask({"HELLO"});
  EXPECT_EQ(resp::Reply::Type::kArray, two.type);
  ASSERT_EQ(14U, two.elements.size());
  EXPECT_EQ("server", two.elements[0].text);
  EXPECT_EQ("redis", two.elements[1].text);
  EXPECT_EQ(2, two.elements[5].integer);
  const resp::Reply three = client_.ask({"HELLO", "3", "SETNAME", "me"});
  EXPECT_EQ(resp::Reply::Type::kMap, three.type);
  EXPECT_EQ(3, three.elements[5].integer);
  EXPECT_EQ("\"me\"", client_("CLIENT GETNAME"));
  EXPECT_EQ(resp::Reply::Type::kNull, client_.ask({"GET", "nothing"}).type);
}

TEST_F(ConnectionCommands, HelloRefusesWhatItDoesNotKnow) {
  EXPECT_EQ("(error) NOPROTO unsupported protocol version", client_("HELLO 4"));
  EXPECT_EQ("(error) ERR Protocol version is not an integer or out of range", client_("HELLO x"));
  EXPECT_EQ("(error) ERR Syntax error in HELLO option 'x'", client_("HELLO 3 x"));
  EXPECT_EQ("(error) WRONGPASS invalid username-password pair or user is disabled.",
            client_("HELLO 3 AUTH x y"));
  EXPECT_EQ(2, client_.session()->protocol);
}

TEST_F(ConnectionCommands, WithAPasswordNothingWorksBeforeAuth) {
  TestServer server(with_password());
  TestClient client(server);
  EXPECT_EQ("(error) NOAUTH Authentication required.", client("GET key"));
  EXPECT_TRUE(client("HELLO 3").starts_with("(error) NOAUTH HELLO must be called"));
  EXPECT_EQ("(error) WRONGPASS invalid username-password pair or user is disabled.", client("AUTH wrong"));
  EXPECT_EQ("(error) WRONGPASS invalid username-password pair or user is disabled.",
            client("AUTH other secret"));
  EXPECT_EQ("OK", client("AUTH secret"));
  EXPECT_EQ("(nil)", client("GET key"));
  EXPECT_EQ("RESET", client("RESET"));
  EXPECT_EQ("(error) NOAUTH Authentication required.", client("GET key"));
  EXPECT_EQ(14U, client.ask({"HELLO", "2", "AUTH", "default", "secret"}).elements.size());
  EXPECT_EQ("(nil)", client("GET key"));
}

TEST_F(ConnectionCommands, AHelloThatIsRefusedAuthenticatesNobody) {
  TestServer server(with_password());
  TestClient client(server);
  EXPECT_EQ("(error) ERR Syntax error in HELLO option 'x'", client("HELLO 3 AUTH default secret x"));
  EXPECT_EQ("(error) NOAUTH Authentication required.", client("GET key"));
}

TEST_F(ConnectionCommands, AuthWithoutAPasswordIsToldSo) {
  EXPECT_EQ(
      "(error) ERR AUTH <password> called without any password configured for the default user. Are you sure "
      "your "
      "configuration is correct?",
      client_("AUTH secret"));
  EXPECT_EQ("OK", client_("AUTH default anything"));
}

TEST_F(ConnectionCommands, ResetMakesTheConnectionNew) {
  client_.ask({"HELLO", "3", "SETNAME", "me"});
  client_("SELECT 3");
  client_("SUBSCRIBE news");
  client_("MULTI");
  EXPECT_EQ("RESET", client_("RESET"));
  EXPECT_EQ("(nil)", client_("CLIENT GETNAME"));
  EXPECT_EQ(2, client_.session()->protocol);
  EXPECT_EQ(0, client_.session()->db);
  EXPECT_FALSE(client_.session()->subscribed());
  EXPECT_EQ("(error) ERR EXEC without MULTI", client_("EXEC"));
}

TEST_F(ConnectionCommands, QuitSaysGoodbye) {
  EXPECT_EQ("OK", client_("QUIT"));
  EXPECT_TRUE(client_.closed());
}

}  // namespace
}  // namespace lapse::server
