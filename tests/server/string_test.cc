// Strings: the values themselves.

#include "test_server.h"

namespace lapse::server {
namespace {

class StringCommands : public testing::Test {
 protected:
  TestServer server_;
  TestClient client_{server_};
};

TEST_F(StringCommands, SetClearsTheLifetimeUnlessKeepttl) {
  EXPECT_EQ("OK", client_("SET key first EX 10"));
  EXPECT_EQ("OK", client_("SET key second KEEPTTL"));
  server_.advance(9'999);
  EXPECT_EQ("\"second\"", client_("GET key"));
  EXPECT_EQ("OK", client_("SET key third"));
  server_.advance(1);
  EXPECT_EQ("\"third\"", client_("GET key"));
}

TEST_F(StringCommands, AKeyIsGoneAtItsDeadline) {
  EXPECT_EQ("OK", client_("SET key value PX 100"));
  server_.advance(99);
  EXPECT_EQ("\"value\"", client_("GET key"));
  server_.advance(1);
  EXPECT_EQ("(nil)", client_("GET key"));
}

TEST_F(StringCommands, SetRefusesLifetimesThatAreNone) {
  EXPECT_EQ("(error) ERR invalid expire time in 'set' command", client_("SET key value EX 0"));
  EXPECT_EQ("(error) ERR invalid expire time in 'set' command", client_("SET key value PX -1"));
  EXPECT_EQ("(error) ERR invalid expire time in 'set' command",
            client_("SET key value EX 9223372036854775807"));
  EXPECT_EQ("(error) ERR value is not an integer or out of range", client_("SET key value EX ten"));
  EXPECT_EQ("(error) ERR syntax error", client_("SET key value EX 10 PX 10"));
  EXPECT_EQ("(error) ERR syntax error", client_("SET key value NX XX"));
  EXPECT_EQ("(nil)", client_("GET key"));
}

}  // namespace
}  // namespace lapse::server
