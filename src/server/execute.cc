// From bytes to replies: how a session's commands are taken apart, checked, queued or run.

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

#include "base/memory.h"
#include "base/try.h"
#include "server/absent.h"
#include "server/command_table.h"
#include "server/server.h"
#include "server/text.h"

namespace lapse::server {

namespace {

constexpr size_t kKeptInputBytes = 64 << 10;            // an empty buffer larger than this is given back
constexpr size_t kRunAtOnceBytes = 64 << 10;            // in a turn, of what has piled up: others wait
constexpr size_t kUnauthenticatedBulkBytes = 16 << 10;  // what a stranger may make the server hold
constexpr size_t kUnauthenticatedArguments = 10;

constexpr std::string_view kOutOfMemory = "OOM there is not enough memory for this";

constexpr size_t kQuotedBytes = 128;  // of what a client sent, in the error that it gets

Status unknown_command(std::span<const std::string_view> arguments) {
  if (const std::string error = error_of_absent(arguments[0]); !error.empty()) return refuse(error);
  std::string text = "ERR unknown command '" + std::string(arguments[0].substr(0, kQuotedBytes)) +
                     "', with args beginning with: ";
  const size_t begin = text.size();
  for (const std::string_view argument : arguments.subspan(1)) {
    if (text.size() - begin >= kQuotedBytes) break;
    text += "'" + std::string(argument.substr(0, kQuotedBytes - (text.size() - begin))) + "' ";
  }
  return refuse(text);
}

Status unknown_subcommand(const Command& parent, std::string_view name) {
  return refuse("ERR unknown subcommand '" + std::string(name.substr(0, kQuotedBytes)) + "'. Try " +
                capitals(parent.name) + " HELP.");
}

// What a browser sends that was led here by a hostile page: the commands would be in the body of its request, which must
// not be reached.
bool is_http(std::string_view name) { return same_word(name, "post") || same_word(name, "host:"); }

bool may_debug(const Session& session, DebugFrom from) {
  if (from != DebugFrom::kLocal) return from == DebugFrom::kAnyone;
  return session.address == "unix" || session.address.starts_with("127.") ||
         session.address.starts_with("[::1]");
}

bool fits_arity(const Command& command, size_t arguments) {
  const auto count = static_cast<int>(arguments);
  return command.arity >= 0 ? count == command.arity : count >= -command.arity;
}

// The row that the call is about: of a parent with subcommands, the subcommand's.
Result<const Command*> resolve(std::span<const std::string_view> arguments) {
  const Command* command = find_command(arguments[0]);
  if (command == nullptr) return unknown_command(arguments);
  if (command->subcommands.empty() || arguments.size() == 1) return command;
  const Command* subcommand = find_subcommand(*command, arguments[1]);
  if (subcommand == nullptr) return unknown_subcommand(*command, arguments[1]);
  return subcommand;
}

}  // namespace

void Server::receive(Session* session, std::string_view bytes) {
  if (session->closing) return;
  if (!has_memory_for([&] { take_in(session, bytes); })) drop(session);
  if (session->ended) take_end(session);
}

// What is left when no command is held any more is half a one, or waits for the end of a pause, as only those do who stay.
void Server::take_end(Session* session) {
  session->ended = true;
  if (!session->held) close_later(session);
}

void Server::take_in(Session* session, std::string_view bytes) {
  statistics_.bytes_in += bytes.size();
  session->active_at_ms = steady_ms();
  session->held = false;
  // Mostly commands arrive whole, and are run where they lie.
  const bool is_new = session->input.empty();
  size_t done = 0;
  if (is_new) {
    done = run_commands(session, bytes, bytes.size());
    session->input.append(bytes.substr(done));
  } else {
    session->input.append(bytes);
    done = run_commands(session, session->input.unread(), kRunAtOnceBytes);
    session->input.remove(done);
  }
  if (is_new || done > 0) session->input_began_at_ms = steady_ms();
  if (session->input.empty()) {
    session->parser.release();
    if (session->input.capacity() > kKeptInputBytes) session->input.release();
  }
  if (session->input.size() > static_cast<size_t>(config_.query_buffer_limit)) {
    ++statistics_.clients_over_query_limit;
    drop(session);
  }
  if (session->held) drop_if_over_output_limit(session);
}

// Begins no command behind `most` bytes. Returns how many of the bytes are done with.
size_t Server::run_commands(Session* session, std::string_view bytes, size_t most) {
  using Outcome = resp::RequestParser::Outcome;
  size_t done = 0;
  size_t seen = 0;  // up to here the store has been told which keys will come
  while (!session->closing && done < bytes.size()) {
    if (must_hold(*session) || done >= most) {
      session->held = true;
      return done;
    }
    const Outcome outcome = session->parser.next(bytes.substr(done), limits_of(*session));
    if (outcome == Outcome::kNeedMore) return done;
    if (outcome == Outcome::kError) {
      session->output.begin(Output::Kind::kPlain);
      resp::ReplyWriter(&session->output.bytes(), session->protocol).error("ERR " + session->parser.error());
      close_later(session);
      return bytes.size();
    }
    const std::span<const std::string_view> arguments = session->parser.arguments();
    if (!arguments.empty()) {
      if (is_paused() && must_wait(*session, arguments)) {
        if (!std::exchange(session->waits, true)) waiting_.push_back(session->id);
        return done;
      }
      const bool is_last = done + session->parser.consumed() == bytes.size();
      if (done >= seen && !is_last) seen = done + look_ahead(*session, bytes.substr(done, most - done));
      execute(session, arguments);
    }
    done += session->parser.consumed();
  }
  return session->closing ? bytes.size() : done;
}

resp::RequestParser::Limits Server::limits_of(const Session& session) const {
  resp::RequestParser::Limits limits;
  limits.max_bulk_bytes = static_cast<size_t>(config_.max_bulk_bytes);
  limits.max_arguments = static_cast<size_t>(config_.max_arguments);
  if (is_authenticated(session)) return limits;
  limits.max_bulk_bytes = std::min(limits.max_bulk_bytes, kUnauthenticatedBulkBytes);
  limits.max_arguments = std::min(limits.max_arguments, kUnauthenticatedArguments);
  limits.unauthenticated = true;
  return limits;
}

// Whether enough has piled up to keep the socket busy. What is left of the limit is for the reply to one more command, and
// for what the client sends meanwhile: many send all they have before they read. A stranger is not waited for.
bool Server::must_hold(const Session& session) const {
  constexpr uint64_t kMostHeld = 64UL << 20;  // of a large limit, or of none
  if (is_stranger(session)) return false;
  const OutputLimit& limit = output_limit(session);
  uint64_t most = kMostHeld;
  for (const uint64_t bytes : {limit.hard_bytes, limit.soft_bytes}) {
    if (bytes > 0) most = std::min(most, bytes / 4);
  }
  return session.output.pending_bytes() > most;
}

// Half a command counts from its beginning: bytes that trickle in must not keep it alive.
bool Server::has_timed_out(const Session& session) {
  const auto longer_than = [&](int64_t seconds, int64_t since_ms) {
    return seconds > 0 && steady_ms() - since_ms > seconds * 1000;
  };
  if (session.waits) return false;
  if (!session.held && !session.input.empty() &&
      longer_than(config_.half_command_timeout_seconds, session.input_began_at_ms))
    return true;
  const bool listens = session.subscribed() || session.monitors;
  return !listens && longer_than(config_.timeout_seconds, session.active_at_ms);
}

// CLIENT PAUSE holds up writes, or everything but what ends the pause. Not what is refused in any case, and nothing of a
// stranger: what waits is kept.
bool Server::must_wait(const Session& session, std::span<const std::string_view> arguments) const {
  if (!is_authenticated(session)) return false;
  const Result<const Command*> command = resolve(arguments);
  if (!command.ok() || !check(session, **command, arguments.size()).ok()) return false;
  if ((*command)->name.starts_with("client|")) return false;
  if (!pause_writes_only_) return true;
  constexpr uint32_t kHeldUp = kWrite | kBlockedByPause;
  const std::vector<Queue::Queued>& queued = session.queue.commands;
  return ((*command)->flags & kHeldUp) != 0 ||
         ((*command)->name == "exec" && std::any_of(queued.begin(), queued.end(), [](const auto& one) {
            return (one.command->flags & kHeldUp) != 0;
          }));
}

// A client that there is no memory for to answer is dropped.
void Server::execute(Session* session, std::span<const std::string_view> arguments) {
  if (writes_again(*session, arguments)) commit();
  if (!has_memory_for([&] { execute_with_memory(session, arguments); })) {
    current_ = nullptr;
    own_messages_.clear();
    own_message_bytes_ = 0;
    drop(session);
  }
  if (turn_->writes() && (careful_ || turn_->is_full())) commit();
}

// Whether it may write a key, in a family with history, that the turn has written before. In one commit the second value
// would take the place of the first, which its client has been told is there. EXEC is one change by intent.
bool Server::writes_again(const Session& session, std::span<const std::string_view> arguments) const {
  if (!turn_->has_noted_keys()) return false;
  const Command* command = find_command(arguments[0]);
  if (command == nullptr) return false;
  if (command->name == "exec" || session.queue.open) return command->name == "exec";
  if ((command->flags & kWrite) == 0) return false;
  const std::vector<size_t> keys = key_arguments(*command, arguments);
  const bool elsewhere = keys.empty() || command->name == "copy" || command->name == "move";
  return elsewhere || std::any_of(keys.begin(), keys.end(),
                                  [&](size_t i) { return turn_->has_noted(session.db, arguments[i]); });
}

void Server::execute_with_memory(Session* session, std::span<const std::string_view> arguments) {
  Output& output = session->output;
  output.begin(Output::Kind::kPlain);
  note_written(session);
  current_ = session;
  ++session->commands_run;
  if (session->reply_mode == ReplyMode::kSkipNext) session->reply_mode = ReplyMode::kSkipThis;

  const Result<const Command*> command = resolve(arguments);
  Status status = command.ok() ? check(*session, **command, arguments.size()) : command.status();
  bool pushed = false;
  if (status.ok()) ++statistics_.commands;
  if (!status.ok() && (session->queue.open || same_word(arguments[0], "exec")))
    status = break_queue(session, arguments[0], std::move(status));
  if (status.ok() && session->queue.open && ((*command)->flags & kNotQueued) == 0) {
    status = enqueue(session, **command, arguments);
  } else if (status.ok()) {
    session->last_command = *command;
    pushed = ((*command)->flags & kPushes) != 0;
    Call call{*this, *session, **command, arguments, {&output.bytes(), session->protocol}};
    run(call);
  }
  if (!status.ok()) {
    const std::string text = error_text(status);
    statistics_.count_error(text);
    if (command.ok()) ++statistics_.by_command[*command].rejected;
    resp::ReplyWriter(&output.bytes(), session->protocol).error(text);
    if (!command.ok() && is_http(arguments[0])) drop(session);
  }
  finish_reply(session, pushed);
  drop_if_over_output_limit(session);
}

// A command that is refused lets EXEC give up. If it is EXEC itself, it does so at once.
Status Server::break_queue(Session* session, std::string_view command, Status why) {
  session->queue.broken = true;
  if (!same_word(command, "exec")) return why;
  watchers_.unwatch(session);
  session->queue = Queue();
  const std::string text = error_text(why);
  const size_t code = text.starts_with("ERR ") ? 4 : 0;  // others are shown, as Redis has it
  return refuse("EXECABORT Transaction discarded because of: " + text.substr(code));
}

// What CLIENT REPLY says about the reply, and the messages that came up for the session meanwhile.
void Server::finish_reply(Session* session, bool pushed) {
  current_ = nullptr;
  own_message_bytes_ = 0;
  const bool silent = session->reply_mode == ReplyMode::kOff || session->reply_mode == ReplyMode::kSkipThis;
  if (silent && !pushed) session->output.empty_last();
  if (session->reply_mode == ReplyMode::kSkipThis) session->reply_mode = ReplyMode::kOn;
  for (const auto& [kind, bytes] : own_messages_) deliver(session, kind, bytes);
  own_messages_.clear();
}

Status Server::check(const Session& session, const Command& command, size_t arguments) const {
  if (!fits_arity(command, arguments) || command.run == nullptr) return wrong_arguments(command.name);
  if (!is_authenticated(session) && (command.flags & kNoAuth) == 0)
    return refuse("NOAUTH Authentication required.");
  if (command.name.starts_with("debug|") && !may_debug(session, config_.debug_from)) {
    return refuse(
        "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run "
        "it "
        "from a local connection, otherwise you need to set this option in the configuration file, and then "
        "restart the server.");
  }
  if (session.queue.open && (command.flags & kNoMulti) != 0)
    return refuse("ERR Command not allowed inside a transaction");
  if (session.subscribed() && session.protocol == 2 && (command.flags & kWhileSubscribed) == 0) {
    return refuse(
        "ERR Can't execute '" + std::string(command.name) +
        "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context");
  }
  return {};
}

Status Server::enqueue(Session* session, const Command& command,
                       std::span<const std::string_view> arguments) {
  Queue& queue = session->queue;
  size_t bytes = 0;
  for (const std::string_view argument : arguments) bytes += argument.size() + sizeof(std::string);
  if (queue.commands.size() >= static_cast<size_t>(config_.max_queued_commands) ||
      queue.bytes + bytes > static_cast<size_t>(config_.max_queued_bytes)) {
    queue.broken = true;
    return refuse("ERR too much between MULTI and EXEC");
  }
  queue.bytes += bytes;
  queue.commands.push_back({&command, {arguments.begin(), arguments.end()}});
  resp::ReplyWriter(&session->output.bytes(), session->protocol).simple("QUEUED");
  return {};
}

void Server::run(Call& call) {
  std::string& out = call.session.output.bytes();
  const size_t begin = out.size();
  // What was read before anything was written is true whatever becomes of the commit.
  if (call.command.flags & kWrite) client_wrote_ = true;
  if (client_wrote_ && (call.command.flags & (kWrite | kReadOnly))) call.session.output.depends_on_store();
  const Stopwatch stopwatch;
  const Before start = before();
  Status status;
  const bool enough = has_memory_for([&] { status = attempt(call); });
  const bool failed = !enough || !status.ok();
  if (failed) {
    undo(start);
    out.resize(begin);
    const std::string made = enough ? error_text(status) : std::string();
    const std::string_view text = enough ? made : kOutOfMemory;
    (void)has_memory_for([&] { statistics_.count_error(text); });
    call.reply.error(text);
  }
  (void)has_memory_for([&] { note_call(call, stopwatch.elapsed_us(), failed); });
}

Status Server::attempt(Call& call) {
  LAPSE_TRY(expire_arguments(call));
  const Status status = call.command.run(call);
  // When it has been run, as Redis has it: EXEC behind its commands, SELECT with the database that it has chosen, and RESET not
  // to who was a monitor until then.
  if (monitors_ > 0 && (call.command.flags & (kSkipMonitor | kAdmin)) == 0) {
    quietly(
        [&] { feed_monitors(call); });  // that there is no memory to show it does not undo what has been done
  }
  LAPSE_TRY(status);
  send_events();
  return {};
}

namespace {

// Users and passwords are not for those who look on.
bool is_secret(const Call& call, size_t i) {
  const std::string_view name = call.command.name;
  const auto follows = [&](std::string_view word, size_t by) {
    return i >= by && same_word(call[i - by], word);
  };
  if (name == "auth") return i > 0;
  if (name == "hello") return follows("AUTH", 1) || follows("AUTH", 2);
  return name == "config|set" && i % 2 == 1 && follows("requirepass", 1);
}

std::vector<std::string_view> shown_arguments(const Call& call) {
  std::vector<std::string_view> shown(call.arguments.begin(), call.arguments.end());
  for (size_t i = 0; i < shown.size(); ++i) {
    if (is_secret(call, i)) shown[i] = "(redacted)";
  }
  return shown;
}

}  // namespace

void Server::note_call(const Call& call, uint64_t us, bool failed) {
  CommandStatistics& statistics = statistics_.by_command[&call.command];
  if (failed) ++statistics.failed;
  statistics.add_call(us);
  take_latency(call.command.flags & kFast ? "fast-command" : "command", us);
  if (config_.slowlog_slower_than_us >= 0 && us >= static_cast<uint64_t>(config_.slowlog_slower_than_us) &&
      (call.command.flags & kSkipSlowlog) == 0) {
    slowlog_.add(now_ms(), us, shown_arguments(call), call.session.address, call.session.name,
                 static_cast<size_t>(config_.slowlog_max_len));
  }
}

Status Server::expire_arguments(const Call& call) {
  if ((call.command.flags & kWrite) == 0 || !may_have_lapsed()) return {};
  for (const size_t i : key_arguments(call.command, call.arguments)) {
    LAPSE_TRY(expire_if_lapsed(call, call.session.db, call[i]));
  }
  return {};
}

Status Server::expire_if_lapsed(const Call& call, int db, std::string_view key) {
  if (!may_have_lapsed() || clock_->in_doubt()) return {};
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read(db));
  LAPSE_TRY_ASSIGN(const bool lapsed, keys->lapsed(key));
  if (!lapsed) return {};
  LAPSE_TRY_ASSIGN(Keyspace * writable, call.write(db));
  LAPSE_TRY(writable->erase(key));
  count_expired(1, /*by_purge=*/false);
  told_expired(db, key);
  return {};
}

