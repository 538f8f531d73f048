// MULTI … EXEC: commands that are kept until they run together, and WATCH, which calls them off.
//
// A turn has one store transaction, so commands of one EXEC are together in any case: nobody comes between them, and they
// reach the disk in one commit. A command that fails within EXEC does not undo the others, as in Redis.

#include <utility>

#include "base/try.h"
#include "server/command_table.h"
#include "server/server.h"

namespace lapse::server {

namespace {

Status multi(Call& call) {
  if (call.session.queue.open) return refuse("ERR MULTI calls can not be nested");
  call.session.queue.open = true;
  call.reply.ok();
  return {};
}

Queue leave_multi(Call& call) {
  call.server.watchers().unwatch(&call.session);
  return std::exchange(call.session.queue, Queue());
}

Status discard(Call& call) {
  if (!call.session.queue.open) return refuse("ERR DISCARD without MULTI");
  leave_multi(call);
  call.reply.ok();
  return {};
}

// An end at the deadline is a change too, whether someone has removed the key by now or not. A deadline that was changed
// has marked the watches already.
bool has_changed(const Watches& watches, int64_t now_ms) {
  for (const Watches::Watched& watched : watches.keys) {
    if (now_ms >= watched.deadline_ms) return true;
  }
  return watches.touched;
}

// What a client that has been dropped meanwhile would have read is of no use; what it writes is done as a whole.
bool is_of_use(const Call& call, const Queue::Queued& queued) {
  return !call.session.gone || (queued.command->flags & kWrite) != 0;
}

void run_queued(Call& call, const Queue::Queued& queued) {
  if (!is_of_use(call, queued)) return;
  const std::vector<std::string_view> arguments(queued.arguments.begin(), queued.arguments.end());
  Session& session = call.session;
  session.last_command = queued.command;
  Call one{call.server, session, *queued.command, arguments, {&session.output.bytes(), session.protocol}};
  call.server.run(one);
  call.server.drop_if_over_output_limit(&session);
  if (session.gone) session.output.empty_last();
}

Status exec(Call& call) {
  Session& session = call.session;
  if (!session.queue.open) return refuse("ERR EXEC without MULTI");
  const bool changed = has_changed(session.watches, call.now_ms());
  // The marks of this turn hold if it commits.
  if (!session.watches.keys.empty()) call.server.depends_on_turn(&session);
  const Queue queue = leave_multi(call);
  if (queue.broken) return refuse("EXECABORT Transaction discarded because of previous errors.");
  if (changed) {
    call.reply.null_array();
    return {};
  }
  call.reply.array(queue.commands.size());
  for (const Queue::Queued& queued : queue.commands) run_queued(call, queued);
  return {};
}

Status watch(Call& call) {
  if (call.session.queue.open) return refuse("ERR WATCH inside MULTI is not allowed");
  size_t bytes = call.session.watches.bytes;
  for (const std::string_view key : call.arguments.subspan(1)) bytes += bytes_to_remember(key);
  if (bytes > static_cast<size_t>(call.server.config().max_watched_bytes))
    return refuse("ERR too many keys are watched (max-watched-bytes)");
  call.server.depends_on_turn(&call.session);
  LAPSE_TRY_ASSIGN(const Reader* keys, call.read());
  for (const std::string_view key : call.arguments.subspan(1)) {
    LAPSE_TRY_ASSIGN(const std::optional<int64_t> deadline_ms, keys->deadline_of(key));
    call.server.watchers().watch(&call.session, call.session.db, key, deadline_ms.value_or(kNever));
  }
  call.reply.ok();
  return {};
}

Status unwatch(Call& call) {
  call.server.watchers().unwatch(&call.session);
  call.reply.ok();
  return {};
}

constexpr uint32_t kCommon = kNoScript | kLoading | kStale;

constexpr Command kCommands[] = {
    {"discard",
     1,
     kCommon | kFast | kNotQueued,
     {},
     "transactions",
     "2.0.0",
     "Leaves MULTI without running anything, and forgets what is watched.",
     discard},
    {"exec",
     1,
     kCommon | kNotQueued | kSkipSlowlog,
     {},
     "transactions",
     "1.2.0",
     "Runs what was queued since MULTI, unless something that is watched has changed.",
     exec},
    {"multi",
     1,
     kCommon | kFast | kNotQueued,
     {},
     "transactions",
     "1.2.0",
     "Begins to queue commands.",
     multi},
    {"unwatch", 1, kCommon | kFast, {}, "transactions", "2.2.0", "Forgets what is watched.", unwatch},
    {"watch",
     -2,
     kCommon | kFast | kNotQueued,
     {1, -1, 1},
     "transactions",
     "2.2.0",
     "Lets the next EXEC do nothing if one of the keys changes until then, or expires.",
     watch},
};

}  // namespace

std::span<const Command> transaction_commands() { return kCommands; }

}  // namespace lapse::server
