// CLIENT: who is connected, and what is done about it.

#include <cstdio>
#include <vector>

#include "base/try.h"
#include "server/command_table.h"
#include "server/commands/client_name.h"
#include "server/commands/help.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

// --------------------------------------------------------------------------------- what clients are

enum class Type { kNormal, kMaster, kReplica, kPubsub };

Result<Type> parse_type(std::string_view word) {
  if (same_word(word, "normal")) return Type::kNormal;
  if (same_word(word, "master")) return Type::kMaster;
  if (same_word(word, "replica") || same_word(word, "slave")) return Type::kReplica;
  if (same_word(word, "pubsub")) return Type::kPubsub;
  return refuse("ERR Unknown client type '" + std::string(word) + "'");
}

Type type_of(const Session& session) { return session.subscribed() ? Type::kPubsub : Type::kNormal; }

std::string flags_of(const Session& session) {
  std::string flags;
  if (session.monitors) flags += 'O';
  if (session.subscribed()) flags += 'P';
  if (session.queue.open) flags += 'x';
  if (session.watches.touched) flags += 'd';
  if (session.closing) flags += session.gone ? 'A' : 'c';
  if (session.no_evict) flags += 'e';
  if (session.no_touch) flags += 'T';
  if (session.address.starts_with("unix")) flags += 'U';
  return flags.empty() ? "N" : flags;
}

// The line that CLIENT LIST has for a client. Sockets are not the session's business: fd is -1.
std::string describe(const Session& session, int64_t steady_ms) {
  const auto seconds = [&](int64_t since_ms) { return std::to_string((steady_ms - since_ms) / 1000); };
  const size_t queued = session.queue.commands.size();
  const size_t pending = session.output.pending_bytes();
  const size_t memory = sizeof(Session) + session.input.capacity() + session.queue.bytes + pending +
                        session.watches.bytes + session.subscribed_bytes;
  std::string line = "id=" + std::to_string(session.id) + " addr=" + session.address +
                     " laddr=" + session.local_address + " fd=-1 name=" + session.name +
                     " age=" + seconds(session.connected_at_ms) + " idle=" + seconds(session.active_at_ms) +
                     " flags=" + flags_of(session) + " db=" + std::to_string(session.db) +
                     " sub=" + std::to_string(session.channels.size()) +
                     " psub=" + std::to_string(session.patterns.size()) + " ssub=0" +
                     " multi=" + (session.queue.open ? std::to_string(queued) : "-1");
  line += " watch=" + std::to_string(session.watches.keys.size()) +
          " qbuf=" + std::to_string(session.input.size()) +
          " qbuf-free=" + std::to_string(session.input.capacity() - session.input.size()) +
          " argv-mem=0 multi-mem=" + std::to_string(session.queue.bytes) +
          " rbs=0 rbp=0 obl=" + std::to_string(pending) + " oll=0 omem=" + std::to_string(pending) +
          " tot-mem=" + std::to_string(memory) +
          " events=r cmd=" + (session.last_command ? std::string(session.last_command->name) : "NULL") +
          " user=default redir=-1 resp=" + std::to_string(session.protocol) +
          " lib-name=" + session.library_name + " lib-ver=" + session.library_version;
  return line;
}

// ------------------------------------------------------------------------------------ about oneself

Status id(Call& call) {
  call.reply.integer(static_cast<int64_t>(call.session.id));
  return {};
}

Status getname(Call& call) {
  if (call.session.name.empty()) {
    call.reply.null();
  } else {
    call.reply.bulk(call.session.name);
  }
  return {};
}

Status setname(Call& call) {
  LAPSE_TRY(check_client_name("Client names", call[2]));
  call.session.name = call[2];
  call.reply.ok();
  return {};
}

Status setinfo(Call& call) {
  std::string* field = nullptr;
  if (same_word(call[2], "lib-name")) field = &call.session.library_name;
  if (same_word(call[2], "lib-ver")) field = &call.session.library_version;
  if (field == nullptr) return refuse("ERR Unrecognized option '" + std::string(call[2]) + "'");
  LAPSE_TRY(check_client_name(small_letters(call[2]), call[3]));
  *field = call[3];
  call.reply.ok();
  return {};
}

