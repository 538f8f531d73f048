// Messages, and the events that keys send.

#include "test_server.h"

namespace lapse::server {
namespace {

using Lines = std::vector<std::string>;

class PubsubCommands : public testing::Test {
 protected:
  std::string message(const std::string& channel, const std::string& text) {
    return "1) \"message\"\n2) \"" + channel + "\"\n3) \"" + text + "\"";
  }

  TestServer server_;
  TestClient client_{server_};
  TestClient subscriber_{server_};
};

TEST_F(PubsubCommands, SubscribeConfirmsEachChannelAndHearsWhatIsPublished) {
  EXPECT_EQ("1) \"subscribe\"\n2) \"news\"\n3) (integer) 1", subscriber_("SUBSCRIBE news sport"));
  EXPECT_EQ("1) \"subscribe\"\n2) \"sport\"\n3) (integer) 2", subscriber_.receive());
  EXPECT_EQ("(integer) 1", client_("PUBLISH news hello"));
  EXPECT_EQ("(integer) 0", client_("PUBLISH weather rain"));
  EXPECT_EQ(Lines{message("news", "hello")}, subscriber_.receive_all());
}

TEST_F(PubsubCommands, PsubscribeHearsAgainWhatItHasSubscribedToTwice) {
  subscriber_("SUBSCRIBE news.a");
  EXPECT_EQ("1) \"psubscribe\"\n2) \"news.*\"\n3) (integer) 2", subscriber_("PSUBSCRIBE news.*"));
  EXPECT_EQ("(integer) 2", client_("PUBLISH news.a hello"));
  EXPECT_EQ(message("news.a", "hello"), subscriber_.receive());
  EXPECT_EQ("1) \"pmessage\"\n2) \"news.*\"\n3) \"news.a\"\n4) \"hello\"", subscriber_.receive());
}

TEST_F(PubsubCommands, UnsubscribeWithoutChannelsLeavesAll) {
  EXPECT_EQ("1) \"unsubscribe\"\n2) (nil)\n3) (integer) 0", subscriber_("UNSUBSCRIBE"));
  EXPECT_EQ("1) \"punsubscribe\"\n2) (nil)\n3) (integer) 0", subscriber_("PUNSUBSCRIBE"));
  subscriber_("SUBSCRIBE a b");
  subscriber_.receive_all();
  subscriber_("PSUBSCRIBE p*");
  EXPECT_EQ("1) \"unsubscribe\"\n2) \"a\"\n3) (integer) 2", subscriber_("UNSUBSCRIBE"));
  EXPECT_EQ("1) \"unsubscribe\"\n2) \"b\"\n3) (integer) 1", subscriber_.receive());
  EXPECT_EQ("1) \"unsubscribe\"\n2) \"never\"\n3) (integer) 1", subscriber_("UNSUBSCRIBE never"));
  EXPECT_EQ("1) \"punsubscribe\"\n2) \"p*\"\n3) (integer) 0", subscriber_("PUNSUBSCRIBE p*"));
  EXPECT_EQ("PONG", subscriber_("PING"));
}

TEST_F(PubsubCommands, AnOldSubscriberMayOnlySubscribe) {
  subscriber_("SUBSCRIBE news");
  EXPECT_EQ(
      "(error) ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "
      "allowed "
      "in this context",
      subscriber_("GET key"));
  EXPECT_EQ("1) \"pong\"\n2) \"\"", subscriber_("PING"));
  EXPECT_EQ("RESET", subscriber_("RESET"));
  EXPECT_EQ("(nil)", subscriber_("GET key"));
}

TEST_F(PubsubCommands, InResp3MessagesArePushesAndTheRestGoesOn) {
  subscriber_.ask({"HELLO", "3"});
  EXPECT_EQ(resp::Reply::Type::kPush, subscriber_.ask({"SUBSCRIBE", "news"}).type);
  EXPECT_EQ("(nil)", subscriber_("GET key"));
  // The message stands behind the reply of the command that sent it.
  EXPECT_EQ("(integer) 1", subscriber_("PUBLISH news hello"));
  const auto read = must(resp::read_reply(subscriber_.received_bytes()));
  ASSERT_TRUE(read);
  EXPECT_EQ(resp::Reply::Type::kPush, read->reply.type);
}

TEST_F(PubsubCommands, ThoseThatHaveLeftHearNothing) {
  subscriber_("SUBSCRIBE news");
  subscriber_("QUIT");
  EXPECT_TRUE(subscriber_.closed());
  EXPECT_EQ("(integer) 0", client_("PUBLISH news hello"));
}

TEST_F(PubsubCommands, PubsubTellsWhoIsThere) {
  EXPECT_EQ("(empty array)", client_("PUBSUB CHANNELS"));
  subscriber_("SUBSCRIBE a1 a2 b1");
  subscriber_("PSUBSCRIBE a* b*");
  EXPECT_EQ("1) \"a1\"\n2) \"a2\"\n3) \"b1\"", client_("PUBSUB CHANNELS"));
  EXPECT_EQ("1) \"a1\"\n2) \"a2\"", client_("PUBSUB CHANNELS a*"));
  EXPECT_EQ("(empty array)", client_("PUBSUB CHANNELS \"\""));
  EXPECT_EQ("1) \"a1\"\n2) (integer) 1\n3) \"none\"\n4) (integer) 0", client_("PUBSUB NUMSUB a1 none"));
  EXPECT_EQ("(empty array)", client_("PUBSUB NUMSUB"));
  EXPECT_EQ("(integer) 2", client_("PUBSUB NUMPAT"));
  EXPECT_EQ("(empty array)", client_("PUBSUB SHARDCHANNELS"));
  EXPECT_EQ("1) \"a1\"\n2) (integer) 0", client_("PUBSUB SHARDNUMSUB a1"));
}

TEST_F(PubsubCommands, WrongArgumentsAreRefused) {
  EXPECT_EQ("(error) ERR wrong number of arguments for 'subscribe' command", client_("SUBSCRIBE"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'psubscribe' command", client_("PSUBSCRIBE"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'publish' command", client_("PUBLISH news"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'pubsub' command", client_("PUBSUB"));
  EXPECT_EQ("(error) ERR unknown subcommand 'x'. Try PUBSUB HELP.", client_("PUBSUB x"));
  EXPECT_EQ("(error) ERR unknown subcommand or wrong number of arguments for 'CHANNELS'. Try PUBSUB HELP.",
            client_("PUBSUB CHANNELS a b"));
  EXPECT_EQ("(error) ERR wrong number of arguments for 'pubsub|numpat' command", client_("PUBSUB NUMPAT x"));
  EXPECT_EQ("PUBSUB <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
            client_.ask({"PUBSUB", "HELP"}).elements[0].text);
}

TEST_F(PubsubCommands, KeysTellOfThemselvesOnlyIfAsked) {
  subscriber_("PSUBSCRIBE __key*");
  EXPECT_EQ("OK", client_("SET key value"));
  EXPECT_EQ(Lines{}, subscriber_.receive_all());
  EXPECT_EQ("OK", client_("CONFIG SET notify-keyspace-events KEA"));
  EXPECT_EQ("OK", client_("SET key value"));
  EXPECT_EQ((Lines{"1) \"pmessage\"\n2) \"__key*\"\n3) \"__keyspace@0__:key\"\n4) \"set\"",
                   "1) \"pmessage\"\n2) \"__key*\"\n3) \"__keyevent@0__:set\"\n4) \"key\""}),
            subscriber_.receive_all());
}

TEST_F(PubsubCommands, AKeyTellsThatItExpiredAtItsDeadline) {
  client_("CONFIG SET notify-keyspace-events Ex");
  subscriber_("SUBSCRIBE __keyevent@0__:expired __keyevent@3__:expired");
  subscriber_.receive_all();
  client_("SET key value PX 100");
  client_("SELECT 3");
  client_("SET other value PX 101");
  server_.advance(99);
  EXPECT_EQ(Lines{}, subscriber_.receive_all());
  server_.advance(1);
  EXPECT_EQ(Lines{message("__keyevent@0__:expired", "key")}, subscriber_.receive_all());
  server_.advance(1);
  EXPECT_EQ(Lines{message("__keyevent@3__:expired", "other")}, subscriber_.receive_all());
}

TEST_F(PubsubCommands, AMissTellsIfAsked) {
  client_("CONFIG SET notify-keyspace-events Em");
  subscriber_("SUBSCRIBE __keyevent@0__:keymiss");
  client_("GET nothing");
  EXPECT_EQ(Lines{message("__keyevent@0__:keymiss", "nothing")}, subscriber_.receive_all());
}

TEST_F(PubsubCommands, ACommandThatFailsTellsNothing) {
  client_("CONFIG SET notify-keyspace-events KEA");
  subscriber_("PSUBSCRIBE *");
  client_("SET key value EX 0");
  EXPECT_EQ(Lines{}, subscriber_.receive_all());
}

}  // namespace
}  // namespace lapse::server
