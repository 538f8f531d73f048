// What the commands on values have in common: to look one up, to write one, and to tell of it.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lapse/lifetime.h"
#include "lapse/status.h"
#include "server/call.h"
#include "server/commands/lifetime_options.h"

namespace lapse::server {

inline constexpr KeyPositions kOneKey = {1, 1, 1};

void reply_value(Call& call, const std::optional<std::string>& value);

// For commands that answer what a key holds: counts as a hit or a miss.
Result<std::optional<std::string>> look_up(const Call& call, std::string_view key);

// Tells of a key that is about to be created, if anyone wants to know.
Status tell_if_new(const Call& call, std::string_view key);

// Writes, and tells of it: `event` is the name that the change has for those who are notified.
Status write_value(const Call& call, std::string_view key, std::string_view value, const Lifetime& lifetime,
                   std::string_view event);
// For commands that change a part of a value: it keeps the lifetime that it has.
inline Status change_value(const Call& call, std::string_view key, std::string_view value,
                           std::string_view event) {
  return write_value(call, key, value, Lifetime::keep(), event);
}

// SET until a deadline. One that has passed already leaves no key behind.
Status set_until(const Call& call, std::string_view key, std::string_view value, const Deadline& deadline);

// Whether it was there, and is no more.
Result<bool> remove_key(const Call& call, std::string_view key);

// Refuses a value that would be longer than clients may send.
Status check_length(const Call& call, uint64_t bytes);

}  // namespace lapse::server
