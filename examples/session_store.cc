// Sessions that live as long as they are used.

#include <chrono>
#include <optional>
#include <string>

#include "lapse/store.h"
#include "must.h"

using namespace std::chrono_literals;

class Sessions {
 public:
  explicit Sessions(lapse::Store& store)
      : family_(must(store.family_or_create("sessions", {.require_ttl = true}))) {}

  void begin(const std::string& id, const std::string& user) { must(family_.put(id, user, 30min)); }

  // The user, and half an hour more. Renewed only when a minute of it is used up: all other requests are plain reads.
  std::optional<std::string> user_of(const std::string& id) {
    const auto session = must(family_.touch(id, 30min, {.if_left_below = 29min}));
    if (!session) return std::nullopt;
    return session->value;
  }

  void end(const std::string& id) { must(family_.erase(id)); }

 private:
  lapse::Family family_;
};

int main() {
  lapse::ManualClock clock(1'700'000'000'000);
  auto store = must(lapse::Store::open_in_memory({.clock = &clock}));
  Sessions sessions(store);

  sessions.begin("s1", "ada");
  for (int request = 0; request < 4; ++request) {
    clock.advance(20 * 60'000);  // 20 minutes: each request renews the session
    check(sessions.user_of("s1") == "ada");
  }
  clock.advance(30 * 60'000);  // half an hour of silence
  check(!sessions.user_of("s1"));

  sessions.begin("s2", "bob");
  sessions.end("s2");
  check(!sessions.user_of("s2"));
}
