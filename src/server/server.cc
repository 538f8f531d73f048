#include "server/server.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/try.h"
#include "store/guarded_clock.h"

namespace lapse::server {

namespace {

constexpr std::string_view kOutOfMemoryLine = "-OOM there is not enough memory for this\r\n";

std::string random_digits(size_t count) {
  std::string digits;
  while (digits.size() < count) digits += "0123456789abcdef"[random_u64() % 16];
  return digits;
}

}  // namespace

// ------------------------------------------------------------------------------- opening and closing

Server::Server(const Config& config) : config_(config), run_id_(random_digits(40)) {}

Result<std::unique_ptr<Server>> Server::open(const Config& config, Clock* clock) {
  std::unique_ptr<Server> server(new Server(config));
  LAPSE_TRY(server->open_store(clock));
  return server;
}

Status Server::open_store(Clock* clock) {
  if (clock == nullptr) {
    guarded_clock_ = std::make_unique<internal::GuardedClock>(WallClock::instance(), BootClock::instance());
    clock = guarded_clock_.get();
  }
  clock_.emplace(clock);
  Options options;
  options.clock = &*clock_;
  options.durability = config_.durability;
  options.buffer_bytes = static_cast<size_t>(config_.buffer_bytes);
  options.background_drain = true;
  options.default_family.counted = true;
  LAPSE_TRY_ASSIGN(Store store, config_.file.empty() ? Store::open_in_memory(options)
                                                     : Store::open(config_.file, options));
  store_.emplace(std::move(store));
  LAPSE_TRY_ASSIGN(Databases databases, Databases::open(&*store_, static_cast<int>(config_.databases)));
  databases_.emplace(std::move(databases));
  databases_->set_is_selected([this](int db) {
    return std::any_of(sessions_.begin(), sessions_.end(),
                       [&](const auto& one) { return one.second->db == db; });
  });
  turn_.emplace(&*store_, &*databases_);
  expirer_.emplace(&*databases_, &*turn_);
  LAPSE_TRY(expirer_->find_next());
  wanted_events_ = parse_event_classes(config_.notify_keyspace_events).value_or(0);
  started_at_ms_ = saved_at_ms_ = now_ms();
  return {};
}

Server::~Server() {
  if (store_) (void)close();
}

Status Server::close() {
  Status status = turn_ ? turn_->commit() : Status();
  expirer_.reset();
  turn_.reset();
  databases_.reset();
  finish_save();
  Status closed = store_->close();
  store_.reset();
  return status.ok() ? closed : status;
}

// ------------------------------------------------------------------------------------------ sessions

Session* Server::connect(std::string address, std::string local_address) {
  auto session = std::make_unique<Session>(++last_session_id_);
  session->address = std::move(address);
  session->local_address = std::move(local_address);
  session->connected_at_ms = session->active_at_ms = steady_ms();
  begin_session(session.get());
  ++statistics_.connections;
  Session* raw = session.get();
  written_.reserve(sessions_.size() + 1);  // so that note_written() needs no memory
  sessions_.emplace(raw->id, std::move(session));
  return raw;
}

void Server::begin_session(Session* session) {
  if (std::exchange(session->monitors, false)) --monitors_;
  pubsub_.forget(session);
  watchers_.unwatch(session);
  session->queue = Queue();
  session->db = 0;
  session->protocol = 2;
  session->name.clear();
  session->reply_mode = ReplyMode::kOn;
  session->no_evict = session->no_touch = false;
  session->was_authenticated |= session->authenticated;
  session->authenticated = config_.requirepass.empty();
}

void Server::monitor(Session* session) {
  if (!std::exchange(session->monitors, true)) ++monitors_;
}

void Server::disconnect(Session* session) {
  begin_session(session);
  std::erase(written_, session);
  sessions_.erase(session->id);
}

Session* Server::find_session(uint64_t id) const {
  const auto at = sessions_.find(id);
  return at == sessions_.end() ? nullptr : at->second.get();
}

void Server::close_later(Session* session) {
  session->closing = true;
  note_written(session);
}

void Server::drop(Session* session) {
  session->gone = session->closing = true;
  note_written(session);
}

void Server::note_written(Session* session) {
  if (!std::exchange(session->has_output, true)) written_.push_back(session);
}

// --------------------------------------------------------------------------------------------- turns

void Server::begin_turn() {
  clock_->advance();
  ++statistics_.turns;
  statistics_.take_rate(steady_ms());
  note_save(background_save_.take_result());
  remove_due();
  if (waiting_.empty() || is_paused()) return;
  for (const uint64_t id : std::exchange(waiting_, {})) {
    Session* session = find_session(id);
    if (session == nullptr) continue;
    session->waits = false;
    receive(session, {});
  }
}

// What cannot be removed, since the disk is full, say, the store hides in any case: that must not fail the commands of the
// turn, nor keep the loop busy.
void Server::remove_due() {
  purged_in_vain_ = false;
  if (!expirer_->is_due(now_ms()) || clock_->in_doubt() || is_paused()) return;
  const Before start = before();
  const Stopwatch stopwatch;
  bool done = false;
  if (!has_memory_for([&] {
        const Result<uint64_t> removed = remove_some_due();
        done = removed.ok();
        if (done) purged_in_vain_ = *removed == 0;
      })) {
    done = false;
  }
  if (!done) {
    undo(start);
    expirer_->back_off(now_ms());
  }
  take_latency("expire-cycle", stopwatch.elapsed_us());
  if (careful_) commit();
}

Result<uint64_t> Server::remove_some_due() {
  LAPSE_TRY_ASSIGN(const uint64_t removed,
                   expirer_->remove_due(now_ms(), expirer_->next_portion(now_ms(), store_->backlog()),
                                        [this](int db, std::string_view key) { told_expired(db, key); }));
  count_expired(removed, /*by_purge=*/false);
  send_events();
  return removed;
}

void Server::told_expired(int db, std::string_view key) {
  expired_keys_.add(db, key);
  if (wanted_events_ & kExpired) add_event({kExpired, "expired", db, std::string(key)});
}

// Takes no memory. What cannot be undone without, and what others have been told of already, goes with the whole turn.
void Server::undo(const Before& before) {
  events_.clear();
  expired_ = before.expired;
  watchers_.take_back(before.marks);
  const bool enough = has_memory_for([&] {
    if (const Status undone = turn_->rollback_to(before.savepoint); !undone.ok()) turn_->give_up(undone);
  });
  if (!enough || events_sent_ != before.events_sent) turn_->give_up_without_memory();
}

void Server::end_turn() {
  commit();
  if (!std::exchange(deadlines_changed_, false) && now_ms() < expirer_->next_deadline_ms()) return;
  bool found = false;
  (void)has_memory_for([&] { found = expirer_->find_next().ok(); });
  // A purge that does nothing about what is due must not be called again and again.
  if (!found || (purged_in_vain_ && expirer_->is_due(now_ms()))) expirer_->back_off(now_ms());
}

void Server::commit() {
  const bool wrote = turn_->writes();
  const Stopwatch stopwatch;
  Status status;
  const bool enough = has_memory_for([&] { status = turn_->commit(); });
  const bool committed = enough && status.ok();
  if (wrote) take_latency("commit", stopwatch.elapsed_us());
  client_wrote_ = false;
  deadlines_changed_ |= wrote;
  if (wrote || !committed) careful_ = !committed;
  if (wrote && committed) ++statistics_.commits;
  if (committed) {
    settle();
  } else {
    settle_failed(enough ? status : Status());
    watchers_.turn_failed();
    expired_ = {};
    expirer_->back_off(now_ms());
  }
}

void Server::settle() {
  for (Session* session : written_) session->output.settle();
  watchers_.turn_committed();
  const Expired expired = std::exchange(expired_, {});
  statistics_.expired += expired.keys;
  statistics_.purged += expired.by_purge;
}

// Nobody must take for done what was not, so whose output there is no memory to change is dropped. `why` is ok if there was
// none for an error.
void Server::settle_failed(const Status& why) {
  std::string made;
  const bool enough = has_memory_for([&] {
    if (!why.ok()) resp::ReplyWriter(&made, 2).error(error_text(why));
  });
  const std::string_view line = enough && !why.ok() ? std::string_view(made) : kOutOfMemoryLine;
  for (Session* session : written_) {
    if (has_memory_for([&] { session->output.settle_failed(line); })) continue;
    session->output.discard();
    drop(session);
  }
}

Status Server::save() {
  LAPSE_TRY(commit_so_far());
  Status status = store_->checkpoint();
  note_save(status);
  return status;
}

// Its thread gets the writer's place when the turn gives it away, with its commit.
Status Server::save_in_background() {
  if (saving_in_background()) return refuse("ERR Background save already in progress");
  return background_save_.start(&*store_);
}

void Server::note_save(const std::optional<Status>& result) {
  if (!result) return;
  saved_well_ = result->ok();
  if (saved_well_) saved_at_ms_ = now_ms();
}

void Server::take_latency(std::string_view event, uint64_t us) {
  const uint64_t ms = us / 1000;
  if (config_.latency_threshold_ms > 0 && ms >= static_cast<uint64_t>(config_.latency_threshold_ms))
    (void)has_memory_for([&] { latency_.add(event, now_ms(), ms); });
}

Status Server::commit_so_far() {
  if (!turn_->writes()) {
    turn_->refresh();
    return {};
  }
  Status status;
  if (!has_memory_for([&] { status = turn_->commit(); })) {
    turn_->give_up_without_memory();
    throw std::bad_alloc();
  }
  if (!status.ok()) {
    turn_->give_up(status);
    return status;
  }
  deadlines_changed_ = true;
  ++statistics_.commits;
  settle();
  if (current_ != nullptr) current_->output.begin(Output::Kind::kOfStore);  // the reply that is being made
  return {};
}

std::vector<Session*> Server::take_written() {
  std::vector<Session*> next;
  next.reserve(sessions_.size());  // so that note_written() needs no memory
  for (Session* session : written_) session->has_output = false;
  return std::exchange(written_, std::move(next));
}

int64_t Server::wakeup_ms() {
  // While the clock is in doubt, nothing is removed: being due is no reason to wake up then.
  int64_t wakeup_ms = clock_->really_in_doubt() ? kNever : expirer_->wakeup_ms();
  const int64_t pause_ends_ms = now_ms() + (paused_until_ms_ - steady_ms());
  if (is_paused()) wakeup_ms = std::max(wakeup_ms, pause_ends_ms);
  if (!waiting_.empty()) wakeup_ms = std::min(wakeup_ms, pause_ends_ms);
  return wakeup_ms;
}

void Server::pause(int64_t until_ms, bool writes_only) {
  const bool longer = is_paused();
  paused_until_ms_ = longer ? std::max(paused_until_ms_, until_ms) : until_ms;
  pause_writes_only_ = writes_only && (!longer || pause_writes_only_);
}

void Server::unpause() { paused_until_ms_ = 0; }

// ------------------------------------------------------------------------------------------ messages

const OutputLimit& Server::output_limit(const Session& session) const {
  static constexpr OutputLimit kOfStrangers = {16 << 10, 0, 0};
  if (is_stranger(session)) return kOfStrangers;
  return session.subscribed() || session.monitors ? config_.pubsub_output : config_.normal_output;
}

void Server::drop_if_over_output_limit(Session* session, size_t more) {
  const uint64_t most = output_limit(*session).hard_bytes;
  const size_t pending = session->output.pending_bytes() + (session == current_ ? own_message_bytes_ : 0) +
                         (session->held ? session->input.size() : 0) + more;
  if (session->gone || most == 0 || pending <= most) return;
  ++statistics_.clients_over_output_limit;
  drop(session);
}

// What is too much for one is not kept even until the turn's end: a message may be too much for many.
void Server::deliver(Session* to, Output::Kind kind, std::string_view bytes) {
  if (to->closing) return;
  drop_if_over_output_limit(to, bytes.size());
  if (to->gone) return;
  note_written(to);
  const bool enough = has_memory_for([&] {
    if (to == current_) {
      own_messages_.emplace_back(kind, bytes);
      own_message_bytes_ += bytes.size();
    } else {
      to->output.begin(kind);
      to->output.bytes().append(bytes);
    }
  });
  if (!enough) drop(to);  // that it misses something is its own affair
}

size_t Server::publish(std::string_view channel, std::string_view message, Output::Kind kind) {
  return pubsub_.publish(channel, [&](Session& to, const std::string* pattern) {
    std::string bytes;
    resp::ReplyWriter writer(&bytes, to.protocol);
    writer.push(pattern ? 4 : 3);
    writer.bulk(pattern ? "pmessage" : "message");
    if (pattern) writer.bulk(*pattern);
    writer.bulk(channel);
    writer.bulk(message);
    deliver(&to, kind, bytes);
  });
}

// Redis tells the key's channel first.
void Server::send_events() {
  if (!pubsub_.empty()) {
    for (const Event& event : events_) {
      if ((wanted_events_ & event.event_class) == 0) continue;
      ++events_sent_;
      const std::string label = databases_->label(event.db);
      if (wanted_events_ & kKeyspace)
        publish("__keyspace@" + label + "__:" + event.key, event.name, Output::Kind::kNotification);
      if (wanted_events_ & kKeyevent)
        publish("__keyevent@" + label + "__:" + std::string(event.name), event.key,
                Output::Kind::kNotification);
    }
  }
  events_.clear();
}

}  // namespace lapse::server
