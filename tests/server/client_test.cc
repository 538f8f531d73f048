// CLIENT: who is connected, and what is done about it.

#include "test_server.h"

namespace lapse::server {
namespace {

using testing::Test;

class ClientCommands : public Test {
 protected:
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  TestServer server_;
  TestClient client_{server_};
  TestClient other_{server_};
};

TEST_F(ClientCommands, NumbersGoUp) {
  EXPECT_EQ("(integer) 1", client_("CLIENT ID"));
  EXPECT_EQ("(integer) 2", other_("CLIENT ID"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'client|id' command", client_("CLIENT ID x"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'client' command", client_("CLIENT"));
  EXPECT_EQ("(error) ERR unknown subcommand 'x'. Try CLIENT HELP.", client_("CLIENT x"));
  EXPECT_EQ("CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            client_.ask({"CLIENT", "HELP"}).elements[0].text);
}

TEST_F(ClientCommands, ANameStaysUntilItIsTakenBack) {
  EXPECT_EQ("(nil)", client_("CLIENT GETNAME"));
  EXPECT_EQ("OK", client_("CLIENT SETNAME worker-7"));
  EXPECT_EQ("\"worker-7\"", client_("CLIENT GETNAME"));
  EXPECT_EQ("(error) ERR Client names cannot contain spaces, newlines or special characters.",
            client_({"CLIENT", "SETNAME", "two words"}));
  EXPECT_EQ("\"worker-7\"", client_("CLIENT GETNAME"));
  EXPECT_EQ("OK", client_({"CLIENT", "SETNAME", ""}));
  EXPECT_EQ("(nil)", client_("CLIENT GETNAME"));
}

TEST_F(ClientCommands, SetinfoKeepsLibraryAndVersion) {
  EXPECT_EQ("OK", client_("CLIENT SETINFO LIB-NAME redis-py"));
  EXPECT_EQ("OK", client_("CLIENT SETINFO lib-ver 5.0.1"));
  EXPECT_TRUE(has(client_("CLIENT INFO"), " lib-name=redis-py lib-ver=5.0.1"));
  EXPECT_EQ("(error) ERR Unrecognized option 'x'", client_("CLIENT SETINFO x y"));
  EXPECT_EQ("(error) ERR lib-name cannot contain spaces, newlines or special characters.",
            client_({"CLIENT", "SETINFO", "LIB-NAME", "a b"}));
}

TEST_F(ClientCommands, InfoTellsAboutOneself) {
  client_("CLIENT SETNAME me");
  client_("SELECT 3");
  server_.advance(5'000);
  const std::string line = client_.ask({"CLIENT", "INFO"}).text;
  EXPECT_TRUE(line.starts_with(
      "id=1 addr=127.0.0.1:5555 laddr=127.0.0.1:6379 fd=-1 name=me age=5 idle=0 flags=N db=3"))
      << line;
  EXPECT_TRUE(has(line, " cmd=client|info user=default redir=-1 resp=2 lib-name= lib-ver=\n")) << line;
  client_.ask({"HELLO", "3"});
  EXPECT_EQ(resp::Reply::Type::kVerbatim, client_.ask({"CLIENT", "INFO"}).type);
}

TEST_F(ClientCommands, ListShowsAllOrThoseAskedFor) {
  other_("SUBSCRIBE news");
  const auto list = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"CLIENT", "LIST"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return client_.ask(arguments).text;
  };
  EXPECT_TRUE(has(list({}), "id=1 ") && has(list({}), "id=2 "));
  EXPECT_TRUE(has(list({}), " flags=P db=0 sub=1 "));
  EXPECT_TRUE(list({"TYPE", "pubsub"}).starts_with("id=2 "));
  EXPECT_TRUE(list({"TYPE", "normal"}).starts_with("id=1 ") && !has(list({"TYPE", "normal"}), "id=2 "));
  EXPECT_EQ("", list({"TYPE", "replica"}));
  EXPECT_TRUE(list({"ID", "2", "99"}).starts_with("id=2 "));
  EXPECT_EQ("(error) ERR Invalid client ID", client_("CLIENT LIST ID x"));
  EXPECT_EQ("(error) ERR Unknown client type 'x'", client_("CLIENT LIST TYPE x"));
  EXPECT_EQ("(error) ERR syntax error", client_("CLIENT LIST x"));
}

TEST_F(ClientCommands, KillByNumberEndsOne) {
  EXPECT_EQ("(integer) 1", client_("CLIENT KILL ID 2"));
  other_.receive();
  EXPECT_TRUE(other_.closed());
  EXPECT_EQ("(integer) 0", client_("CLIENT KILL ID 2"));
}

TEST_F(ClientCommands, KillSparesOneselfUnlessTold) {
  EXPECT_EQ("(integer) 1", client_("CLIENT KILL TYPE normal"));
  EXPECT_FALSE(client_.closed());
  EXPECT_EQ("(integer) 1", client_("CLIENT KILL TYPE normal SKIPME no LADDR 127.0.0.1:6379 USER default"));
  EXPECT_TRUE(client_.closed());
}

TEST_F(ClientCommands, KillByAddressMeansOneselfToo) {
  EXPECT_EQ("(error) ERR No such client", client_("CLIENT KILL 1.2.3.4:5"));
  EXPECT_EQ("OK", client_("CLIENT KILL 127.0.0.1:5555"));
  EXPECT_TRUE(client_.closed());
  other_.receive();
  EXPECT_TRUE(other_.closed());
}

TEST_F(ClientCommands, KillByAgeEndsTheOlderOnes) {
  server_.advance(9'999);
  EXPECT_EQ("(integer) 0", client_("CLIENT KILL MAXAGE 10"));
  server_.advance(1);
  EXPECT_EQ("(integer) 1", client_("CLIENT KILL ADDR 127.0.0.1:5555 MAXAGE 10"));
}

TEST_F(ClientCommands, KillRefusesWhatItDoesNotKnow) {
  EXPECT_EQ("(error) ERR client-id should be greater than 0", client_("CLIENT KILL ID 0"));
  EXPECT_EQ("(error) ERR client-id should be greater than 0", client_("CLIENT KILL ID x"));
  EXPECT_EQ("(error) ERR Unknown client type 'x'", client_("CLIENT KILL TYPE x"));
  EXPECT_EQ("(error) ERR No such user 'x'", client_("CLIENT KILL USER x"));
  EXPECT_EQ("(error) ERR syntax error", client_("CLIENT KILL x y"));
  EXPECT_EQ("(error) ERR syntax error", client_("CLIENT KILL ID 2 SKIPME"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'client|kill' command", client_("CLIENT KILL"));
  EXPECT_FALSE(other_.closed());
}

TEST_F(ClientCommands, ReplyOffIsSilentUntilOn) {
  EXPECT_EQ("", client_("CLIENT REPLY OFF"));
  EXPECT_EQ("", client_("SET key value"));
  EXPECT_EQ("", client_("NOSUCHCOMMAND"));
  EXPECT_EQ("OK", client_("CLIENT REPLY ON"));
  EXPECT_EQ("\"value\"", client_("GET key"));
}

TEST_F(ClientCommands, ReplyOffKeepsNobodyFromListening) {
  EXPECT_EQ("", client_("CLIENT REPLY OFF"));
  EXPECT_EQ("1) \"subscribe\"\n2) \"news\"\n3) (integer) 1", client_("SUBSCRIBE news"));
  EXPECT_EQ("(integer) 1", other_("PUBLISH news hello"));
  EXPECT_EQ("1) \"message\"\n2) \"news\"\n3) \"hello\"", client_.receive());
}

TEST_F(ClientCommands, ReplySkipLeavesOutOne) {
  EXPECT_EQ("", client_("CLIENT REPLY SKIP"));
  EXPECT_EQ("", client_("SET key value"));
  EXPECT_EQ("\"value\"", client_("GET key"));
  EXPECT_EQ("(error) ERR syntax error", client_("CLIENT REPLY x"));
}

TEST_F(ClientCommands, ReplyIsRefusedWithinATransactionWhichWouldLackAReply) {
  EXPECT_EQ("OK", client_("MULTI"));
  EXPECT_EQ("(error) ERR Command not allowed inside a transaction", client_("CLIENT REPLY SKIP"));
  EXPECT_EQ("(error) EXECABORT Transaction discarded because of previous errors.", client_("EXEC"));
}

TEST_F(ClientCommands, SwitchesAreKept) {
  EXPECT_EQ("OK", client_("CLIENT NO-EVICT on"));
  EXPECT_EQ("OK", client_("CLIENT NO-TOUCH on"));
  EXPECT_TRUE(has(client_("CLIENT INFO"), " flags=eT "));
  EXPECT_EQ("OK", client_("CLIENT NO-EVICT off"));
  EXPECT_EQ("OK", client_("CLIENT NO-TOUCH off"));
  EXPECT_TRUE(has(client_("CLIENT INFO"), " flags=N "));
  EXPECT_EQ("(error) ERR syntax error", client_("CLIENT NO-EVICT x"));
  EXPECT_EQ("(error) ERR syntax error", client_("CLIENT NO-TOUCH x"));
}

TEST_F(ClientCommands, PauseHoldsUpEverythingUntilItsTime) {
  EXPECT_EQ("OK", client_("CLIENT PAUSE 100"));
  EXPECT_EQ("", other_("GET key"));
  server_.advance(99);
  EXPECT_EQ("", other_.receive());
  server_.advance(1);
  EXPECT_EQ("(nil)", other_.receive());
}

TEST_F(ClientCommands, PauseWriteLetsReadsThrough) {
  EXPECT_EQ("OK", client_("CLIENT PAUSE 100 WRITE"));
  EXPECT_EQ("(nil)", other_("GET key"));
  EXPECT_EQ("", other_("SET key value"));
  EXPECT_EQ("", client_("PUBLISH news hello"));
  EXPECT_EQ("OK", TestClient(server_)("CLIENT UNPAUSE"));
  server_.turn();
  EXPECT_EQ("OK", other_.receive());
  EXPECT_EQ("(integer) 0", client_.receive());
}

TEST_F(ClientCommands, PauseHoldsUpSubscribersToo) {
  other_("HELLO 3");
  other_("SUBSCRIBE news");
  EXPECT_EQ("OK", client_("CLIENT PAUSE 100 ALL"));
  EXPECT_EQ("", other_("SET key value"));
  server_.advance(100);
  EXPECT_EQ("OK", other_.receive());
}

TEST_F(ClientCommands, PauseWriteHoldsUpAnExecThatPublishes) {
  other_("MULTI");
  other_("PUBLISH news hello");
  EXPECT_EQ("OK", client_("CLIENT PAUSE 100 WRITE"));
  EXPECT_EQ("", other_("EXEC"));
  server_.advance(100);
  EXPECT_EQ("1) (integer) 0", other_.receive());
}

TEST_F(ClientCommands, PauseWriteHoldsUpSubcommandsThatWrite) {
  EXPECT_EQ("OK", client_("CLIENT PAUSE 100 WRITE"));
  EXPECT_EQ("", other_("FAMILY CREATE docs"));
  EXPECT_EQ("(error) ERR no such family 'docs'", client_("FAMILY INFO docs"));
  server_.advance(100);
  EXPECT_EQ("OK", other_.receive());
}

TEST_F(ClientCommands, PauseHoldsUpNothingThatIsRefused) {
  EXPECT_EQ("OK", client_("CLIENT PAUSE 100 ALL"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'get' command", other_("GET"));
}

TEST_F(ClientCommands, PauseRefusesTimesThatAreNone) {
  EXPECT_EQ("(error) ERR timeout is not an integer or out of range", client_("CLIENT PAUSE x"));
  EXPECT_EQ("(error) ERR timeout is not an integer or out of range",
            client_("CLIENT PAUSE 9223372036854775807"));
  EXPECT_EQ("(error) ERR timeout is negative", client_("CLIENT PAUSE -1"));
  EXPECT_EQ("(error) ERR CLIENT PAUSE mode must be WRITE or ALL", client_("CLIENT PAUSE 1 x"));
  EXPECT_EQ("(error) ERR unknown subcommand or wrong number of arguments for 'PAUSE'. Try CLIENT HELP.",
            client_("CLIENT PAUSE 1 ALL x"));
}

TEST_F(ClientCommands, OfTwoPausesTheLongerAndStricterHolds) {
  TestClient other(server_);
  EXPECT_EQ("OK", other("CLIENT PAUSE 1000 ALL"));
  EXPECT_EQ("OK", other("CLIENT PAUSE 10 WRITE"));
  server_.advance(999);
  EXPECT_EQ("", client_("GET key"));
  server_.advance(1);
  EXPECT_EQ("(nil)", client_.receive());
  EXPECT_EQ("OK", other("CLIENT PAUSE 1000 WRITE"));
  EXPECT_EQ("(nil)", client_("GET key"));
}

TEST_F(ClientCommands, APauseIsNoLongerWhereTheDateIsSetBack) {
  EXPECT_EQ("OK", client_("CLIENT PAUSE 1000"));
  server_.advance(-3'600'000);
  EXPECT_EQ("", other_("GET key"));
  EXPECT_EQ(server_.now_ms() + 1'000, server_->wakeup_ms());
  server_.advance(1'000);
  EXPECT_EQ("(nil)", other_.receive());
}

TEST_F(ClientCommands, NothingExpiresWhileClientsArePaused) {
  TestClient other(server_);
  client_("SET key value PX 100");
  EXPECT_EQ("OK", other("CLIENT PAUSE 1000 WRITE"));
  server_.advance(500);
  EXPECT_EQ(0U, server_->statistics().expired);
  EXPECT_EQ("(nil)", client_("GET key"));
  EXPECT_EQ(TestServer::kStartMs + 1'000, server_->wakeup_ms());
  server_.advance(500);
  EXPECT_EQ(1U, server_->statistics().expired);
}

}  // namespace
}  // namespace lapse::server
