// A family with history: what a key held when, the whole store of an earlier time, and the way back.

#include <string>

#include "lapse/store.h"
#include "must.h"

int main() {
  lapse::ManualClock clock(1'700'000'000'000);
  auto store = must(lapse::Store::open_in_memory({.clock = &clock}));
  auto prices = must(store.create_family("prices", {.history = lapse::HistoryPolicy{.keep_last = 100}}));

  const int64_t monday = clock.now_ms();
  must(prices.put("tea", "3.00"));
  must(prices.put("cake", "4.50"));
  clock.advance(24 * 3'600'000);
  must(prices.put("tea", "3.20"));
  must(prices.erase("cake"));

  check(must(prices.get("tea")) == "3.20");
  check(must(prices.get_at("tea", monday)) == "3.00");
  const auto past = must(prices.history("tea"));
  check(past.size() == 2 && past[0].value == "3.20" && past[1].ending == lapse::Ending::kOverwritten);

  const lapse::Snapshot then = must(store.snapshot_at(monday));
  std::string menu;
  auto all = must(then.in(prices).iterate());
  for (; all.valid(); all.next()) menu += std::string(all.key()) + " " + std::string(all.value()) + "\n";
  must(all.status());
  check(menu == "cake 4.50\ntea 3.00\n");

  check(must(prices.restore("cake", monday)));  // back on the menu
  check(must(prices.get("cake")) == "4.50");
}
