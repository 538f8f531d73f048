// Random commands against a server: every one of the table, with arguments that fit, nearly fit or do not, from several
// sessions, several in a turn, whole and in pieces, with garbage between them. Whatever comes, the server lives, what it says
// is well-formed, and the store is sound at the end. Sanitizers see the rest.
//
//   LAPSE_STEPS=1000000 LAPSE_SEED=… lapse-server-tests --gtest_filter='RandomCommands.*'

#include <array>
#include <cstdlib>
#include <map>

#include "server/command_table.h"
#include "test_server.h"

namespace lapse::server {
namespace {

constexpr uint64_t kOrdinarySteps = 60'000;
constexpr size_t kSessions = 8;

constexpr auto kWords = std::to_array<std::string_view>({
    "EX",
    "PX",
    "EXAT",
    "PXAT",
    "KEEPTTL",
    "PERSIST",
    "NX",
    "XX",
    "GT",
    "LT",
    "GET",
    "IFEQ",
    "IFNE",
    "IFDEQ",
    "MATCH",
    "COUNT",
    "TYPE",
    "string",
    "ASYNC",
    "SYNC",
    "LEN",
    "IDX",
    "WITHMATCHLEN",
    "MINMATCHLEN",
    "BIT",
    "BYTE",
    "REPLACE",
    "ABSTTL",
    "IDLETIME",
    "FREQ",
    "DB",
    "ON",
    "OFF",
    "SKIP",
    "ALL",
    "WRITE",
    "ID",
    "ADDR",
    "USER",
    "SKIPME",
    "yes",
    "no",
    "LIMIT",
    "FROM",
    "TO",
    "REV",
    "AUTH",
    "SETNAME",
    "default",
    "HELP",
    "*",
    "k*",
    "key:?",
    "[a-z]*",
    "[^",
    "\\",
    "default-ttl",
    "max-ttl",
    "require-ttl",
    "jitter",
    "counted",
    "revisions",
    "history",
    "history-keep-last",
    "history-keep-for",
    "past",
    "now",
    "-1s",
    "-10s",
    "+5s",
    "30s",
    "+",
    "NOSAVE",
    "ABORT",
    "timeout",
    "maxclients",
    "notify-keyspace-events",
    "KEA",
    "AKE",
    "slowlog-log-slower-than",
    "everything",
    "keyspace",
    "0",
    "1",
    "2",
    "3",
    "-1",
    "-2",
    "7",
    "10",
    "100",
    "1000",
    "1700000000",
    "1700000000000",
    "1800000000",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "4294967295",
    "536870912",
    "3.5",
    "-0",
    "+1",
    "01",
    "1e400",
    "inf",
    "nan",
    "",
    " ",
});

// Those that would hold up the test, or end it.
bool is_left_out(std::string_view name) { return name == "debug|sleep"; }

class RandomCommands : public testing::Test {
 protected:
  RandomCommands() {
    for (const Command* command : all_commands()) {
      commands_.push_back(command);
      for (const Command& subcommand : command->subcommands) commands_.push_back(&subcommand);
    }
    std::erase_if(commands_, [](const Command* command) { return is_left_out(command->name); });
  }

  static Config small_limits(const std::string& file) {
    Config config;
    config.file = file;
    config.buffer_bytes = 256 << 10;
    config.max_bulk_bytes = 1 << 20;
    config.query_buffer_limit = 2 << 20;
    config.max_queued_commands = 50;
    config.normal_output = {8 << 20, 0, 0};
    config.notify_keyspace_events = "KEA";
    return config;
  }

  // --- what is sent