Status info(Call& call) {
  call.reply.verbatim(describe(call.session, call.server.steady_ms()) + "\n");
  return {};
}

Status reply(Call& call) {
  ReplyMode& mode = call.session.reply_mode;
  if (same_word(call[2], "on")) {
    mode = ReplyMode::kOn;
    call.reply.ok();
  } else if (same_word(call[2], "off")) {
    mode = ReplyMode::kOff;
  } else if (same_word(call[2], "skip")) {
    if (mode != ReplyMode::kOff) mode = ReplyMode::kSkipNext;
  } else {
    return syntax_error();
  }
  return {};
}

Status set_switch(Call& call, bool* value) {
  if (!same_word(call[2], "on") && !same_word(call[2], "off")) return syntax_error();
  *value = same_word(call[2], "on");
  call.reply.ok();
  return {};
}

Status no_evict(Call& call) { return set_switch(call, &call.session.no_evict); }
Status no_touch(Call& call) { return set_switch(call, &call.session.no_touch); }

// --------------------------------------------------------------------------------------- about others

// CLIENT LIST [TYPE type] [ID id …]
Status list(Call& call) {
  std::vector<const Session*> listed;
  if (call.size() == 4 && same_word(call[2], "type")) {
    LAPSE_TRY_ASSIGN(const Type type, parse_type(call[3]));
    for (const auto& [number, session] : call.server.sessions()) {
      if (type_of(*session) == type) listed.push_back(session.get());
    }
  } else if (call.size() > 3 && same_word(call[2], "id")) {
    for (const std::string_view text : call.arguments.subspan(3)) {
      const std::optional<int64_t> number = to_integer(text);
      if (!number) return refuse("ERR Invalid client ID");
      if (const Session* session = call.server.find_session(static_cast<uint64_t>(*number)))
        listed.push_back(session);
    }
  } else if (call.size() == 2) {
    for (const auto& [number, session] : call.server.sessions()) listed.push_back(session.get());
  } else {
    return syntax_error();
  }
  std::string lines;
  for (const Session* session : listed) {
    lines += describe(*session, call.server.steady_ms()) + "\n";
    LAPSE_TRY(call.check_output(lines.size()));
  }
  call.reply.verbatim(lines);
  return {};
}

struct KillFilter {
  std::optional<uint64_t> id;
  std::optional<std::string_view> address;
  std::optional<std::string_view> local_address;
  std::optional<Type> type;
  std::optional<int64_t> min_age_seconds;
  bool skip_me = true;

  bool fits(const Session& session, const Call& call) const {
    if (session.gone || (skip_me && &session == &call.session)) return false;
    const int64_t age_seconds = (call.server.steady_ms() - session.connected_at_ms) / 1000;
    return (!id || session.id == *id) && (!address || session.address == *address) &&
           (!local_address || session.local_address == *local_address) &&
           (!type || type_of(session) == *type) && (!min_age_seconds || age_seconds >= *min_age_seconds);
  }
};

Status parse_kill_option(std::string_view name, std::string_view value, KillFilter* filter) {
  if (same_word(name, "id")) {
    const std::optional<int64_t> number = to_integer(value);
    if (!number || *number < 1) return refuse("ERR client-id should be greater than 0");
    filter->id = static_cast<uint64_t>(*number);
  } else if (same_word(name, "addr")) {
    filter->address = value;
  } else if (same_word(name, "laddr")) {
    filter->local_address = value;
  } else if (same_word(name, "type")) {
    LAPSE_TRY_ASSIGN(filter->type, parse_type(value));
  } else if (same_word(name, "user")) {
    if (value != "default") return refuse("ERR No such user '" + std::string(value) + "'");
  } else if (same_word(name, "maxage")) {
    const std::optional<int64_t> seconds = to_integer(value);
    if (!seconds || *seconds < 1) return refuse("ERR maxage is not an integer or out of range");
    filter->min_age_seconds = *seconds;
  } else if (same_word(name, "skipme") && (same_word(value, "yes") || same_word(value, "no"))) {
    filter->skip_me = same_word(value, "yes");
  } else {
    return syntax_error();
  }
  return {};
}

