// Strings: their lengths and parts.

#include <optional>

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/index_range.h"
#include "server/commands/values.h"
#include "server/text.h"

namespace lapse::server {

namespace {

Status append(Call& call) {
  LAPSE_TRY_ASSIGN(Keyspace * keys, call.write());
  LAPSE_TRY(tell_if_new(call, call[1]));
  LAPSE_TRY_ASSIGN(const uint64_t length, keys->append(call[1], call[2]));
  LAPSE_TRY(check_length(call, length));  // undone if it is too long
  call.changed(kString, "append", call[1]);
  call.reply.integer(static_cast<int64_t>(length));
  return {};
}

Status strlen(Call& call) {
  LAPSE_TRY_ASSIGN(const std::optional<std::string> value, look_up(call, call[1]));
  call.reply.integer(value ? static_cast<int64_t>(value->size()) : 0);
  return {};
}

Status getrange(Call& call) {
  const std::optional<int64_t> first = to_integer(call[2]);
  const std::optional<int64_t> last = to_integer(call[3]);
  if (!first || !last) return not_an_integer();
  LAPSE_TRY_ASSIGN(const std::optional<std::string> found, look_up(call, call[1]));
  const std::string_view value = found ? std::string_view(*found) : std::string_view();
  const IndexRange asked{*first, *last};
  const IndexRange range = asked.within(static_cast<int64_t>(value.size()));
  if (asked.backwards_from_end() || range.empty()) {
    call.reply.bulk("");
  } else {
    call.reply.bulk(
        value.substr(static_cast<size_t>(range.first), static_cast<size_t>(range.last - range.first + 1)));
  }
  return {};
}

Status setrange(Call& call) {
  const std::optional<int64_t> given = to_integer(call[2]);
  if (!given) return not_an_integer();
  if (*given < 0) return refuse("ERR offset is out of range");
  const auto offset = static_cast<uint64_t>(*given);
  const std::string_view part = call[3];
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(std::optional<std::string> value, keys->get(call[1]));
  if (!value) value.emplace();
  if (!part.empty()) {
    LAPSE_TRY(check_length(call, offset + part.size()));
    if (value->size() < offset + part.size()) value->resize(offset + part.size());
    value->replace(offset, part.size(), part);
    LAPSE_TRY(change_value(call, call[1], *value, "setrange"));
  }
  call.reply.integer(static_cast<int64_t>(value->size()));
  return {};
}

constexpr Command kCommands[] = {
    {"append", 3, kWrite | kDenyOom | kFast, kOneKey, "string", "2.0.0", "Adds to the end of a value.",
     append},
    {"strlen", 2, kReadOnly | kFast, kOneKey, "string", "2.2.0", "Returns the length of a value.", strlen},
    {"getrange", 4, kReadOnly, kOneKey, "string", "2.4.0", "Returns a part of a value.", getrange},
    {"substr", 4, kReadOnly, kOneKey, "string", "1.0.0", "Returns a part of a value.", getrange},
    {"setrange", 4, kWrite | kDenyOom, kOneKey, "string", "2.2.0", "Overwrites a part of a value.", setrange},
};

}  // namespace

std::span<const Command> substring_commands() { return kCommands; }

}  // namespace lapse::server
