#include "support/support.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace lapse {

TempDir::TempDir() {
  const char* base = std::getenv("TMPDIR");
  path_ = std::string(base && *base ? base : "/tmp") + "/lapse-test-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp failed: " + path_);
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Random::Random() {
  const char* given = std::getenv("LAPSE_SEED");
  seed_ = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
  generator_.seed(seed_);
  std::cout << "LAPSE_SEED=" << seed_ << std::endl;
}

std::string Random::bytes(size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(generator_());
  return bytes;
}

// ------------------------------------------------------------------------------------- processes

void Channel::send(std::string_view text) const {
  const std::string line = std::string(text) + "\n";
  if (write(out_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    throw std::runtime_error("nobody listens");
  }
}

std::string Channel::receive() const {
  std::string line;
  char byte;
  while (read(in_, &byte, 1) == 1) {
    if (byte == '\n') return line;
    line += byte;
  }
  return "gone";
}

Child::Child(const std::function<void(const Channel&)>& work) {
  std::signal(SIGPIPE, SIG_IGN);
  int down[2];
  int up[2];
  if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0 || (pid_ = fork()) < 0) {
    throw std::runtime_error("cannot fork");
  }
  const bool is_child = pid_ == 0;
  channel_.in_ = is_child ? down[0] : up[0];
  channel_.out_ = is_child ? up[1] : down[1];
  close(is_child ? down[1] : down[0]);
  close(is_child ? up[0] : up[1]);
  if (!is_child) return;
  try {
    work(channel_);
  } catch (const std::exception& error) {
    channel_.send(std::string("threw ") + error.what());
  }
  _exit(0);
}

Child::~Child() {
  if (pid_ > 0) {
    kill();
    wait();
  }
  close(channel_.in_);
  close(channel_.out_);
}

void Child::kill() { ::kill(pid_, SIGKILL); }

std::string Child::wait() {
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  return WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                             : "exit " + std::to_string(WEXITSTATUS(status));
}

std::string in_child(const std::function<std::string()>& work) {
  Child child([&](const Channel& parent) { parent.send(work()); });
  const std::string answer = child->receive();
  const std::string end = child.wait();
  return end == "exit 0" ? answer : end;
}

// -------------------------------------------------------------------------------------- statuses

testing::AssertionResult is_ok(const Status& status) {
  if (status.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << status.to_string();
}

testing::AssertionResult has_code(StatusCode code, const Status& status) {
  if (status.code() == code) return testing::AssertionSuccess();
  return testing::AssertionFailure() << status.to_string() << ", not " << std::string(status_code_name(code));
}

// ----------------------------------------------------------------------------------------- names

std::string abbreviate(std::string_view bytes) {
  std::string text;
  for (char byte : bytes.substr(0, 24)) {
    char escaped[5];
    std::snprintf(escaped, sizeof escaped, byte > ' ' && byte <= '~' ? "%c" : "\\x%02x",
                  static_cast<unsigned char>(byte));
    text += escaped;
  }
  if (bytes.size() > 24) text += "…(" + std::to_string(bytes.size()) + " bytes)";
  return text;
}

std::string numbered(int number) {
  char text[16];
  std::snprintf(text, sizeof text, "key%05d", number);
  return text;
}

}  // namespace lapse
