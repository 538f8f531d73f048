// Codes that work once, within five minutes, and not after three wrong guesses.

#include <chrono>
#include <string>

#include "lapse/store.h"
#include "must.h"

using namespace std::chrono_literals;

void send_code(lapse::Store& store, const std::string& user, const std::string& code) {
  must(store.erase("guesses:" + user));
  must(store.put("code:" + user, code, 5min));
}

bool redeem(lapse::Store& store, const std::string& user, const std::string& guess) {
  if (!must(store.increment("guesses:" + user, 1, {.lifetime = 5min, .max = 3})).applied) return false;
  return must(store.compare_and_erase("code:" + user, guess));  // of two who try at once, one succeeds
}

int main() {
  lapse::ManualClock clock(1'700'000'000'000);
  auto store = must(lapse::Store::open_in_memory({.clock = &clock}));

  send_code(store, "ada", "123456");
  check(!redeem(store, "ada", "000000"));
  check(redeem(store, "ada", "123456"));
  check(!redeem(store, "ada", "123456"));  // once is once

  send_code(store, "ada", "777777");
  for (const char* guess : {"1", "2", "3"}) check(!redeem(store, "ada", guess));
  check(!redeem(store, "ada", "777777"));  // too many guesses

  send_code(store, "ada", "424242");
  clock.advance(5 * 60'000);
  check(!redeem(store, "ada", "424242"));  // too late
}
