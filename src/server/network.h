// Network: sockets around a Server. One thread, one epoll; one turn of the loop is one turn of the server:
//
//   wait for sockets, the next deadline or a signal
//   read what each ready socket has, up to kReadBytes, and let the server run it, of several together
//   commit, then send the replies
//
// So whatever arrived together shares a commit, and at durability full a sync; while the disk is at work on that, what
// clients have sent meanwhile is read already. A socket that does not take its replies is
// asked again when it can; what has piled up for it is limited by client-output-buffer-limit. Well before that its commands
// are held (server.h), and go on when it can take more: what it sends is read meanwhile, since many clients send all they have
// before they read.

#pragma once

#include <sys/epoll.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lapse/status.h"
#include "server/server.h"

namespace lapse::server {

class Network {
 public:
  static constexpr size_t kReadBytes = 64 << 10;    // of one client at a time
  static constexpr size_t kWriteBytes = 1UL << 20;  // to one client in one turn

  // Listens where the server's config says. kInvalidArgument, kBusy (the port is taken), kIoError.
  static Result<std::unique_ptr<Network>> listen(Server* server);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  // Serves until SIGTERM or SIGINT comes, or a client says SHUTDOWN.
  Status run();
  // Where it listens: "127.0.0.1:6379", "/run/lapse.sock".
  const std::vector<std::string>& addresses() const { return addresses_; }

 private:
  struct Socket {
    int fd = -1;
    Session* session = nullptr;            // null: it listens
    uint32_t watched = 0;                  // events
    bool at_end = false;                   // it has been read to its end
    int64_t sent_at_ms = 0;                // when it took something last
    int64_t over_soft_limit_since_ms = 0;  // 0: it is not
  };

  static constexpr int kEventsPerTurn = 1'024;
  using Events = std::array<epoll_event, kEventsPerTurn>;

  explicit Network(Server* server);
  Status listen_tcp(const std::string& address);
  Status listen_unix();
  void remove_unix_socket();
  Status add(int fd, Session* session);
  void turn(int timeout_ms);
  std::span<const epoll_event> wait(Events* events, int timeout_ms) const;
  void handle(std::span<const epoll_event> events);
  void read_ahead();
  int timeout_ms();
  void accept_all(Socket* listener);
  void admit(int fd, std::string address);
  void read(Socket* socket);
  bool has_room_to_read() const { return scratch_.size() - scratch_used_ >= kReadBytes; }
  void run_arrivals();
  void write_more(Session* session);
  void flush(Socket* socket);
  void send_replies();
  void send_what_is_left();
  void watch(Socket* socket, uint32_t events);
  void watch_session(Socket* socket);
  void listen_again();
  bool over_output_limit(Socket* socket);
  bool is_idle(const Session& session, const Socket& socket) const;
  void drop_idle();
  void close(Socket* socket);

  Server* server_;
  int epoll_ = -1;
  int signals_ = -1;
  std::vector<std::string> addresses_;
  std::optional<std::pair<dev_t, ino_t>> unix_socket_;  // the file that this process has made
  std::unordered_map<int, std::unique_ptr<Socket>> sockets_;
  std::unordered_map<const Session*, Socket*> by_session_;
  std::vector<Socket*> resting_;  // listeners that wait for a file descriptor to become free
  std::vector<char> scratch_;     // what has been read and not run yet
  size_t scratch_used_ = 0;
  std::vector<Server::Arrival> arrivals_;  // points into it
  int64_t next_check_ms_ = 0;
};

}  // namespace lapse::server