  std::string random_argument() {
    switch (random_.below(10)) {
      case 0:
      case 1:
      case 2: return "key:" + std::to_string(random_.below(40));
      case 3: return std::to_string(random_.below(1'000));
      case 4: return std::to_string(clock_ms() + static_cast<int64_t>(random_.below(20'000)) - 5'000);
      case 5: return random_.bytes(random_.below(random_.one_in(20) ? 20'000 : 20));
      case 6: return std::string(random_.below(50), 'v');
      default: return std::string(kWords[random_.below(kWords.size())]);
    }
  }

  std::vector<std::string> random_command() {
    const Command& command = *commands_[random_.below(commands_.size())];
    const std::string name(command.name);
    const size_t bar = name.find('|');
    std::vector<std::string> words = {name.substr(0, bar)};
    if (bar != std::string::npos) words.push_back(name.substr(bar + 1));
    // Mostly as many as there must be; of those that take more, a few more.
    auto count = static_cast<size_t>(std::abs(command.arity));
    if (command.arity < 0) count += random_.below(5);
    if (random_.one_in(20)) count = random_.below(12);
    while (words.size() < count) words.push_back(random_argument());
    if (random_.one_in(50)) words[0] = random_argument();
    return words;
  }

  std::string random_bytes() {
    if (random_.one_in(200)) return random_.bytes(random_.below(200));
    if (random_.one_in(15)) return random_.one_in(2) ? "MULTI\r\n" : "EXEC\r\n";
    std::string bytes = resp::to_request(random_command());
    if (random_.one_in(300)) bytes[random_.below(bytes.size())] = static_cast<char>(random_.below(256));
    if (random_.one_in(300)) bytes.resize(random_.below(bytes.size() + 1));
    return bytes;
  }

  // --- sessions

  void fill_up_sessions(Server& server) {
    while (server.sessions().size() < kSessions) server.connect("127.0.0.1:1", "127.0.0.1:2");
  }

  Session& random_session(Server& server) {
    auto at = server.sessions().begin();
    std::advance(at, random_.below(server.sessions().size()));
    return *at->second;
  }

  // Now and then in two pieces, the second of which may come in a later turn.
  void send_something(Server& server) {
    Session& session = random_session(server);
    std::string bytes = std::exchange(unsent_[session.id], "") + random_bytes();
    if (random_.one_in(20)) {
      const size_t cut = random_.below(bytes.size() + 1);
      unsent_[session.id] = bytes.substr(cut);
      bytes.resize(cut);
    }
    server.receive(&session, bytes);
  }

  // As the network does after a turn; what was said must be replies, each of them whole.
  void take_replies(Server& server) {
    for (Session* session : server.take_written()) {
      std::string_view said = session->gone ? "" : session->output.unsent();
      while (!said.empty()) {
        const auto read = resp::read_reply(said);
        ASSERT_TRUE(read.ok()) << read.status().message() << " in " << abbreviate(said);
        ASSERT_TRUE(*read) << "half a reply: " << abbreviate(said);
        said.remove_prefix((*read)->consumed);
        ++replies_;
        if ((*read)->reply.type == resp::Reply::Type::kError) ++errors_;
      }
      session->output.sent(session->output.pending_bytes());
      if (session->closing || random_.one_in(5'000)) {
        unsent_.erase(session->id);
        server.disconnect(session);
      }
    }
  }

  void turn(TestServer& server) {
    fill_up_sessions(*server);
    server.together([&] {
      for (uint64_t left = random_.below(6) + 1; left > 0; --left, ++steps_) send_something(*server);
    });
    take_replies(*server);
  }

  // What some commands change would keep all later ones from doing anything.
  static void undo_settings(Server& server, const Config& config) {
    server.config() = config;
    server.unpause();
    server.expirer().enable(true);
  }

  int64_t clock_ms() const { return now_ms_; }

  Random random_;
  std::vector<const Command*> commands_;
  std::map<uint64_t, std::string> unsent_;  // the rest of what a session has begun to send, by its id
  int64_t now_ms_ = TestServer::kStartMs;
  uint64_t steps_ = 0;
  uint64_t replies_ = 0;
  uint64_t errors_ = 0;  // the server's own count begins anew with each CONFIG RESETSTAT
};

TEST_F(RandomCommands, AreSurvived) {
  const char* wanted = std::getenv("LAPSE_STEPS");
  const uint64_t steps = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : kOrdinarySteps;
  const TempDir dir;
  const Config config = small_limits(dir.file("random.db"));
  TestServer server(config);
  {
    // A past to look at: in a family of its own, and in half of the runs where most commands go.
    TestClient client(server);
    EXPECT_EQ("OK", client("FAMILY CREATE past history-keep-last 3"));
    if (random_.one_in(2)) {
      EXPECT_EQ("OK", client("FAMILY SET default history-keep-last 5"));
    }
  }
  while (steps_ < steps && !HasFatalFailure()) {
    turn(server);
    if (random_.one_in(10)) server.advance(static_cast<int64_t>(random_.below(3'000)));
    now_ms_ = server.now_ms();
    if (random_.one_in(10)) undo_settings(*server, config);
  }
  undo_settings(*server, config);
  TestClient client(server);
  EXPECT_EQ("PONG", client("PING"));
  EXPECT_EQ("OK", client("SET key value"));
  EXPECT_EQ("\"value\"", client("GET key"));
  EXPECT_OK(server->store().verify());
  std::printf("%lu commands sent, %lu replies, %lu of them errors\n", steps_, replies_, errors_);
}

}  // namespace
}  // namespace lapse::server
