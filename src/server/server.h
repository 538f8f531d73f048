// Server: sessions, commands and turns over a store. It knows no sockets: network.h drives it, and so do tests, by hand:
//
//   server.begin_turn();
//   server.receive(session, "*1\r\n$4\r\nPING\r\n");      // any number of these
//   server.end_turn();                                    // commits; now the replies may leave
//   for (Session* written : server.take_written()) send(written->output.unsent());
//
// One thread.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "lapse/store.h"
#include "server/background_save.h"
#include "server/call.h"
#include "server/config.h"
#include "server/databases.h"
#include "server/events.h"
#include "server/expired_keys.h"
#include "server/expirer.h"
#include "server/latency.h"
#include "server/pubsub.h"
#include "server/scan_cursors.h"
#include "server/session.h"
#include "server/slowlog.h"
#include "server/statistics.h"
#include "server/turn.h"
#include "server/turn_clock.h"
#include "server/watchers.h"

namespace lapse::server {

class Server {
 public:
  // Opens the store that the config names. `clock` is for tests: without one, the system's, guarded against leaps.
  static Result<std::unique_ptr<Server>> open(const Config& config, Clock* clock = nullptr);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  // Commits what is open, and closes the store.
  Status close();

  // --- sessions

  Session* connect(std::string address, std::string local_address);
  void disconnect(Session* session);  // it is gone after this
  const std::map<uint64_t, std::unique_ptr<Session>>& sessions() const { return sessions_; }
  Session* find_session(uint64_t id) const;
  // Whether it may do more than say who it is: it has said so, came when nobody was asked to, or nobody is asked to now.
  bool is_authenticated(const Session& session) const {
    return session.authenticated || config_.requirepass.empty();
  }
  // Whether it has never been. One that has may have large replies before it, also when RESET has made it anonymous.
  bool is_stranger(const Session& session) const {
    return !session.was_authenticated && !is_authenticated(session);
  }
  // To be closed when its output has gone; or at once.
  void close_later(Session* session);
  void drop(Session* session);
  // Whether it has been idle, or busy with sending one command, for longer than is allowed.
  bool has_timed_out(const Session& session);
  // What may pile up for it.
  const OutputLimit& output_limit(const Session& session) const;
  // Drops it if more has piled up, the commands included that are held behind its replies, and `more` bytes that are to come. At
  // once, and not only after the turn: one command can bring any amount.
  void drop_if_over_output_limit(Session* session, size_t more = 0);

  // --- turns

  // Takes the time, removes keys that are due, lets sessions go on that had to wait.
  void begin_turn();
  // Runs the commands that these bytes complete, until a good part of what may pile up for the session has (`held`). So a
  // client that reads is never dropped for what it asked for in one go. When replies have left, it goes on with
  // receive(session, {}).
  void receive(Session* session, std::string_view bytes);
  // The same for many at once, which is quicker.
  struct Arrival {
    Session* session;
    std::string_view bytes;
    bool is_end =
        false;  // no bytes, and none to come: what it has sent is run to the end, and then it is closed
  };
  void receive(std::span<const Arrival> arrivals);
  // Whether the turn will end with waiting for the disk.
  bool must_sync() const {
    return config_.durability == Durability::kFull && !config_.file.empty() && turn_->writes();
  }
  // Lets the disk go to work on the turn's commit. Until end_turn(), which waits for it, there is time for what needs no
  // turn. REQUIRES: must_sync()
  void begin_commit() { turn_->begin_commit(); }
  // Commits; settles every reply and notification of the turn.
  void end_turn();
  // For what the store does outside of transactions only: commits what the turn has done so far, and settles it. The turn
  // goes on after it. If it fails, so does the whole turn.
  Status commit_so_far();
  // Sessions that have output, or that are to be closed, since the last call. Without memory it throws, and keeps them.
  std::vector<Session*> take_written();
  void note_written(Session* session);
  // When the next turn must begin at the latest, by now_ms(); kNever: when there is input.
  int64_t wakeup_ms();
  int64_t now_ms() { return clock_->now_ms(); }  // of the turn
  int64_t real_now_ms() { return clock_->real_now_ms(); }
  // For how long something has been: it does not go back.
  int64_t steady_ms() const { return clock_->steady_ms(); }

  // --- for commands

  Config& config() { return config_; }
  Store& store() { return *store_; }
  Databases& databases() { return *databases_; }
  Turn& turn() { return *turn_; }
  Expirer& expirer() { return *expirer_; }
  PubSub& pubsub() { return pubsub_; }
  Watchers& watchers() { return watchers_; }
  Statistics& statistics() { return statistics_; }
  Slowlog& slowlog() { return slowlog_; }
  LatencyMonitor& latency() { return latency_; }
  ExpiredKeys& expired_keys() { return expired_keys_; }
  ScanCursors& scan_cursors() { return scan_cursors_; }
  int64_t started_at_ms() const { return started_at_ms_; }
  // 40 hexadecimal digits that no other process has.
  const std::string& run_id() const { return run_id_; }

