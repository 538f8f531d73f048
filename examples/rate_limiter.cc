// At most so many calls a minute, for each caller.

#include <chrono>
#include <string>

#include "lapse/store.h"
#include "must.h"

using namespace std::chrono_literals;

constexpr int64_t kCallsPerMinute = 3;

// Counts from a caller's first call on; the count ends by itself. One atomic step, however many threads ask.
bool allow(lapse::Store& store, const std::string& caller) {
  return must(store.increment("calls:" + caller, 1, {.lifetime = 1min, .max = kCallsPerMinute})).applied;
}

int main() {
  lapse::ManualClock clock(1'700'000'000'000);
  auto store = must(lapse::Store::open_in_memory({.clock = &clock}));

  check(allow(store, "ada") && allow(store, "ada") && allow(store, "ada"));
  check(!allow(store, "ada"));
  check(allow(store, "bob"));
  clock.advance(45'000);
  check(must(store.ttl("calls:ada")) == 15s);  // what a Retry-After header would say
  clock.advance(15'000);
  check(allow(store, "ada"));
}
