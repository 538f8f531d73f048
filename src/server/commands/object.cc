// OBJECT: what clients ask about how a value is kept. Here a value is bytes; the answers are what Redis would say of them.

#include <array>
#include <limits>

#include "base/try.h"
#include "server/command_table.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

constexpr size_t kMostEmbeddedBytes = 44;

std::string_view encoding_of(std::string_view value) {
  if (to_integer(value)) return "int";
  return value.size() <= kMostEmbeddedBytes ? "embstr" : "raw";
}

Status object_encoding(Call& call) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const std::optional<std::string> value, keys->get(call[2]));
  if (value) {
    call.reply.bulk(encoding_of(*value));
  } else {
    call.reply.null();
  }
  return {};
}

Status reply_if_there(Call& call, int64_t number) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const bool is_there, keys->exists(call[2]));
  if (is_there) {
    call.reply.integer(number);
  } else {
    call.reply.null();
  }
  return {};
}

// Redis has one object for each of the small numbers, which is never given back; whatever else is not shared.
Status object_refcount(Call& call) {
  constexpr int64_t kShared = std::numeric_limits<int32_t>::max();
  constexpr int64_t kSharedNumbers = 10'000;
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const std::optional<std::string> value, keys->get(call[2]));
  if (!value) {
    call.reply.null();
    return {};
  }
  const int64_t number = to_integer(*value).value_or(-1);
  call.reply.integer(number >= 0 && number < kSharedNumbers ? kShared : 1);
  return {};
}

// Access times are not kept: a write for each read would be their price. Nothing looks idle then.
Status object_idletime(Call& call) { return reply_if_there(call, 0); }

Status object_freq(Call& call) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const bool is_there, keys->exists(call[2]));
  if (is_there) {
    return refuse(
        "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when "
        "switching between policies at runtime LRU and LFU data will take some time to adjust.");
  }
  call.reply.null();
  return {};
}

Status object_help(Call& call) {
  constexpr std::array<std::string_view, 11> kLines = {
      "OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
      "ENCODING <key>",
      "    Return the kind of internal representation used in order to store the value",
      "    associated with a <key>.",
      "FREQ <key>",
      "    Return the access frequency index of the <key>: it is not tracked.",
      "IDLETIME <key>",
      "    Return the idle time of the <key>: it is not tracked, and always 0.",
      "REFCOUNT <key>",
      "    Return the number of references of the value associated with the specified <key>.",
      "HELP",
  };
  call.reply.array(kLines.size() + 1);
  for (const std::string_view line : kLines) call.reply.simple(line);
  call.reply.simple("    Print this help.");
  return {};
}

constexpr KeyPositions kSecond = {2, 2, 1};

constexpr Command kSubcommands[] = {
    {"object|encoding", 3, kReadOnly, kSecond, "generic", "2.2.3", "Returns how Redis would keep the value.",
     object_encoding},
    {"object|freq", 3, kReadOnly, kSecond, "generic", "4.0.0", "Refuses: access frequencies are not tracked.",
     object_freq},
    {"object|help",
     2,
     kLoading | kStale,
     {},
     "generic",
     "6.2.0",
     "Returns a text about the subcommands.",
     object_help},
    {"object|idletime", 3, kReadOnly, kSecond, "generic", "2.2.3", "Returns 0: access times are not tracked.",
     object_idletime},
    {"object|refcount", 3, kReadOnly, kSecond, "generic", "2.2.3",
     "Returns how often Redis would use the value: 1, but for small numbers.", object_refcount},
};

constexpr Command kCommands[] = {
    {"object", -2, 0, {}, "generic", "2.2.3", "Tells how a value is kept.", nullptr, kSubcommands},
};

}  // namespace

std::span<const Command> object_commands() { return kCommands; }

}  // namespace lapse::server
