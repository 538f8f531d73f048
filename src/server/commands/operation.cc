// Running a server: its time, its role, saving, watching, stopping.

#include "base/try.h"
#include "server/command_table.h"
#include "server/server.h"
#include "server/text.h"
#include "server/version.h"

namespace lapse::server {

namespace {

Status time(Call& call) {
  call.reply.array(2);
  call.reply.bulk(std::to_string(call.now_ms() / 1000));
  call.reply.bulk(std::to_string(call.now_ms() % 1000 * 1000));
  return {};
}

Status role(Call& call) {
  call.reply.array(3);
  call.reply.bulk("master");
  call.reply.integer(0);
  call.reply.array(0);
  return {};
}

// There are no replicas: none of them has anything, and none ever will.
Status wait(Call& call) {
  if (!to_integer(call[1])) return not_an_integer();
  const std::optional<int64_t> timeout_ms = to_integer(call[2]);
  if (!timeout_ms) return refuse("ERR timeout is not an integer or out of range");
  if (*timeout_ms < 0) return refuse("ERR timeout is negative");
  call.reply.integer(0);
  return {};
}

Status lastsave(Call& call) {
  call.reply.integer(call.server.saved_at_ms() / 1000);
  return {};
}

Status save(Call& call) {
  LAPSE_TRY(call.server.save());
  call.reply.ok();
  return {};
}

Status bgsave(Call& call) {
  if (call.size() > 2 || (call.size() == 2 && !same_word(call[1], "schedule"))) return syntax_error();
  LAPSE_TRY(call.server.save_in_background());
  call.reply.simple("Background saving started");
  return {};
}

Status monitor(Call& call) {
  call.server.monitor(&call.session);
  call.reply.ok();
  return {};
}

// SHUTDOWN [NOSAVE | SAVE] [NOW] [FORCE] [ABORT]. What is committed is kept in any case; SAVE brings it into the tree
// first. There is no reply: the connection ends.
Status shutdown(Call& call) {
  bool save_first = false;
  bool keep = false;
  bool abort = false;
  for (const std::string_view word : call.arguments.subspan(1)) {
    if (same_word(word, "save")) {
      save_first = true;
    } else if (same_word(word, "nosave")) {
      keep = true;
    } else if (same_word(word, "abort")) {
      abort = true;
    } else if (!same_word(word, "now") && !same_word(word, "force")) {
      return syntax_error();
    }
  }
  if ((save_first && keep) || (abort && call.size() > 2)) return syntax_error();
  if (abort) return refuse("ERR No shutdown in progress.");
  if (save_first) LAPSE_TRY(call.server.save());
  call.server.stop();
  call.server.close_later(&call.session);
  return {};
}

Status lolwut(Call& call) {
  call.reply.verbatim(
      "  .---.\n / \\:/ \\    what is not renewed\n \\ /:\\ /    will lapse\n  '---'\nLapse ver. " +
      std::string(kVersion) + "\n");
  return {};
}

constexpr std::string_view kGroup = "server";
constexpr uint32_t kOperating = kAdmin | kNoScript | kLoading | kStale;

constexpr Command kCommands[] = {
    {"bgsave",
     -1,
     kAdmin | kNoScript,
     {},
     kGroup,
     "1.0.0",
     "Brings everything into the tree meanwhile.",
     bgsave},
    {"lastsave",
     1,
     kLoading | kStale | kFast,
     {},
     kGroup,
     "1.0.0",
     "Returns when everything was in the tree.",
     lastsave},
    {"lolwut", -1, kReadOnly | kFast, {}, kGroup, "5.0.0", "Returns a picture and the version.", lolwut},
    {"monitor", 1, kOperating | kNoMulti, {}, kGroup, "1.0.0", "Shows every command as it comes.", monitor},
    {"role",
     1,
     kNoScript | kLoading | kStale | kFast,
     {},
     kGroup,
     "2.8.12",
     "Returns the role in replication.",
     role},
    {"save", 1, kAdmin | kNoScript | kNoMulti, {}, kGroup, "1.0.0", "Brings everything into the tree.", save},
    {"shutdown", -1, kOperating | kNoMulti, {}, kGroup, "1.0.0", "Stops the server.", shutdown},
    {"time", 1, kLoading | kStale | kFast, {}, kGroup, "2.6.0", "Returns the time of the server.", time},
    {"wait", 3, 0, {}, "generic", "3.0.0", "Waits for replicas, of which there are none.", wait},
};

}  // namespace

std::span<const Command> operation_commands() { return kCommands; }

}  // namespace lapse::server