int64_t kill_all(const Call& call, const KillFilter& filter) {
  int64_t killed = 0;
  for (const auto& [number, session] : call.server.sessions()) {
    if (!filter.fits(*session, call)) continue;
    ++killed;
    if (session.get() == &call.session) {
      call.server.close_later(session.get());  // it is to hear how many went
    } else {
      call.server.drop(session.get());
    }
  }
  return killed;
}

// CLIENT KILL address | option value [option value …]
Status kill(Call& call) {
  KillFilter filter;
  if (call.size() == 3) {
    filter.address = call[2];
    filter.skip_me = false;
    if (kill_all(call, filter) == 0) return refuse("ERR No such client");
    call.reply.ok();
    return {};
  }
  if (call.size() % 2 != 0) return syntax_error();
  for (size_t i = 2; i < call.size(); i += 2) LAPSE_TRY(parse_kill_option(call[i], call[i + 1], &filter));
  call.reply.integer(kill_all(call, filter));
  return {};
}

// CLIENT PAUSE milliseconds [WRITE | ALL]
Status pause(Call& call) {
  const std::optional<int64_t> ms = to_integer(call[2]);
  if (call.size() > 4) return wrong_subcommand(call);
  const bool writes_only = call.size() == 4 && same_word(call[3], "write");
  if (call.size() == 4 && !writes_only && !same_word(call[3], "all"))
    return refuse("ERR CLIENT PAUSE mode must be WRITE or ALL");
  const int64_t steady_ms = call.server.steady_ms();
  if (!ms || *ms > kNever - steady_ms) return refuse("ERR timeout is not an integer or out of range");
  if (*ms < 0) return refuse("ERR timeout is negative");
  call.server.pause(steady_ms + *ms, writes_only);
  call.reply.ok();
  return {};
}

Status unpause(Call& call) {
  call.server.unpause();
  call.reply.ok();
  return {};
}

constexpr std::string_view kGroup = "connection";
constexpr uint32_t kOwn = kNoScript | kLoading | kStale;
constexpr uint32_t kOthers = kOwn | kAdmin;

constexpr Command kClientCommands[] = {
    {"client|getname", 2, kOwn, {}, kGroup, "2.6.9", "Returns the name of this connection.", getname},
    help_row("client|help", kGroup, "5.0.0"),
    {"client|id", 2, kOwn, {}, kGroup, "5.0.0", "Returns the number of this connection.", id},
    {"client|info", 2, kOwn, {}, kGroup, "6.2.0", "Tells about this connection.", info},
    {"client|kill", -3, kOthers, {}, kGroup, "2.4.0", "Ends connections.", kill},
    {"client|list", -2, kOthers, {}, kGroup, "2.4.0", "Lists the connections.", list},
    {"client|no-evict",
     3,
     kOthers,
     {},
     kGroup,
     "7.0.0",
     "Takes note that this client is not to be evicted.",
     no_evict},
    {"client|no-touch",
     3,
     kOwn,
     {},
     kGroup,
     "7.2.0",
     "Takes note that this client's reads do not count.",
     no_touch},
    {"client|pause", -3, kOthers, {}, kGroup, "2.9.50", "Holds up commands, or writes, for a while.", pause},
    // Within a transaction, EXEC's reply would announce more than it holds.
    {"client|reply",
     3,
     kOwn | kNoMulti,
     {},
     kGroup,
     "3.2.0",
     "Turns replies on or off, or skips the next one.",
     reply},
    {"client|setinfo", 4, kOwn, {}, kGroup, "7.2.0", "Says which library the client uses.", setinfo},
    {"client|setname", 3, kOwn, {}, kGroup, "2.6.9", "Names this connection.", setname},
    {"client|unpause", 2, kOthers, {}, kGroup, "6.2.0", "Ends a pause.", unpause},
};

constexpr Command kCommands[] = {
    {"client",
     -2,
     0,
     {},
     kGroup,
     "2.4.0",
     "Tells about connections, and changes them.",
     nullptr,
     kClientCommands},
};

}  // namespace

std::span<const Command> client_commands() { return kCommands; }

}  // namespace lapse::server
