#include "server/network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/memory.h"
#include "base/try.h"
#include "server/file_limit.h"

namespace lapse::server {

namespace {

constexpr uint32_t kReadable = EPOLLIN | EPOLLHUP | EPOLLERR;
constexpr size_t kScratchBytes =
    4 * Network::kReadBytes;  // of several clients: what they send is run together
constexpr int kTickMs =
    100;  // how often idle clients are looked for, and the longest that the turn's clock stands still
constexpr int kBacklog = 511;
constexpr int kAcceptedPerTurn = 1'000;
constexpr int64_t kFarewellMs = 5'000;  // for clients to take their last replies when the server ends
constexpr int64_t kLingerMs = 10'000;   // for a client that is being closed to take something

Status io_error(const std::string& what) {
  return {StatusCode::kIoError, what + ": " + std::generic_category().message(errno)};
}

std::string address_text(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    return std::string(text.data()) + ":" + std::to_string(ntohs(v4.sin_port));
  }
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    return "[" + std::string(text.data()) + "]:" + std::to_string(ntohs(v6.sin6_port));
  }
  return "unix";
}

std::string local_address_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "?";
  return address_text(address);
}

// Which file it is, whatever its name; nothing: there is none.
std::optional<std::pair<dev_t, ino_t>> file_at(const std::string& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) return std::nullopt;
  return std::pair(found.st_dev, found.st_ino);
}

// Removes the socket that a server has left which is no more. What is no socket, or has someone listening, is not ours.
Status clear_way(const std::string& path, const sockaddr_un& address) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0) return {};
  if (!S_ISSOCK(found.st_mode)) return {StatusCode::kInvalidArgument, path + ": is there, and is no socket"};
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return io_error("socket");
  const bool refused =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno == ECONNREFUSED;
  ::close(fd);
  if (!refused) return {StatusCode::kBusy, path + ": someone is listening there"};
  unlink(path.c_str());
  return {};
}

// With a star for all addresses of a kind, or of both: IPv6 if the machine has it.
std::vector<std::string> every_address(const std::vector<std::string>& bind) {
  std::vector<std::string> addresses;
  for (const std::string& address : bind) {
    if (address == "*" || address == "-*") {
      addresses.insert(addresses.end(), {"0.0.0.0", "-::"});
    } else if (address.ends_with("::*")) {
      addresses.push_back(address.substr(0, address.size() - 1));
    } else {
      addresses.push_back(address);
    }
  }
  return addresses;
}

void set_option(int fd, int level, int name, int value) { setsockopt(fd, level, name, &value, sizeof value); }

}  // namespace

// ----------------------------------------------------------------------------------------- listening

Network::Network(Server* server) : server_(server), scratch_(kScratchBytes) {
  arrivals_.reserve(2UL * kEventsPerTurn);  // ahead, and of the turn; so that read() needs no memory
}

Result<std::unique_ptr<Network>> Network::listen(Server* server) {
  std::unique_ptr<Network> network(new Network(server));
  network->epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (network->epoll_ < 0) return io_error("epoll_create1");

  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  network->signals_ = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  if (network->signals_ < 0) return io_error("signalfd");
  epoll_event event{};
  event.events = EPOLLIN;
  if (epoll_ctl(network->epoll_, EPOLL_CTL_ADD, network->signals_, &event) != 0) return io_error("epoll_ctl");

  server->config().max_clients = provide_files(server->config().max_clients);
  const Config& config = server->config();
  std::string refused;
  if (config.port != 0) {
    for (const std::string& address : every_address(config.bind)) {
      const bool optional = address.starts_with('-');  // as Redis has it: not every machine has IPv6
      const Status status = network->listen_tcp(optional ? address.substr(1) : address);
      if (!status.ok() && !optional) return status;
      if (!status.ok()) refused += "; " + std::string(status.message());
    }
  }
  if (!config.unix_socket.empty()) LAPSE_TRY(network->listen_unix());
  if (network->addresses_.empty())
    return Status(StatusCode::kInvalidArgument,
                  (config.port == 0 ? "nowhere to listen: port is 0"
                                    : "nowhere to listen: bind names no address of this machine") +
                      std::string(", and there is no unixsocket") + refused);
  return network;
}