Status Server::expire_all_lapsed(int db) {
  if (!may_have_lapsed() || clock_->in_doubt()) return {};
  LAPSE_TRY_ASSIGN(const PurgeResult removed,
                   expirer_->remove_due_of(db, now_ms(), std::numeric_limits<uint64_t>::max(),
                                           [this](int of, std::string_view key) { told_expired(of, key); }));
  count_expired(removed.removed, /*by_purge=*/false);
  return {};
}

// 1700000000.123456 [0 127.0.0.1:5555] "set" "key" "value"
void Server::feed_monitors(const Call& call) {
  char at[48];
  std::snprintf(at, sizeof at, "%lld.%06lld", static_cast<long long>(now_ms() / 1000),
                static_cast<long long>(now_ms() % 1000 * 1000));
  std::string line =
      std::string(at) + " [" + databases_->label(call.session.db) + " " + call.session.address + "]";
  for (const std::string_view argument : shown_arguments(call)) line += " " + quoted(argument);
  std::string bytes;
  resp::ReplyWriter(&bytes, 2).simple(line);
  for (const auto& [id, session] : sessions_) {
    if (session->monitors) deliver(session.get(), Output::Kind::kPlain, bytes);
  }
}

// ----------------------------------------------------------------------------------------------- Call

int64_t Call::now_ms() const { return server.now_ms(); }

