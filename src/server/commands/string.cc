// Strings: the values themselves.

#include <optional>

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/lifetime_options.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

void reply_value(Call& call, const std::optional<std::string>& value) {
  if (value) {
    call.reply.bulk(*value);
  } else {
    call.reply.null();
  }
}

Status get(Call& call) {
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const std::optional<std::string> value, keys->get(call[1]));
  call.looked_up(call[1], value.has_value());
  reply_value(call, value);
  return {};
}

// SET key value [NX | XX | IFEQ comparison | IFNE comparison] [GET] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]
struct SetOptions {
  enum class Only { kAlways, kIfAbsent, kIfPresent, kIfEqual, kIfNotEqual };
  Only only = Only::kAlways;
  std::string_view comparison;
  bool get = false;
  std::optional<int64_t> deadline_ms;
  bool keep_ttl = false;

  Lifetime lifetime() const {
    if (keep_ttl) return Lifetime::keep();
    return deadline_ms ? Lifetime::until(*deadline_ms) : Lifetime();
  }
};

Result<SetOptions> parse_set(const Call& call) {
  using Only = SetOptions::Only;
  SetOptions options;
  const auto choose = [&](Only only) {
    if (options.only != Only::kAlways) return false;
    options.only = only;
    return true;
  };
  for (size_t i = 3; i < call.size(); ++i) {
    const std::string_view word = call[i];
    bool fits = true;
    if (same_word(word, "NX")) {
      fits = choose(Only::kIfAbsent);
    } else if (same_word(word, "XX")) {
      fits = choose(Only::kIfPresent);
    } else if ((same_word(word, "IFEQ") || same_word(word, "IFNE")) && i + 1 < call.size()) {
      fits = choose(same_word(word, "IFEQ") ? Only::kIfEqual : Only::kIfNotEqual);
      options.comparison = call[++i];
    } else if (same_word(word, "GET")) {
      options.get = true;
    } else if (same_word(word, "KEEPTTL") && !options.deadline_ms) {
      options.keep_ttl = true;
    } else {
      LAPSE_TRY_ASSIGN(const std::optional<int64_t> deadline_ms, take_deadline(call, &i));
      fits = deadline_ms && !options.deadline_ms && !options.keep_ttl;
      options.deadline_ms = deadline_ms;
    }
    if (!fits) return syntax_error();
  }
  return options;
}

bool applies(const SetOptions& options, const std::optional<std::string>& before) {
  using Only = SetOptions::Only;
  switch (options.only) {
    case Only::kAlways: return true;
    case Only::kIfAbsent: return !before;
    case Only::kIfPresent: return before.has_value();
    case Only::kIfEqual: return before && *before == options.comparison;
    case Only::kIfNotEqual: return !before || *before != options.comparison;
  }
  return false;
}

Status put(const Call& call, std::string_view key, std::string_view value, const Lifetime& lifetime) {
  LAPSE_TRY_ASSIGN(Keyspace * keys, call.write());
  if (call.wanted(kNew)) {
    LAPSE_TRY_ASSIGN(const bool there, keys->exists(key));
    if (!there) call.told(kNew, "new", key);
  }
  LAPSE_TRY(keys->put(key, value, lifetime));
  call.changed(kString, "set", key);
  if (lifetime.kind() == Lifetime::Kind::kUntil) call.told(kGeneric, "expire", key);
  return {};
}

Status set(Call& call) {
  SetOptions options;
  if (call.size() > 3) {
    LAPSE_TRY_ASSIGN(options, parse_set(call));
  }
  if (options.only == SetOptions::Only::kAlways && !options.get) {
    LAPSE_TRY(put(call, call[1], call[2], options.lifetime()));
    call.reply.ok();
    return {};
  }
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  LAPSE_TRY_ASSIGN(const std::optional<std::string> before, keys->get(call[1]));
  if (options.get) call.looked_up(call[1], before.has_value());
  const bool write = applies(options, before);
  if (write) LAPSE_TRY(put(call, call[1], call[2], options.lifetime()));
  if (options.get) {
    reply_value(call, before);
  } else if (write) {
    call.reply.ok();
  } else {
    call.reply.null();
  }
  return {};
}

constexpr KeyPositions kOneKey = {1, 1, 1};

constexpr Command kCommands[] = {
    {"get", 2, kReadOnly | kFast, kOneKey, "string", "1.0.0", "Returns the value of a key.", get},
    {"set", -3, kWrite | kDenyOom, kOneKey, "string", "1.0.0",
     "Sets the value of a key, whatever it was, under conditions and with a lifetime if so asked.", set},
};

}  // namespace

std::span<const Command> string_commands() { return kCommands; }

}  // namespace lapse::server
