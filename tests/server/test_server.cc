#include "test_server.h"

namespace lapse::server {

TestServer::TestServer(Config config)
    : config_(std::move(config)), server_(must(Server::open(config_, &clock_))) {}

void TestServer::advance(int64_t by_ms) {
  clock_.advance(by_ms);
  turn();
}

void TestServer::turn() {
  together([] {});
}

void TestServer::together(const std::function<void()>& work) {
  in_turn_ = true;
  server_->begin_turn();
  work();
  server_->end_turn();
  in_turn_ = false;
}

void TestServer::reopen() {
  must(server_->close());
  server_ = must(Server::open(config_, &clock_));
}

TestClient::TestClient(TestServer& server)
    : server_(server), session_(server->connect("127.0.0.1:5555", "127.0.0.1:6379")) {}

std::string TestClient::operator()(std::string_view line) {
  resp::RequestParser parser;
  const std::string bytes = std::string(line) + "\r\n";
  if (parser.next(bytes, {}) != resp::RequestParser::Outcome::kCommand)
    throw std::runtime_error("not a command: " + std::string(line));
  return (*this)(std::vector<std::string>(parser.arguments().begin(), parser.arguments().end()));
}

std::string TestClient::operator()(const std::vector<std::string>& arguments) {
  send(resp::to_request(arguments));
  return server_.in_turn() ? "" : receive();
}

resp::Reply TestClient::ask(const std::vector<std::string>& arguments) {
  send(resp::to_request(arguments));
  const auto read = must(resp::read_reply(received_));
  if (!read) throw std::runtime_error("no reply");
  received_.erase(0, read->consumed);
  return read->reply;
}

void TestClient::send(std::string_view bytes) {
  if (session_ == nullptr) throw std::runtime_error("the server has closed this connection");
  const auto receive_bytes = [&] { server_->receive(session_, bytes); };
  if (server_.in_turn()) return receive_bytes();
  server_.together(receive_bytes);
  collect();
}

// What the network does after a turn, and in the turns after it as long as the session is held.
void TestClient::collect() {
  if (session_ == nullptr) return;
  for (;;) {
    received_ += session_->output.unsent();
    session_->output.sent(session_->output.pending_bytes());
    if (!session_->held || session_->closing) break;
    server_.together([&] { server_->receive(session_, {}); });
  }
  if (!session_->closing) return;
  server_->disconnect(session_);
  session_ = nullptr;
}

std::string TestClient::receive() {
  collect();
  if (received_.empty()) return "";
  const auto read = must(resp::read_reply(received_));
  if (!read) return "";
  received_.erase(0, read->consumed);
  return resp::describe(read->reply);
}

std::vector<std::string> TestClient::receive_all() {
  std::vector<std::string> all;
  for (std::string one = receive(); !one.empty(); one = receive()) all.push_back(std::move(one));
  return all;
}

}  // namespace lapse::server