Status Network::listen_tcp(const std::string& address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(server_->config().port);
  if (const int error = getaddrinfo(address.c_str(), port.c_str(), &hints, &found); error != 0) {
    return {StatusCode::kInvalidArgument, "bind " + address + ": " + gai_strerror(error)};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return io_error("socket");
  set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (found->ai_family == AF_INET6) set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (::bind(fd, found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd, kBacklog) != 0) {
    const bool taken = errno == EADDRINUSE;
    Status status = io_error("listening on " + address + ", port " + port);
    ::close(fd);
    return taken ? Status(StatusCode::kBusy, std::string(status.message())) : status;
  }
  addresses_.push_back(local_address_of(fd));
  return add(fd, nullptr);  // an error ends the process, and the socket with it
}

Status Network::listen_unix() {
  const std::string& path = server_->config().unix_socket;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return {StatusCode::kInvalidArgument, "unixsocket: the path is too long"};
  path.copy(address.sun_path, path.size());
  LAPSE_TRY(clear_way(path, address));
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return io_error("socket");
  const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  if (bound) unix_socket_ = file_at(path);
  const auto permissions = static_cast<mode_t>(server_->config().unix_socket_permissions);
  if (bound && permissions != 0 && chmod(path.c_str(), permissions) != 0) return io_error(path);
  if (!bound || ::listen(fd, kBacklog) != 0) {
    Status status = io_error("listening on " + path);
    ::close(fd);
    return status;
  }
  addresses_.push_back(path);
  return add(fd, nullptr);
}

Network::~Network() {
  while (!sockets_.empty()) close(sockets_.begin()->second.get());
  remove_unix_socket();
  if (signals_ >= 0) ::close(signals_);
  if (epoll_ >= 0) ::close(epoll_);
}

// By now there may be another's in its place.
void Network::remove_unix_socket() {
  const std::string& path = server_->config().unix_socket;
  if (unix_socket_ && file_at(path) == unix_socket_) unlink(path.c_str());
}

// Last of all the socket is made known to epoll, so that nothing points to what there was no memory for.
Status Network::add(int fd, Session* session) {
  auto made = std::make_unique<Socket>();
  made->fd = fd;
  made->session = session;
  Socket* socket = made.get();
  sockets_.emplace(fd, std::move(made));
  Status status;
  const bool enough = has_memory_for([&] {
    if (session != nullptr) by_session_[session] = socket;
    epoll_event event{};
    event.events = socket->watched = EPOLLIN;
    event.data.ptr = socket;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) status = io_error("epoll_ctl");
  });
  if (enough && status.ok()) return {};
  by_session_.erase(session);
  sockets_.erase(fd);
  if (!enough) throw std::bad_alloc();
  return status;
}

// ----------------------------------------------------------------------------------------- the loop

Status Network::run() {
  while (!server_->stopping()) turn(timeout_ms());
  send_what_is_left();
  return server_->close();
}