Result<const Reader*> Call::read(int db) const { return server.turn().read(db); }
Result<Keyspace*> Call::write(int db) const { return server.turn().write(db); }

void Call::changed(uint32_t event_class, std::string_view event, std::string_view key, int db) const {
  server.watchers().key_changed(db, key);
  server.expired_keys().remove(db, key);
  if (server.databases().keeps_history(db)) server.turn().note_key(db, key);
  if (wanted(event_class)) server.add_event({event_class, event, db, std::string(key)});
}

void Call::told(uint32_t event_class, std::string_view event, std::string_view key) const {
  if (wanted(event_class)) server.add_event({event_class, event, session.db, std::string(key)});
}

Status Call::check_output(size_t more) const {
  server.drop_if_over_output_limit(&session, more);
  return session.gone ? refuse("ERR the reply is larger than client-output-buffer-limit allows") : Status();
}

bool Call::wanted(uint32_t event_class) const { return (server.wanted_events() & event_class) != 0; }

namespace {

// Whether a key that is not there went at its deadline, as far as that is still known.
bool has_expired(const Call& call, std::string_view key) {
  if (call.server.expired_keys().has(call.session.db, key)) return true;
  if (call.now_ms() < call.server.expirer().next_deadline_ms()) return false;
  const Result<const Reader*> keys = call.read();
  const Result<bool> lapsed = keys.ok() ? (*keys)->lapsed(key) : Result<bool>(keys.status());
  return lapsed.ok() && *lapsed;
}

}  // namespace

void Call::looked_up(std::string_view key, bool found) const {
  Statistics& statistics = server.statistics();
  ++(found ? statistics.hits : statistics.misses);
  if (found) return;
  if (has_expired(*this, key)) ++statistics.misses_by_expiry;
  told(kKeyMiss, "keymiss", key);
}

}  // namespace lapse::server
