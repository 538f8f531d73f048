#include "bench/server_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace lapse::bench {
namespace {

constexpr uint64_t kLoadedAtOnce = 1'000;
constexpr int kPatienceMs = 60'000;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

class Connection {
 public:
  explicit Connection(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Connection() { close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool connected() const { return connected_; }

  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) fail("sending to the server");
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }

  // So many replies of one line each.
  std::string receive_lines(size_t lines) const {
    std::string received;
    while (static_cast<size_t>(std::count(received.begin(), received.end(), '\n')) < lines) {
      char bytes[1 << 16];
      const ssize_t got = recv(fd_, bytes, sizeof bytes, 0);
      if (got <= 0) fail("receiving from the server");
      received.append(bytes, static_cast<size_t>(got));
    }
    return received;
  }

 private:
  int fd_;
  bool connected_;
};

int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    fail("looking for a free port");
  }
  close(fd);
  return ntohs(address.sin_port);
}

std::vector<std::string> command_line(const std::string& store, SyncLevel level,
                                      const std::filesystem::path& folder, int port) {
  const bool always = level == SyncLevel::kAlways;
  if (store == "redis") {
    return {"redis-server",
            "--port",
            std::to_string(port),
            "--bind",
            "127.0.0.1",
            "--dir",
            folder,
            "--save",
            "",
            "--appendonly",
            "yes",
            "--appendfsync",
            always ? "always" : "everysec"};
  }
  const std::filesystem::path lapse = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "lapse";
  return {lapse,       "serve",        folder / "bench.db",       "--port", std::to_string(port), "--bind",
          "127.0.0.1", "--durability", always ? "full" : "normal"};
}

// Its output goes into a file: a benchmark has a table to print.
pid_t start(std::vector<std::string> words, const std::filesystem::path& log) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid < 0) fail("fork");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // it must not outlive the benchmark
    const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  return pid;
}

std::string output_of(const std::string& shell_command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(shell_command.c_str(), "r"), pclose);
  if (!pipe) fail(shell_command);
  std::string output;
  char bytes[4096];
  while (const size_t got = fread(bytes, 1, sizeof bytes, pipe.get())) output.append(bytes, got);
  return output;
}

std::string bulk(const std::string& bytes) {
  return "$" + std::to_string(bytes.size()) + "\r\n" + bytes + "\r\n";
}

std::string key_of(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof text, "key:%012llu", static_cast<unsigned long long>(number));
  return text;
}

}  // namespace

ServerProcess::ServerProcess(const std::string& store, SyncLevel level, std::filesystem::path folder,
                             const std::vector<std::string>& options)
    : folder_(std::move(folder)), port_(free_port()) {
  std::filesystem::create_directories(folder_);
  std::vector<std::string> words = command_line(store, level, folder_, port_);
  words.insert(words.end(), options.begin(), options.end());
  pid_ = start(std::move(words), folder_.string() + ".log");
  wait_until_it_answers();
}

ServerProcess::~ServerProcess() {
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
}

void ServerProcess::wait_until_it_answers() const {
  for (int waited_ms = 0; waited_ms < kPatienceMs; waited_ms += 10) {
    const Connection connection(port_);
    if (connection.connected()) {
      connection.send("PING\r\n");
      if (connection.receive_lines(1) == "+PONG\r\n") return;
    }
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) break;
    usleep(10'000);
  }
  throw std::runtime_error("the server did not start: see " + folder_.string() + ".log");
}

std::string ServerProcess::ask(const std::string& request, size_t replies) const {
  const Connection connection(port_);
  connection.send(request);
  return connection.receive_lines(replies);
}

void ServerProcess::load(uint64_t keys, size_t value_bytes) const {
  const Connection connection(port_);
  const std::string value = bulk(std::string(value_bytes, 'x'));
  for (uint64_t begin = 0; begin < keys; begin += kLoadedAtOnce) {
    const uint64_t end = std::min(keys, begin + kLoadedAtOnce);
    std::string requests;
    for (uint64_t i = begin; i < end; ++i) requests += "*3\r\n$3\r\nSET\r\n" + bulk(key_of(i)) + value;
    connection.send(requests);
    const std::string replies = connection.receive_lines(end - begin);
    if (replies.find('-') != std::string::npos)
      throw std::runtime_error("loading: " + replies.substr(0, 200));
  }
}

double ServerProcess::anonymous_bytes() const {
  // To Lapse this is a checkpoint; Redis writes a dump that does not change what it has in memory.
  if (const std::string reply = ask("SAVE\r\n", 1); reply != "+OK\r\n")
    throw std::runtime_error("SAVE: " + reply);
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stod(line.substr(8)) * 1024;
  }
  throw std::runtime_error("no RssAnon in /proc");
}

// An error is quickly said: it must not pass for speed.
void ServerProcess::check(const std::vector<std::string>& command) const {
  std::string request = "*" + std::to_string(command.size()) + "\r\n";
  for (const std::string& word : command) request += bulk(word);
  if (const std::string reply = ask(request, 1); reply.starts_with('-'))
    throw std::runtime_error(command[0] + ": " + reply);
}

double ServerProcess::measure(const Load& load, const std::vector<std::string>& command) const {
  check(command);
  std::string line = "redis-benchmark --csv -h 127.0.0.1 -p " + std::to_string(port_) + " -c " +
                     std::to_string(kClients) + " -n " + std::to_string(load.requests) + " -P " +
                     std::to_string(load.pipeline) + " -r " + std::to_string(load.keys);
  for (const std::string& word : command) line += " '" + word + "'";
  const std::string output = output_of(line + " 2>/dev/null");
  // "title","commands a second",…: the last line.
  const size_t last = output.rfind('\n', output.size() - 2) + 1;
  const size_t figure = output.find("\",\"", last);
  if (output.empty() || figure == std::string::npos) throw std::runtime_error("redis-benchmark: " + output);
  return std::stod(output.substr(figure + 3));
}

std::string redis_version() {
  std::string line = output_of("redis-server --version");
  line.erase(std::min(line.find(" sha="), line.size()));
  return line;
}

}  // namespace lapse::bench
