// What a client may ask of the server: beyond it there is an error, or the end of the connection, and the others do not
// notice.

#include "test_server.h"

namespace lapse::server {
namespace {

Config config_with(const std::function<void(Config&)>& change) {
  Config config = TestServer::in_memory();
  change(config);
  return config;
}

std::string many_gets(int count) {
  std::string gets;
  for (int i = 0; i < count; ++i) gets += "GET key\r\n";
  return gets;
}

TEST(Limits, MalformedProtocolIsAnErrorAndTheEnd) {
  TestServer server;
  for (const std::string_view bytes :
       {"*x\r\n", "*1\r\n+PING\r\n", "*1\r\n$-5\r\n", "SET 'key\r\n", "*1\r\n$4\r\nPING\r\n*1\r\n$x\r\n"}) {
    TestClient client(server);
    client.send(bytes);
    const std::vector<std::string> replies = client.receive_all();
    ASSERT_FALSE(replies.empty());
    EXPECT_TRUE(replies.back().starts_with("(error) ERR Protocol error: ")) << replies.back();
    EXPECT_TRUE(client.closed()) << bytes;
  }
  TestClient other(server);
  EXPECT_EQ("PONG", other("PING"));
}

TEST(Limits, NothingBehindAnErrorOfTheProtocolIsRun) {
  TestServer server;
  TestClient client(server);
  client.send("*1\r\n$x\r\nSET key value\r\n");
  EXPECT_TRUE(client.closed());
  TestClient other(server);
  EXPECT_EQ("(nil)", other("GET key"));
}

TEST(Limits, BulkLength) {
  TestServer server(config_with([](Config& config) { config.max_bulk_bytes = 1 << 20; }));
  TestClient client(server);
  EXPECT_EQ("OK", client({"SET", "key", std::string(1 << 20, 'x')}));
  client.send("*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$1048577\r\n");
  EXPECT_EQ("(error) ERR Protocol error: invalid bulk length", client.receive());
  EXPECT_TRUE(client.closed());
}

TEST(Limits, ArgumentsOfACommand) {
  TestServer server(config_with([](Config& config) { config.max_arguments = 16; }));
  TestClient client(server);
  std::vector<std::string> words(16, "word");
  words[0] = "PING";
  EXPECT_EQ("(error) ERR wrong number of arguments for 'ping' command", client(words));
  client.send("*17\r\n");
  EXPECT_EQ("(error) ERR Protocol error: invalid multibulk length", client.receive());
  EXPECT_TRUE(client.closed());
}

TEST(Limits, QueryBuffer) {
  TestServer server(config_with([](Config& config) { config.query_buffer_limit = 1 << 20; }));
  TestClient client(server);
  client.send("*2\r\n$4\r\nECHO\r\n$2000000\r\n");
  client.send(std::string(900'000, 'x'));
  EXPECT_FALSE(client.closed());
  client.send(std::string(200'000, 'x'));
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(1U, server->statistics().clients_over_query_limit);
}

TEST(Limits, WhatIsAnnouncedTakesNoMemory) {
  TestServer server;
  TestClient client(server);
  client.send("*1048576\r\n$536870912\r\nab");
  EXPECT_LT(client.session()->input.capacity(), 4'096U);
}

TEST(Limits, ALargeCommandLeavesNoLargeBuffer) {
  TestServer server;
  TestClient client(server);
  client.send("*2\r\n$4\r\nECHO\r\n$1000000\r\n" + std::string(500'000, 'x'));
  EXPECT_GE(client.session()->input.capacity(), 500'000U);
  client.send(std::string(500'000, 'x') + "\r\n");
  EXPECT_LT(client.session()->input.capacity(), 100'000U);
  EXPECT_LT(client.session()->output.bytes().capacity(), 100'000U);
}

TEST(Limits, CommandsThatArriveByteByByte) {
  TestServer server;
  TestClient client(server);
  for (const char c : resp::to_request({"SET", "key", "value"}) + "GET key\r\n") client.send({&c, 1});
  EXPECT_EQ("OK", client.receive());
  EXPECT_EQ("\"value\"", client.receive());
}

TEST(Limits, AStrangerMaySendLittle) {
  const Config config = config_with([](Config& changed) { changed.requirepass = "secret"; });
  TestServer server(config);
  TestClient many(server);
  many.send("*11\r\n");
  EXPECT_EQ("(error) ERR Protocol error: unauthenticated multibulk length", many.receive());
  EXPECT_TRUE(many.closed());
  TestClient large(server);
  large.send("*2\r\n$4\r\nAUTH\r\n$16385\r\n");
  EXPECT_EQ("(error) ERR Protocol error: unauthenticated bulk length", large.receive());
  EXPECT_TRUE(large.closed());
  TestClient known(server);
  EXPECT_EQ("(error) NOAUTH Authentication required.", known("GET key"));
  EXPECT_EQ("OK", known("AUTH secret"));
  EXPECT_EQ("OK", known({"SET", "key", std::string(20'000, 'x')}));
}

TEST(Limits, AStrangerThatDoesNotReadIsDroppedEarly) {
  TestServer server(config_with([](Config& config) { config.requirepass = "secret"; }));
  TestClient stranger(server);
  TestClient known(server);
  EXPECT_EQ("OK", known("AUTH secret"));
  const std::string gets = many_gets(1'000);
  server.together([&] {
    stranger.send(gets);
    EXPECT_TRUE(stranger.session()->gone);
    known.send(gets);
    EXPECT_FALSE(known.session()->gone);
  });
}

TEST(Limits, WhoWasKnownBeforeAResetGetsItsRepliesToo) {
  TestServer server(config_with([](Config& config) { config.requirepass = "secret"; }));
  TestClient known(server);
  const std::string value(20'000, 'x');
  EXPECT_EQ("OK", known("AUTH secret"));
  EXPECT_EQ("OK", known({"SET", "key", value}));
  known.send("GET key\r\nRESET\r\nGET key\r\nAUTH secret\r\nPING\r\n");
  EXPECT_EQ((std::vector<std::string>{"\"" + value + "\"", "RESET", "(error) NOAUTH Authentication required.",
                                      "OK", "PONG"}),
            known.receive_all());
  EXPECT_FALSE(known.closed());
}

TEST(Limits, AClientThatReadsGetsMoreThanTheLimitInOneGo) {
  TestServer server(config_with([](Config& config) { config.normal_output = {1 << 20, 0, 0}; }));
  TestClient client(server);
  const std::string value(100'000, 'x');
  EXPECT_EQ("OK", client({"SET", "key", value}));
  client.send(many_gets(200) + "DEL key\r\n" + "GE");
  std::vector<std::string> expected(200, "\"" + value + "\"");
  expected.emplace_back("(integer) 1");
  EXPECT_EQ(expected, client.receive_all());
  EXPECT_EQ(0U, server->statistics().clients_over_output_limit);
  client.send("T key\r\n");
  EXPECT_EQ("(nil)", client.receive());
}

TEST(Limits, CommandsThatHavePiledUpAreRunAPortionATurn) {
  TestServer server;
  TestClient client(server);
  constexpr int kPings = 100'000;
  std::string pings = "NG\r\n";
  for (int i = 1; i < kPings; ++i) pings += "PING\r\n";
  server.together([&] { client.send("PI"); });  // so that the rest has something to pile up behind
  server.together([&] { client.send(pings); });
  EXPECT_TRUE(client.session()->held);
  EXPECT_GT(client.session()->input.size(), pings.size() / 2);
  EXPECT_EQ(std::vector<std::string>(kPings, "PONG"), client.receive_all());
  EXPECT_FALSE(client.session()->held);
  EXPECT_TRUE(client.session()->input.empty());
}

TEST(Limits, AClientThatDoesNotReadIsHeldBack) {
  TestServer server(config_with([](Config& config) { config.normal_output = {1 << 20, 0, 0}; }));
  TestClient client(server);
  EXPECT_EQ("OK", client({"SET", "key", std::string(100'000, 'x')}));
  TestClient deaf(server);
  for (int i = 0; i < 10; ++i) {
    server.together([&] { deaf.send(many_gets(100)); });
    EXPECT_TRUE(deaf.session()->held);
    EXPECT_LT(deaf.session()->output.pending_bytes(), 400'000U);
  }
  server.advance(100'000);
  EXPECT_FALSE(server->has_timed_out(*deaf.session()));
  EXPECT_EQ("PONG", client("PING"));
}

TEST(Limits, AClientThatDoesNotReadAndGoesOnSendingIsDropped) {
  TestServer server(config_with([](Config& config) { config.normal_output = {1 << 20, 0, 0}; }));
  TestClient client(server);
  EXPECT_EQ("OK", client({"SET", "key", std::string(100'000, 'x')}));
  TestClient deaf(server);
  server.together([&] { deaf.send(many_gets(70'000)); });
  EXPECT_FALSE(deaf.session()->gone);
  server.together([&] { deaf.send(many_gets(20'000)); });
  EXPECT_TRUE(deaf.session()->gone);
  EXPECT_EQ(1U, server->statistics().clients_over_output_limit);
  EXPECT_EQ("PONG", client("PING"));
}

TEST(Limits, AClientThatDoesNotReadCanBeIdle) {
  TestServer server(config_with([](Config& config) {
    config.normal_output = {1 << 20, 0, 0};
    config.timeout_seconds = 100;
  }));
  TestClient deaf(server);
  EXPECT_EQ("OK", deaf({"SET", "key", std::string(100'000, 'x')}));
  server.together([&] { deaf.send(many_gets(100)); });
  server.advance(100'000);
  EXPECT_FALSE(server->has_timed_out(*deaf.session()));
  server.advance(1);
  EXPECT_TRUE(server->has_timed_out(*deaf.session()));
}

TEST(Limits, TheLargestValueCanBeReadBack) {
  const Config defaults;
  EXPECT_GE(defaults.normal_output.hard_bytes, 2 * static_cast<uint64_t>(defaults.max_bulk_bytes));
}

TEST(Limits, OneCommandCannotPileUpMore) {
  TestServer server(config_with([](Config& config) { config.normal_output = {1 << 20, 0, 0}; }));
  TestClient greedy(server);
  EXPECT_EQ("OK", greedy({"SET", "key", std::string(100'000, 'x')}));
  std::vector<std::string> mget(1'001, "key");
  mget[0] = "MGET";
  server.together([&] {
    greedy(mget);
    EXPECT_TRUE(greedy.session()->gone);
    EXPECT_LT(greedy.session()->output.bytes().capacity(), 4'000'000U);
  });
}

TEST(Limits, NorCanOneThatAsksForTheSameManyTimes) {
  TestServer server(config_with([](Config& config) { config.normal_output = {1 << 20, 0, 0}; }));
  const auto repeated = [](std::vector<std::string> words, const std::string& last, size_t times) {
    words.insert(words.end(), times, last);
    return words;
  };
  const std::vector<std::vector<std::string>> commands = {
      repeated({"CLIENT", "LIST", "ID"}, "1", 20'000), repeated({"COMMAND", "INFO"}, "client", 10'000),
      repeated({"COMMAND", "DOCS"}, "client", 10'000),
      repeated({"COMMAND", "GETKEYSANDFLAGS", "DEL"}, "a", 200'000)};
  TestClient first(server);
  for (const std::vector<std::string>& command : commands) {
    TestClient greedy(server);
    server.together([&] {
      greedy(command);
      EXPECT_TRUE(greedy.session()->gone) << command[0] << " " << command[1];
      EXPECT_LT(greedy.session()->output.bytes().capacity(), 4'000'000U) << command[0] << " " << command[1];
    });
  }
}

TEST(Limits, NorCanOneThatAsksForAllThereIs) {
  TestServer server(config_with([](Config& config) { config.normal_output = {1 << 20, 0, 0}; }));
  TestClient subscriber(server);
  for (int i = 0; i < 40; ++i)
    server->pubsub().subscribe(subscriber.session(), std::string(100'000, 'c') + std::to_string(i));
  TestClient slow(server);
  slow("CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 10000");
  std::vector<std::string> long_words(32, std::string(128, 'x'));
  long_words[0] = "EXISTS";
  for (int i = 0; i < 1'000; ++i) slow(long_words);
  slow("CONFIG SET slowlog-log-slower-than -1");
  for (const char* line : {"PUBSUB CHANNELS", "SLOWLOG GET -1"}) {
    TestClient greedy(server);
    server.together([&] {
      greedy(line);
      EXPECT_TRUE(greedy.session()->gone) << line;
      EXPECT_LT(greedy.session()->output.bytes().capacity(), 4'000'000U) << line;
    });
  }
}

TEST(Limits, OneExecCannotPileUpMoreAndIsDoneAsAWhole) {
  TestServer server(config_with([](Config& config) { config.normal_output = {1 << 20, 0, 0}; }));
  TestClient greedy(server);
  EXPECT_EQ("OK", greedy({"SET", "key", std::string(100'000, 'x')}));
  greedy("MULTI");
  for (int i = 0; i < 1'000; ++i) greedy("GET key");
  greedy("SET done yes");
  server.together([&] {
    greedy("EXEC");
    EXPECT_TRUE(greedy.session()->gone);
    EXPECT_LT(greedy.session()->output.bytes().capacity(), 4'000'000U);
  });
  TestClient other(server);
  EXPECT_EQ("\"yes\"", other("GET done"));
}

TEST(Limits, WhatAClientPublishesToItselfCountsAsWell) {
  TestServer server(config_with([](Config& config) { config.pubsub_output = {1 << 20, 0, 0}; }));
  TestClient greedy(server);
  greedy("HELLO 3");
  greedy("SUBSCRIBE news");
  greedy("MULTI");
  for (int i = 0; i < 100; ++i) greedy({"PUBLISH", "news", std::string(100'000, 'x')});
  server.together([&] {
    greedy("EXEC");
    EXPECT_TRUE(greedy.session()->gone);
    EXPECT_LT(greedy.session()->output.bytes().capacity(), 4'000'000U);
  });
}

TEST(Limits, ASubscriberThatDoesNotReadIsDroppedAndTheOthersHearAll) {
  TestServer server(config_with([](Config& config) { config.pubsub_output = {1 << 20, 0, 0}; }));
  TestClient slow(server);
  TestClient quick(server);
  server->pubsub().subscribe(slow.session(), "news");
  server->pubsub().subscribe(quick.session(), "news");
  const std::string message(100'000, 'x');
  for (int i = 0; i < 20; ++i) {
    server.together([&] { server->publish("news", message, Output::Kind::kPlain); });
    EXPECT_NE("", quick.receive());
  }
  EXPECT_TRUE(slow.session()->gone);
  EXPECT_LT(slow.session()->output.pending_bytes(), 1'200'000U);
  EXPECT_FALSE(quick.session()->gone);
  EXPECT_EQ(1U, server->statistics().clients_over_output_limit);
}

TEST(Limits, AMessageThatIsTooLargeIsKeptForNobody) {
  TestServer server(config_with([](Config& config) { config.pubsub_output = {1 << 20, 0, 0}; }));
  TestClient subscriber(server);
  TestClient monitor(server);
  subscriber("SUBSCRIBE news");
  monitor("MONITOR");
  TestClient publisher(server);
  server.together([&] {
    publisher({"PUBLISH", "news", std::string(8 << 20, 'x')});
    for (TestClient* listener : {&subscriber, &monitor}) {
      EXPECT_TRUE(listener->session()->gone);
      EXPECT_LT(listener->session()->output.bytes().capacity(), 1'000'000U);
    }
  });
  EXPECT_EQ("(integer) 1", publisher.receive());
  EXPECT_EQ(2U, server->statistics().clients_over_output_limit);
}

TEST(Limits, WatchedKeys) {
  TestServer server(config_with([](Config& config) { config.max_watched_bytes = 100'000; }));
  TestClient client(server);
  const std::string key(20'000, 'k');
  EXPECT_EQ("OK", client({"WATCH", key + "1", key + "2"}));
  EXPECT_EQ("(error) ERR too many keys are watched (max-watched-bytes)", client({"WATCH", key + "3"}));
  EXPECT_EQ("OK", client("UNWATCH"));
  EXPECT_EQ("OK", client({"WATCH", key + "3"}));
}

TEST(Limits, Subscriptions) {
  TestServer server(config_with([](Config& config) { config.max_subscribed_bytes = 100'000; }));
  TestClient client(server);
  const std::string channel(20'000, 'c');
  client({"SUBSCRIBE", channel + "1"});
  client({"SUBSCRIBE", channel + "2"});
  const std::string pattern(4'000, 'p');
  client({"PSUBSCRIBE", pattern + "1"});
  client({"PSUBSCRIBE", pattern + "2"});
  const std::string refused = "(error) ERR too many subscriptions (max-subscribed-bytes)";
  EXPECT_EQ(refused, client({"SUBSCRIBE", channel + "3"}));
  EXPECT_EQ(refused, client({"PSUBSCRIBE", pattern + "3"}));
  EXPECT_EQ(4U, client.session()->subscriptions());
  client({"SUBSCRIBE", channel + "1"});  // which it has already
  client("UNSUBSCRIBE");
  EXPECT_NE(refused, client({"SUBSCRIBE", channel + "3"}));
  client("PUNSUBSCRIBE");
  client("UNSUBSCRIBE");
  EXPECT_EQ(0U, client.session()->subscribed_bytes);
}

TEST(Limits, Patterns) {
  TestServer server;
  const std::string longest(4'096, '*');
  const std::string refused = "(error) ERR the pattern is longer than 4096 bytes";
  for (std::vector<std::string> command :
       std::vector<std::vector<std::string>>{{"KEYS"},
                                             {"SCAN", "0", "MATCH"},
                                             {"SCANAT", "0", "now", "MATCH"},
                                             {"PUBSUB", "CHANNELS"},
                                             {"DEBUG", "STRINGMATCH-LEN", "10"},
                                             {"PSUBSCRIBE", "a"}}) {
    command.push_back(longest);
    EXPECT_NE(refused, TestClient(server)(command)) << command[0];
    command.back() += '*';
    EXPECT_EQ(refused, TestClient(server)(command)) << command[0];
  }
}

TEST(Limits, NamesOfClientsAndTheirLibraries) {
  TestServer server;
  TestClient client(server);
  const std::string longest(1'024, 'n');
  EXPECT_EQ("OK", client({"CLIENT", "SETNAME", longest}));
  EXPECT_EQ("OK", client({"CLIENT", "SETINFO", "LIB-NAME", longest}));
  const std::string refused = "(error) ERR Client names cannot be longer than 1024 bytes.";
  EXPECT_EQ(refused, client({"CLIENT", "SETNAME", longest + "n"}));
  EXPECT_EQ(refused, client({"HELLO", "3", "SETNAME", longest + "n"}));
  EXPECT_EQ("(error) ERR lib-ver cannot be longer than 1024 bytes.",
            client({"CLIENT", "SETINFO", "LIB-VER", longest + "n"}));
  EXPECT_EQ("\"" + longest + "\"", client("CLIENT GETNAME"));
}

TEST(Limits, TheSlowLogKeepsNoLongNames) {
  TestServer server;
  TestClient client(server);
  client({"CLIENT", "SETNAME", std::string(1'000, 'n')});
  client("CONFIG SET slowlog-log-slower-than 0");
  client("PING");
  EXPECT_EQ(std::string(128, 'n') + "... (872 more bytes)", server->slowlog().entries()[0].client_name);
}

TEST(Limits, HalfACommandThatTricklesInTimesOut) {
  TestServer server;
  TestClient client(server);
  client.send("*2\r\n$3\r\nGET\r\n$100\r\n");
  for (int i = 0; i < 6; ++i) {
    server.advance(10'000);
    client.send("x");
    EXPECT_FALSE(server->has_timed_out(*client.session()));
  }
  server.advance(1);
  EXPECT_TRUE(server->has_timed_out(*client.session()));
}

TEST(Limits, TheNextHalfCommandHasItsOwnTime) {
  TestServer server;
  TestClient client(server);
  client.send("PIN");
  server.advance(50'000);
  client.send("G\r\nPIN");
  server.advance(50'000);
  EXPECT_FALSE(server->has_timed_out(*client.session()));
  server.advance(10'001);
  EXPECT_TRUE(server->has_timed_out(*client.session()));
}

TEST(Limits, HalfACommandOfASubscriberTimesOutToo) {
  TestServer server(config_with([](Config& config) { config.timeout_seconds = 1; }));
  TestClient client(server);
  client("SUBSCRIBE news");
  server.advance(100'000);
  EXPECT_FALSE(server->has_timed_out(*client.session()));
  client.send("*2\r\n");
  server.advance(60'001);
  EXPECT_TRUE(server->has_timed_out(*client.session()));
}

TEST(Limits, TimeThatGoesBackGivesNobodyMoreOfIt) {
  TestServer server(config_with([](Config& config) { config.timeout_seconds = 100; }));
  TestClient idle(server);
  TestClient half(server);
  idle("PING");
  half.send("PIN");
  server.advance(-3'600'000);
  EXPECT_FALSE(server->has_timed_out(*idle.session()));
  EXPECT_FALSE(server->has_timed_out(*half.session()));
  server.advance(60'001);
  EXPECT_TRUE(server->has_timed_out(*half.session()));
  server.advance(40'000);
  EXPECT_TRUE(server->has_timed_out(*idle.session()));
}

TEST(Limits, CommandsBetweenMultiAndExec) {
  TestServer server(config_with([](Config& config) { config.max_queued_commands = 2; }));
  TestClient client(server);
  EXPECT_EQ("OK", client("MULTI"));
  EXPECT_EQ("QUEUED", client("SET a 1"));
  EXPECT_EQ("QUEUED", client("SET b 2"));
  EXPECT_EQ("(error) ERR too much between MULTI and EXEC", client("SET c 3"));
  EXPECT_EQ("(error) EXECABORT Transaction discarded because of previous errors.", client("EXEC"));
  EXPECT_EQ("(nil)", client("GET a"));
}

TEST(Limits, BytesBetweenMultiAndExec) {
  TestServer server(config_with([](Config& config) { config.max_queued_bytes = 10'000; }));
  TestClient client(server);
  EXPECT_EQ("OK", client("MULTI"));
  EXPECT_EQ("QUEUED", client({"SET", "a", std::string(9'000, 'x')}));
  EXPECT_EQ("(error) ERR too much between MULTI and EXEC", client({"SET", "b", std::string(1'000, 'x')}));
  EXPECT_EQ("OK", client("DISCARD"));
  EXPECT_EQ("OK", client("SET b 2"));
}

TEST(Limits, WhoWaitsOutAPauseIsRememberedOnce) {
  TestServer server;
  TestClient client(server);
  server->pause(server.now_ms() + 1'000, false);
  for (int i = 0; i < 5; ++i) client.send("PING\r\n");
  EXPECT_TRUE(client.session()->waits);
  EXPECT_EQ("", client.receive());
  server.advance(1'000);
  EXPECT_EQ(std::vector<std::string>(5, "PONG"), client.receive_all());
  EXPECT_FALSE(client.session()->waits);
}

TEST(Limits, AStrangerNeverWaitsOutAPause) {
  TestServer server(config_with([](Config& config) { config.requirepass = "secret"; }));
  TestClient stranger(server);
  server->pause(server.now_ms() + 1'000, false);
  EXPECT_EQ("(error) NOAUTH Authentication required.", stranger("GET key"));
  stranger.send("*2\r\n$3\r\nGET\r\n$3\r\nke");
  server.advance(60'001);
  EXPECT_TRUE(server->has_timed_out(*stranger.session()));
  EXPECT_EQ("OK", TestClient(server)("AUTH secret"));
  TestClient greedy(server);
  greedy.send(many_gets(1'000));
  EXPECT_TRUE(greedy.closed());
}

TEST(Limits, WhatIsSentAheadIsLimitedDuringAPause) {
  TestServer server(config_with([](Config& config) { config.query_buffer_limit = 1 << 20; }));
  TestClient client(server);
  server->pause(server.now_ms() + 1'000, false);
  const std::string command = resp::to_request({"SET", "key", std::string(900'000, 'x')});
  client.send(command);
  EXPECT_FALSE(client.closed());
  client.send(command);
  EXPECT_TRUE(client.closed());
}

TEST(Limits, WhoLeavesWhileItWaitsIsForgotten) {
  TestServer server;
  TestClient client(server);
  server->pause(server.now_ms() + 1'000, false);
  client.send("SET key value\r\n");
  server->disconnect(client.session());
  server.advance(1'000);
  TestClient other(server);
  EXPECT_EQ("(nil)", other("GET key"));
}

TEST(Limits, BrowsersAreShownTheDoor) {
  TestServer server;
  TestClient browser(server);
  browser.send("POST / HTTP/1.1\r\nHost: localhost:6379\r\n\r\nSET key value\r\n");
  EXPECT_TRUE(browser.closed());
  TestClient other(server);
  EXPECT_EQ("(nil)", other("GET key"));
}

TEST(Limits, DebugIsForThoseOnTheSameMachineUnlessTheConfigSaysOtherwise) {
  const auto debug = [](DebugFrom from, const std::string& address) {
    TestServer server(config_with([&](Config& config) { config.debug_from = from; }));
    TestClient client(server);
    client.session()->address = address;
    return client("DEBUG SLEEP 0");
  };
  for (const std::string address : {"127.0.0.1:5555", "[::1]:5555", "unix"})
    EXPECT_EQ("OK", debug(DebugFrom::kLocal, address));
  EXPECT_TRUE(
      debug(DebugFrom::kLocal, "10.0.0.1:5555").starts_with("(error) ERR DEBUG command not allowed."));
  EXPECT_TRUE(debug(DebugFrom::kNobody, "unix").starts_with("(error) ERR DEBUG command not allowed."));
  EXPECT_EQ("OK", debug(DebugFrom::kAnyone, "10.0.0.1:5555"));
}

TEST(Limits, NoPublicAddressWithoutAPassword) {
  const auto check = [](std::string address, std::string password) {
    Config config;
    config.bind = {std::move(address)};
    config.requirepass = std::move(password);
    return check_config(config);
  };
  EXPECT_OK(check("127.0.0.1", ""));
  EXPECT_OK(check("-::1", ""));
  EXPECT_OK(check("localhost", ""));
  EXPECT_CODE(kInvalidArgument, check("0.0.0.0", ""));
  EXPECT_CODE(kInvalidArgument, check("*", ""));
  EXPECT_CODE(kInvalidArgument, check("::", ""));
  EXPECT_CODE(kInvalidArgument, check("127.example.org", ""));
  EXPECT_OK(check("0.0.0.0", "secret"));
}

TEST(Output, WhatWasSentIsNotKeptForAClientThatIsNeverDone) {
  Output output;
  for (int i = 0; i < 1'000; ++i) {
    output.begin(Output::Kind::kPlain);
    output.bytes().append(10'000, 'x');
    output.settle();
    output.sent(output.pending_bytes() - 1);
    ASSERT_EQ(1U, output.pending_bytes());
  }
  EXPECT_LT(output.bytes().capacity(), 200'000U);
}

TEST(Output, EveryByteOfALargeOutputGoesOnceAndInOrder) {
  Output output;
  std::string sent;
  std::string all;
  for (int i = 0; i < 200'000; ++i) all += static_cast<char>(i * 7 % 251);
  output.begin(Output::Kind::kPlain);
  output.bytes().append(all);
  output.settle();
  while (output.pending_bytes() > 0) {
    const std::string_view some = output.unsent().substr(0, 777);
    sent += some;
    output.sent(some.size());
  }
  EXPECT_EQ(all, sent);
}

}  // namespace
}  // namespace lapse::server
