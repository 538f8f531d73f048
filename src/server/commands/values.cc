#include "server/commands/values.h"

#include "base/try.h"
#include "server/server.h"

namespace lapse::server {

void reply_value(Call& call, const std::optional<std::string>& value) {
  if (value) {
    call.reply.bulk(*value);
  } else {
    call.reply.null();
  }
}

Result<std::optional<std::string>> look_up(const Call& call, std::string_view key) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(std::optional<std::string> value, keys->get(key));
  call.looked_up(key, value.has_value());
  return value;
}

Status tell_if_new(const Call& call, std::string_view key) {
  if (!call.wanted(kNew)) return {};
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const bool there, keys->exists(key));
  if (!there) call.told(kNew, "new", key);
  return {};
}

Status write_value(const Call& call, std::string_view key, std::string_view value, const Lifetime& lifetime,
                   std::string_view event) {
  LAPSE_TRY_ASSIGN(Keyspace * keys, call.write());
  LAPSE_TRY(tell_if_new(call, key));
  LAPSE_TRY(keys->put(key, value, lifetime));
  call.changed(kString, event, key);
  return {};
}

Status set_until(const Call& call, std::string_view key, std::string_view value, const Deadline& deadline) {
  if (deadline.has_passed(call)) return remove_key(call, key).status();
  LAPSE_TRY(write_value(call, key, value, deadline.lifetime(call), "set"));
  call.told(kGeneric, "expire", key);
  return {};
}

Result<bool> remove_key(const Call& call, std::string_view key) {
  LAPSE_TRY_ASSIGN(Keyspace * keys, call.write());
  LAPSE_TRY_ASSIGN(const bool was_there, keys->erase(key));
  if (was_there) call.changed(kGeneric, "del", key);
  return was_there;
}

Status check_length(const Call& call, uint64_t bytes) {
  if (bytes <= static_cast<uint64_t>(call.server.config().max_bulk_bytes)) return {};
  return refuse("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
}

}  // namespace lapse::server
