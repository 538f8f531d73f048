// A request that is sent twice takes effect once: its key and its effect are written together, and for a day a
// repetition gets the first one's answer.

#include <chrono>
#include <string>

#include "lapse/store.h"
#include "must.h"

using namespace std::chrono_literals;

std::string pay(lapse::Store& store, const std::string& request, int64_t amount) {
  std::string answer;
  must(store.update([&](lapse::Transaction& transaction) -> lapse::Status {
    if (auto before = must(transaction.get("request:" + request))) {
      answer = *std::move(before);
      return {};
    }
    const auto balance = must(transaction.increment("balance", -amount, {.min = 0}));
    answer = balance.applied ? "paid, " + std::to_string(balance.value) + " left" : "refused";
    return transaction.put("request:" + request, answer, 24h);
  }));
  return answer;
}

int main() {
  lapse::ManualClock clock(1'700'000'000'000);
  auto store = must(lapse::Store::open_in_memory({.clock = &clock}));
  must(store.put("balance", "100"));

  check(pay(store, "r1", 30) == "paid, 70 left");
  check(pay(store, "r1", 30) == "paid, 70 left");  // again: the same answer, and nothing more is taken
  check(pay(store, "r2", 90) == "refused");
  check(must(store.get("balance")) == "70");
  clock.advance(24 * 3'600'000);
  check(!must(store.exists("request:r1")));  // forgotten by itself
}