void Network::send_what_is_left() {
  const Stopwatch stopwatch;
  for (;;) {
    std::vector<Socket*> unfinished;
    std::vector<pollfd> files;
    for (const auto& [session, socket] : by_session_) {
      if (session->output.pending_bytes() == 0) continue;
      unfinished.push_back(socket);
      files.push_back({socket->fd, POLLOUT, 0});
    }
    const int64_t left_ms = kFarewellMs - static_cast<int64_t>(stopwatch.elapsed_us() / 1'000);
    if (files.empty() || left_ms <= 0 || poll(files.data(), files.size(), static_cast<int>(left_ms)) <= 0)
      return;
    for (size_t i = 0; i < files.size(); ++i) {
      if (files[i].revents != 0) flush(unfinished[i]);
    }
  }
}

int Network::timeout_ms() {
  const int64_t wakeup_ms = server_->wakeup_ms();
  if (wakeup_ms == kNever) return kTickMs;
  return static_cast<int>(std::clamp<int64_t>(wakeup_ms - server_->real_now_ms(), 0, kTickMs));
}

void Network::turn(int timeout_ms) {
  Events events;
  const std::span<const epoll_event> ready = wait(&events, arrivals_.empty() ? timeout_ms : 0);
  server_->begin_turn();
  handle(ready);
  run_arrivals();
  if (server_->must_sync()) {
    server_->begin_commit();
    read_ahead();
  }
  server_->end_turn();
  // What there is no memory for now, there may be after the next turn.
  (void)has_memory_for([&] { send_replies(); });
  if (server_->steady_ms() >= next_check_ms_) {
    next_check_ms_ = server_->steady_ms() + kTickMs;
    (void)has_memory_for([&] { drop_idle(); });
    listen_again();
  }
}

std::span<const epoll_event> Network::wait(Events* events, int timeout_ms) const {
  const int ready = epoll_wait(epoll_, events->data(), kEventsPerTurn, timeout_ms);
  return std::span(*events).first(static_cast<size_t>(std::max(0, ready)));
}

void Network::handle(std::span<const epoll_event> events) {
  for (const epoll_event& event : events) {
    auto* socket = static_cast<Socket*>(event.data.ptr);
    if (socket == nullptr) {
      server_->stop();
    } else if (socket->session == nullptr) {
      (void)has_memory_for([&] { accept_all(socket); });
    } else {
      // A connection that is broken altogether is told of at every turn, whatever is asked.
      if ((event.events & EPOLLOUT) || socket->at_end) write_more(socket->session);
      if (event.events & kReadable) read(socket);
    }
  }
}

// While the disk is at work: what clients have sent is for the next turn, and so is all that is not read now.
void Network::read_ahead() {
  Events events;
  for (const epoll_event& event : wait(&events, 0)) {
    auto* socket = static_cast<Socket*>(event.data.ptr);
    if (socket == nullptr || socket->session == nullptr || (event.events & kReadable) == 0) continue;
    if (!has_room_to_read()) return;
    read(socket);
  }
}

// There is room for more: for what was left over, and for the replies to commands that were held behind it.
void Network::write_more(Session* session) {
  server_->note_written(session);
  if (session->held) server_->receive(session, {});
}

void Network::accept_all(Socket* listener) {
  for (int i = 0; i < kAcceptedPerTurn; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const int fd =
        accept4(listener->fd, reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      if (!has_memory_for([&] { admit(fd, address_text(address)); })) ::close(fd);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      // Who knocks would wake us again at once, and again in vain: they wait until the next tick.
      resting_.push_back(listener);
      watch(listener, 0);
      return;
    } else if (errno != ECONNABORTED && errno != EINTR) {
      return;
    }
  }
}

void Network::listen_again() {
  for (Socket* listener : std::exchange(resting_, {})) watch(listener, EPOLLIN);
}

void Network::admit(int fd, std::string address) {
  const Config& config = server_->config();
  if (server_->sessions().size() >= static_cast<size_t>(config.max_clients)) {
    constexpr std::string_view kFull = "-ERR max number of clients reached\r\n";
    (void)!::send(fd, kFull.data(), kFull.size(), MSG_NOSIGNAL);
    ::close(fd);
    ++server_->statistics().connections_rejected;
    return;
  }
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  if (config.tcp_keepalive_seconds > 0) {
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(config.tcp_keepalive_seconds));
  }
  Session* session = server_->connect(std::move(address), local_address_of(fd));
  Status status;
  const bool enough = has_memory_for([&] { status = add(fd, session); });
  if (enough && status.ok()) return;
  server_->disconnect(session);
  ::close(fd);
}

void Network::read(Socket* socket) {
  if (socket->at_end) return;
  if (!has_room_to_read()) run_arrivals();
  char* at = scratch_.data() + scratch_used_;
  const ssize_t got = recv(socket->fd, at, kReadBytes, 0);
  if (got > 0) {
    arrivals_.push_back({socket->session, {at, static_cast<size_t>(got)}});
    scratch_used_ += static_cast<size_t>(got);
  } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
    // What it sent before that may not have been run yet, and half closed it waits for the replies.
    arrivals_.push_back({socket->session, {}, /*is_end=*/true});
    socket->at_end = true;
    watch_session(socket);
  }
}

