// A cache in front of something slow: entries of an hour, varied a little, so that they do not all end at once.

#include <chrono>
#include <functional>
#include <string>

#include "lapse/store.h"
#include "must.h"

using namespace std::chrono_literals;

class Cache {
 public:
  explicit Cache(lapse::Store& store)
      : family_(must(store.family_or_create("cache", {.default_ttl = 1h, .jitter_percent = 10}))) {}

  std::string get(const std::string& key, const std::function<std::string()>& compute) {
    if (auto found = must(family_.get(key))) return *std::move(found);
    std::string value = compute();
    must(family_.put(key, value));
    return value;
  }

  // Everything that begins so: a user's pages, when the user changes.
  void forget(const std::string& prefix) { must(family_.erase_prefix(prefix)); }

 private:
  lapse::Family family_;
};

int main() {
  lapse::ManualClock clock(1'700'000'000'000);
  auto store = must(lapse::Store::open_in_memory({.clock = &clock}));
  Cache cache(store);
  int computed = 0;
  const auto page = [&] { return "page " + std::to_string(++computed); };

  check(cache.get("ada/home", page) == "page 1");
  check(cache.get("ada/home", page) == "page 1");
  cache.forget("ada/");
  check(cache.get("ada/home", page) == "page 2");
  clock.advance(66 * 60'000);  // an hour and ten percent
  check(cache.get("ada/home", page) == "page 3");
}
