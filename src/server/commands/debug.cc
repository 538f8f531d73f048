// DEBUG: what test suites of clients use, as far as it does no harm.

#include <chrono>
#include <thread>

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/help.h"
#include "server/commands/pattern.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

// Holds up everyone, which is what it is for.
Status sleep(Call& call) {
  const std::optional<double> seconds = to_real(call[2]);
  if (!seconds || *seconds < 0 || *seconds > 3'600) return refuse("ERR value is not a valid float");
  std::this_thread::sleep_for(std::chrono::duration<double>(*seconds));
  call.reply.ok();
  return {};
}

Status set_active_expire(Call& call) {
  const std::optional<int64_t> on = to_integer(call[2]);
  if (!on) return not_an_integer();
  call.server.expirer().enable(*on != 0);
  call.reply.ok();
  return {};
}

std::string_view encoding_of(std::string_view value) {
  constexpr size_t kEmbedded = 44;  // what Redis puts beside the object
  if (to_integer(value)) return "int";
  return value.size() <= kEmbedded ? "embstr" : "raw";
}

Status object(Call& call) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const std::optional<std::string> value, keys->get(call[2]));
  if (!value) return refuse("ERR no such key");
  call.reply.simple("Value at:0x0 refcount:1 encoding:" + std::string(encoding_of(*value)) +
                    " serializedlength:" + std::to_string(value->size() + 1) + " lru:0 lru_seconds_idle:0");
  return {};
}

// DEBUG RELOAD [MERGE] [NOFLUSH] [NOSAVE]: Redis saves and reads everything again; the store reads nothing into memory, so
// that saving is all there is to do.
Status reload(Call& call) {
  for (const std::string_view option : call.arguments.subspan(2)) {
    if (!same_word(option, "MERGE") && !same_word(option, "NOFLUSH") && !same_word(option, "NOSAVE"))
      return refuse("ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.");
  }
  LAPSE_TRY(call.server.save());
  call.reply.ok();
  return {};
}

Status stringmatch_len(Call& call) {
  constexpr int64_t kLongest = 16 << 20;
  LAPSE_TRY(check_pattern(call[3]));
  const std::optional<int64_t> length = to_integer(call[2]);
  if (!length || *length < 0 || *length > kLongest) return not_an_integer();
  call.reply.integer(matches_glob(call[3], std::string(static_cast<size_t>(*length), 'a')) ? 1 : 0);
  return {};
}

// One reply of each kind that the protocol knows.
Status protocol(Call& call) {
  const std::string_view kind = call[2];
  if (same_word(kind, "string")) {
    call.reply.bulk("Hello World");
  } else if (same_word(kind, "integer")) {
    call.reply.integer(12'345);
  } else if (same_word(kind, "double")) {
    call.reply.real(3.141);
  } else if (same_word(kind, "null")) {
    call.reply.null();
  } else if (same_word(kind, "verbatim")) {
    call.reply.verbatim("This is a verbatim\nstring");
  } else if (same_word(kind, "true") || same_word(kind, "false")) {
    call.reply.boolean(same_word(kind, "true"));
  } else if (same_word(kind, "push")) {
    if (call.reply.protocol() < 3) return refuse("ERR RESP2 is not supported by this command");
    call.reply.push(2);
    call.reply.bulk("server-cpu-usage");
    call.reply.integer(42);
    call.reply.bulk("Some real reply following the push reply");  // a push answers nothing
  } else if (same_word(kind, "array") || same_word(kind, "set")) {
    same_word(kind, "array") ? call.reply.array(3) : call.reply.set(3);
    for (int64_t i = 0; i < 3; ++i) call.reply.integer(i);
  } else if (same_word(kind, "map")) {
    call.reply.map(3);
    for (int64_t i = 0; i < 3; ++i) {
      call.reply.integer(i);
      call.reply.boolean(i == 1);
    }
  } else {
    return refuse(
        "ERR Wrong protocol type name. Please use one of the following: "
        "string|integer|double|null|array|set|map|push|verbatim|true|false");
  }
  return {};
}

constexpr uint32_t kFlags = kAdmin | kNoScript | kLoading | kStale;

constexpr Command kDebugCommands[] = {
    help_row("debug|help", "server", "1.0.0"),
    {"debug|loadaof", 2, kFlags | kNoMulti, {}, "server", "1.0.0", "Does what DEBUG RELOAD does.", reload},
    {"debug|object", -3, kFlags, {2, 2, 1}, "server", "1.0.0", "Tells how a value is kept.", object},
    {"debug|protocol", 3, kFlags, {}, "server", "6.0.0", "Replies with a value of a kind.", protocol},
    {"debug|reload",
     -2,
     kFlags | kNoMulti,
     {},
     "server",
     "1.0.0",
     "Brings everything into the tree.",
     reload},
    {"debug|set-active-expire",
     3,
     kFlags,
     {},
     "server",
     "1.0.0",
     "Lets keys that are due stay until they are read, or not.",
     set_active_expire},
    {"debug|sleep", 3, kFlags, {}, "server", "1.0.0", "Holds up everyone for so many seconds.", sleep},
    {"debug|stringmatch-len",
     4,
     kFlags,
     {},
     "server",
     "4.0.0",
     "Matches a pattern with a long text.",
     stringmatch_len},
};

constexpr Command kCommands[] = {
    {"debug",
     -2,
     kAdmin | kNoScript | kLoading | kStale,
     {},
     "server",
     "1.0.0",
     "Helps those who test clients.",
     nullptr,
     kDebugCommands},
};

}  // namespace

std::span<const Command> debug_commands() { return kCommands; }

}  // namespace lapse::server