void Network::run_arrivals() {
  server_->receive(arrivals_);
  arrivals_.clear();
  scratch_used_ = 0;
}

void Network::send_replies() {
  for (Session* session : server_->take_written()) {
    if (const auto at = by_session_.find(session); at != by_session_.end()) flush(at->second);
  }
}

void Network::flush(Socket* socket) {
  Session* session = socket->session;
  size_t allowed = kWriteBytes;
  while (!session->gone && allowed > 0 && session->output.pending_bytes() > 0) {
    const std::string_view unsent = session->output.unsent().substr(0, allowed);
    const ssize_t sent = ::send(socket->fd, unsent.data(), unsent.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EAGAIN || errno == EINTR) break;
      if (errno != EPIPE && errno != ECONNRESET) return close(socket);
      // Nobody will read it. But what the client has sent before is there to be read, and to be run.
      session->output.discard();
      break;
    }
    allowed -= static_cast<size_t>(sent);
    session->output.sent(static_cast<size_t>(sent));
    socket->sent_at_ms = server_->steady_ms();
    server_->statistics().bytes_out += static_cast<uint64_t>(sent);
  }
  if (session->gone || over_output_limit(socket)) return close(socket);
  const bool pending = session->output.pending_bytes() > 0;
  if (session->closing && !pending) return close(socket);
  watch_session(socket);
}

void Network::watch_session(Socket* socket) {
  const Session& session = *socket->session;
  const bool may_write = session.held || session.output.pending_bytes() > 0;
  // A client that is being closed has said what it had to say.
  const bool may_read = !session.closing && !socket->at_end;
  const uint32_t events = (may_read ? EPOLLIN : 0U) | (may_write ? EPOLLOUT : 0U);
  if (events != socket->watched) watch(socket, events);
}

void Network::watch(Socket* socket, uint32_t events) {
  socket->watched = events;
  epoll_event event{};
  event.events = events;
  event.data.ptr = socket;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, socket->fd, &event);
}

bool Network::over_output_limit(Socket* socket) {
  const Session& session = *socket->session;
  const OutputLimit& limit = server_->output_limit(session);
  const size_t pending = session.output.pending_bytes();
  bool over = limit.hard_bytes > 0 && pending > limit.hard_bytes;
  if (limit.soft_bytes > 0 && pending > limit.soft_bytes) {
    if (socket->over_soft_limit_since_ms == 0) socket->over_soft_limit_since_ms = server_->steady_ms();
    over |= server_->steady_ms() - socket->over_soft_limit_since_ms >= limit.soft_seconds * 1000;
  } else {
    socket->over_soft_limit_since_ms = 0;
  }
  if (over) ++server_->statistics().clients_over_output_limit;
  return over;
}

bool Network::is_idle(const Session& session, const Socket& socket) const {
  const int64_t resting_ms = server_->steady_ms() - std::max(session.active_at_ms, socket.sent_at_ms);
  const int64_t patience_seconds = server_->config().half_command_timeout_seconds;
  if (session.ended) return patience_seconds > 0 && resting_ms > patience_seconds * 1000;
  if (session.closing) return resting_ms > kLingerMs;
  // Commands that wait behind replies are as good as half a command: the client must get on with it, and take them.
  if (session.held && session.output.pending_bytes() > 0 && patience_seconds > 0 &&
      server_->steady_ms() - socket.sent_at_ms > patience_seconds * 1000)
    return true;
  return server_->has_timed_out(session);
}

void Network::drop_idle() {
  std::vector<Socket*> to_close;
  for (const auto& [session, socket] : by_session_) {
    if (is_idle(*session, *socket) || over_output_limit(socket)) to_close.push_back(socket);
  }
  for (Socket* socket : to_close) close(socket);
}

void Network::close(Socket* socket) {
  if (socket->session != nullptr) {
    std::erase_if(arrivals_, [&](const Server::Arrival& one) { return one.session == socket->session; });
    by_session_.erase(socket->session);
    server_->disconnect(socket->session);
  }
  ::close(socket->fd);
  sockets_.erase(socket->fd);
}

}  // namespace lapse::server