  // Runs a call under a savepoint: what fails is undone, and its reply is the error; so is what there is no memory for. The
  // call's events go out. Throws std::bad_alloc if there is none for the error either, when all is undone.
  void run(Call& call);
  // While keys are due that have not been removed yet, a write to one of them must first tell that it expired.
  Status expire_if_lapsed(const Call& call, int db, std::string_view key);
  // The same for all keys of a database.
  Status expire_all_lapsed(int db);
  // For commands that read, but are not of those that say so: what was read before anything was written is true whatever
  // becomes of the commit.
  void depends_on_turn(Session* session) const {
    if (client_wrote_) session->output.depends_on_store();
  }
  // Tells of a key that went at its deadline. Those who WATCH it go by that, whenever it is removed: to who came later it was
  // gone already.
  void told_expired(int db, std::string_view key);
  // Keys that went at their deadline, by PURGE or before a command; they count once it is committed.
  void count_expired(uint64_t keys, bool by_purge) {
    expired_.keys += keys;
    if (by_purge) expired_.by_purge += keys;
  }
  void add_event(Event event) { events_.push_back(std::move(event)); }
  uint32_t wanted_events() const { return wanted_events_; }
  void want_events(uint32_t classes) { wanted_events_ = classes; }
  // Puts a message into another session's output, or behind the present reply of its own.
  void deliver(Session* to, Output::Kind kind, std::string_view bytes);
  // To those who have subscribed. Returns how many.
  size_t publish(std::string_view channel, std::string_view message, Output::Kind kind);
  // SAVE: commits, and brings everything into the tree. BGSAVE: the same meanwhile, what the turn commits included.
  Status save();
  Status save_in_background();
  bool saving_in_background() const { return background_save_.in_progress(); }
  // Waits for the end of it.
  void finish_save() { note_save(background_save_.wait()); }
  int64_t saved_at_ms() const { return saved_at_ms_; }
  bool saved_well() const { return saved_well_; }
  // CLIENT PAUSE, until a time by steady_ms(). Of two, the later end and the stricter mode hold. Meanwhile no key is removed.
  void pause(int64_t until_ms, bool writes_only);
  bool is_paused() const { return steady_ms() < paused_until_ms_; }
  void unpause();
  // MONITOR.
  void monitor(Session* session);
  // SHUTDOWN: the network stops after this turn.
  void stop() { stopping_ = true; }
  bool stopping() const { return stopping_; }
  // The part of HELLO, AUTH and RESET that all sessions begin with.
  void begin_session(Session* session);

 private:
  explicit Server(const Config& config);
  Status open_store(Clock* clock);

  size_t run_commands(Session* session, std::string_view bytes, size_t most);
  bool runs_commands(const Session& session) const;
  void look_ahead(std::span<const Arrival> arrivals);
  size_t look_ahead(const Session& session, std::string_view bytes);
  void expect(int db, std::span<const std::string_view> keys);
  bool must_wait(const Session& session, std::span<const std::string_view> arguments) const;
  void take_in(Session* session, std::string_view bytes);
  void take_end(Session* session);
  void execute(Session* session, std::span<const std::string_view> arguments);
  bool writes_again(const Session& session, std::span<const std::string_view> arguments) const;
  void execute_with_memory(Session* session, std::span<const std::string_view> arguments);
  Status attempt(Call& call);
  // Keys that the turn has removed at their deadlines, and not committed yet.
  struct Expired {
    uint64_t keys = 0;
    uint64_t by_purge = 0;  // of them
  };
  // What a command, or the removal of keys, goes back to if it fails.
  struct Before {
    Savepoint savepoint;
    size_t marks;
    uint64_t events_sent;
    Expired expired;
  };
  Before before() const { return {turn_->savepoint(), watchers_.marks(), events_sent_, expired_}; }
  void undo(const Before& before);
  void note_call(const Call& call, uint64_t us, bool failed);
  Status check(const Session& session, const Command& command, size_t arguments) const;
  Status enqueue(Session* session, const Command& command, std::span<const std::string_view> arguments);
  Status break_queue(Session* session, std::string_view command, Status why);
  void finish_reply(Session* session, bool pushed);
  void commit();
  void settle();
  void settle_failed(const Status& why);
  void feed_monitors(const Call& call);
  Status expire_arguments(const Call& call);
  void send_events();
  void remove_due();
  Result<uint64_t> remove_some_due();
  bool may_have_lapsed() { return now_ms() >= expirer_->next_deadline_ms(); }
  void note_save(const std::optional<Status>& result);
  void take_latency(std::string_view event, uint64_t us);
  resp::RequestParser::Limits limits_of(const Session& session) const;
  bool must_hold(const Session& session) const;

  Config config_;
  std::unique_ptr<Clock> guarded_clock_;
  std::optional<TurnClock> clock_;
  std::optional<Store> store_;
  std::optional<Databases> databases_;
  std::optional<Turn> turn_;
  std::optional<Expirer> expirer_;

  std::map<uint64_t, std::unique_ptr<Session>> sessions_;
  uint64_t last_session_id_ = 0;
  PubSub pubsub_;
  Watchers watchers_;
  Statistics statistics_;
  Slowlog slowlog_;
  LatencyMonitor latency_;
  ExpiredKeys expired_keys_;
  ScanCursors scan_cursors_;

  Expired expired_;
  bool purged_in_vain_ = false;     // in this turn
  bool deadlines_changed_ = false;  // perhaps: the turn has committed something

  uint32_t wanted_events_ = 0;
  std::vector<Event> events_;                                       // of the command being run
  Session* current_ = nullptr;                                      // whose command is being run
  std::vector<std::pair<Output::Kind, std::string>> own_messages_;  // for it, behind its reply
  size_t own_message_bytes_ = 0;
  uint64_t events_sent_ = 0;
  std::vector<Session*> written_;
  std::vector<uint64_t> waiting_;  // sessions that have whole commands which a pause keeps back
  size_t monitors_ = 0;
  bool client_wrote_ = false;  // since the last commit
  bool careful_ = false;       // the last commit failed: until one succeeds, each write has its own
  int64_t paused_until_ms_ = 0;
  bool pause_writes_only_ = false;
  int64_t started_at_ms_ = 0;
  const std::string run_id_;
  BackgroundSave background_save_;
  int64_t saved_at_ms_ = 0;
  bool saved_well_ = true;
  bool stopping_ = false;
};

}  // namespace lapse::server
