// The connection itself: who is there, which protocol, which database.

#include <optional>
#include <string_view>
#include <utility>

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/client_name.h"
#include "server/server.h"
#include "server/text.h"
#include "server/version.h"

namespace lapse::server {

namespace {

Status ping(Call& call) {
  if (call.size() > 2) return wrong_arguments("ping");
  const std::string_view message = call.size() == 2 ? call[1] : "";
  if (call.session.subscribed() && call.session.protocol == 2) {
    call.reply.array(2);
    call.reply.bulk("pong");
    call.reply.bulk(message);
  } else if (call.size() == 2) {
    call.reply.bulk(message);
  } else {
    call.reply.simple("PONG");
  }
  return {};
}

Status echo(Call& call) {
  call.reply.bulk(call[1]);
  return {};
}

Status quit(Call& call) {
  call.reply.ok();
  call.server.close_later(&call.session);
  return {};
}

Status reset(Call& call) {
  call.server.begin_session(&call.session);
  call.reply = {&call.session.output.bytes(), call.session.protocol};
  call.reply.simple("RESET");
  return {};
}

Status select(Call& call) {
  const Result<int> db = call.server.turn().find(call[1]);
  if (!db.ok()) {
    return refuse(to_integer(call[1]) ? "ERR DB index is out of range"
                                      : "ERR invalid DB index: neither a number nor the name of a family");
  }
  call.session.db = *db;
  call.reply.ok();
  return {};
}

// Takes the same time for every wrong password of a length.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i)
    difference |=
        static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? '\0' : b[i % b.size()]);
  return difference == 0;
}

Status authenticate(Call& call, std::string_view user, std::string_view password) {
  const std::string& wanted = call.server.config().requirepass;
  if (user != "default" || (!wanted.empty() && !same_secret(password, wanted)))
    return refuse("WRONGPASS invalid username-password pair or user is disabled.");
  call.session.authenticated = true;
  return {};
}

Status auth(Call& call) {
  if (call.size() > 3) return syntax_error();
  if (call.size() == 2 && call.server.config().requirepass.empty()) {
    return refuse(
        "ERR AUTH <password> called without any password configured for the default user. Are you sure your "
        "configuration is correct?");
  }
  LAPSE_TRY(authenticate(call, call.size() == 3 ? call[1] : "default", call[call.size() - 1]));
  call.reply.ok();
  return {};
}

// HELLO [protocol [AUTH user password] [SETNAME name]]
struct HelloOptions {
  int protocol = 2;
  std::optional<std::pair<std::string_view, std::string_view>> user_and_password;
  std::optional<std::string_view> name;
};

Result<HelloOptions> parse_hello(const Call& call) {
  HelloOptions options;
  options.protocol = call.session.protocol;
  if (call.size() > 1) {
    const std::optional<int64_t> wanted = to_integer(call[1]);
    if (!wanted) return refuse("ERR Protocol version is not an integer or out of range");
    if (*wanted != 2 && *wanted != 3) return refuse("NOPROTO unsupported protocol version");
    options.protocol = static_cast<int>(*wanted);
  }
  for (size_t i = 2; i < call.size(); ++i) {
    if (same_word(call[i], "AUTH") && i + 2 < call.size()) {
      options.user_and_password = {call[i + 1], call[i + 2]};
      i += 2;
    } else if (same_word(call[i], "SETNAME") && i + 1 < call.size()) {
      options.name = call[++i];
      LAPSE_TRY(check_client_name("Client names", *options.name));
    } else {
      return refuse("ERR Syntax error in HELLO option '" + std::string(call[i]) + "'");
    }
  }
  return options;
}

Status hello(Call& call) {
  LAPSE_TRY_ASSIGN(const HelloOptions options, parse_hello(call));
  if (options.user_and_password)
    LAPSE_TRY(authenticate(call, options.user_and_password->first, options.user_and_password->second));
  if (!call.server.is_authenticated(call.session)) {
    return refuse(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH "
        "<user> "
        "<pass> option can be used to authenticate the client and select the RESP protocol version at the "
        "same time");
  }
  if (options.name) call.session.name = *options.name;
  call.session.protocol = options.protocol;
  call.reply = {&call.session.output.bytes(), options.protocol};
  call.reply.map(7);
  call.reply.bulk("server");
  call.reply.bulk("redis");  // what clients look for
  call.reply.bulk("version");
  call.reply.bulk(kRedisVersion);
  call.reply.bulk("proto");
  call.reply.integer(options.protocol);
  call.reply.bulk("id");
  call.reply.integer(static_cast<int64_t>(call.session.id));
  call.reply.bulk("mode");
  call.reply.bulk("standalone");
  call.reply.bulk("role");
  call.reply.bulk("master");
  call.reply.bulk("modules");
  call.reply.array(0);
  return {};
}

constexpr uint32_t kAnyTime = kNoAuth | kFast | kLoading | kStale;

constexpr Command kCommands[] = {
    {"auth",
     -2,
     kAnyTime | kNoScript | kSkipSlowlog,
     {},
     "connection",
     "1.0.0",
     "Authenticates the connection.",
     auth},
    {"echo", 2, kFast | kLoading | kStale, {}, "connection", "1.0.0", "Returns the given string.", echo},
    {"hello",
     -1,
     kAnyTime | kNoScript | kSkipSlowlog,
     {},
     "connection",
     "6.0.0",
     "Handshakes with the server: protocol, authentication, name.",
     hello},
    {"ping",
     -1,
     kFast | kWhileSubscribed,
     {},
     "connection",
     "1.0.0",
     "Returns PONG, or the given string.",
     ping},
    {"quit",
     -1,
     kAnyTime | kNoScript | kWhileSubscribed | kNotQueued,
     {},
     "connection",
     "1.0.0",
     "Closes the connection.",
     quit},
    {"reset",
     1,
     kAnyTime | kNoScript | kWhileSubscribed | kNotQueued,
     {},
     "connection",
     "6.2.0",
     "Makes the connection as it was when it began.",
     reset},
    {"select",
     2,
     kFast | kLoading | kStale,
     {},
     "connection",
     "1.0.0",
     "Changes the database, by its number or the name of its family.",
     select},
};

}  // namespace

std::span<const Command> connection_commands() { return kCommands; }

}  // namespace lapse::server
