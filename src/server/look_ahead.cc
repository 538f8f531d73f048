// Looking ahead: the store is told the keys of the next commands. One search after the other would wait for memory at each
// step; all together wait once. That is only a hint, so whatever is odd about the commands is left to those who run them.

#include <algorithm>
#include <optional>

#include "base/memory.h"
#include "resp/glance.h"
#include "server/command_table.h"
#include "server/server.h"

namespace lapse::server {

namespace {

constexpr size_t kLookAheadKeys = 16;

// The key of a command that begins with one. What cannot be a key is not worth a copy.
std::optional<std::string_view> first_key(const resp::Glance& seen) {
  const std::string_view argument = seen.first_argument;
  if (argument.empty() || argument.size() > kMaxKeyBytes) return std::nullopt;
  const Command* command = find_command(seen.name);
  if (command == nullptr || command->keys.first != 1) return std::nullopt;
  return argument;
}

}  // namespace

bool Server::runs_commands(const Session& session) const {
  return is_authenticated(session) && !session.queue.open && !session.closing;
}

void Server::receive(std::span<const Arrival> arrivals) {
  while (!arrivals.empty()) {
    const std::span<const Arrival> next = arrivals.first(std::min(arrivals.size(), kLookAheadKeys));
    (void)has_memory_for([&] { look_ahead(next); });
    for (const Arrival& one : next) one.is_end ? take_end(one.session) : receive(one.session, one.bytes);
    arrivals = arrivals.subspan(next.size());
  }
}

// Of clients that send one command each. What pipelines bring is looked at when they are run. REQUIRES: no more than
// kLookAheadKeys
void Server::look_ahead(std::span<const Arrival> arrivals) {
  std::string_view keys[kLookAheadKeys];
  size_t count = 0;
  const int db = arrivals.front().session->db;
  for (const auto& [session, bytes, is_end] : arrivals) {
    if (is_end) continue;
    if (session->db != db || !runs_commands(*session) || !session->input.empty()) continue;
    const std::optional<resp::Glance> seen = resp::glance(bytes);
    if (!seen || seen->bytes < bytes.size()) continue;
    if (const auto key = first_key(*seen)) keys[count++] = *key;
  }
  expect(db, {keys, count});
}

// Of one client's commands: no more bytes than are about to be run, or those behind would be looked at again and again.
// Returns how many it has seen.
size_t Server::look_ahead(const Session& session, std::string_view bytes) {
  if (!runs_commands(session)) return bytes.size();
  std::string_view keys[kLookAheadKeys];
  size_t count = 0;
  size_t done = 0;
  while (count < kLookAheadKeys) {
    const std::optional<resp::Glance> seen = resp::glance(bytes.substr(done));
    if (!seen) {
      done = bytes.size();
      break;
    }
    done += seen->bytes;
    if (const auto key = first_key(*seen)) keys[count++] = *key;
  }
  expect(session.db, {keys, count});
  return done;
}

void Server::expect(int db, std::span<const std::string_view> keys) {
  if (keys.size() < 2) return;
  (void)has_memory_for([&] {
    if (const Result<const Reader*> reader = turn_->read(db); reader.ok()) (*reader)->expect(keys);
  });
}

}  // namespace lapse::server
