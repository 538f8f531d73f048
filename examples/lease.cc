// One worker of many does the job; if it dies, another takes over. The revision of the lease is a fencing token: what
// the job writes to can refuse an earlier holder that has not noticed that its time is over.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "lapse/store.h"
#include "must.h"

using namespace std::chrono_literals;

// The token, if the lease was free.
std::optional<uint64_t> take(lapse::Family& leases, const std::string& job, const std::string& worker) {
  if (!must(leases.put_if_absent(job, worker, 10s))) return std::nullopt;
  return must(leases.get_entry(job))->revision;
}

// Whether it is still ours, and so ours for another ten seconds.
bool renew(lapse::Store& store, lapse::Family& leases, const std::string& job, uint64_t token) {
  bool renewed = false;
  must(store.update([&](lapse::Transaction& transaction) -> lapse::Status {
    lapse::Family inside = transaction.in(leases);
    const auto entry = must(inside.get_entry(job));
    if (entry && entry->revision == token) renewed = must(inside.expire(job, 10s));
    return {};
  }));
  return renewed;
}

int main() {
  lapse::ManualClock clock(1'700'000'000'000);
  auto store = must(lapse::Store::open_in_memory({.clock = &clock}));
  auto leases = must(store.family_or_create("leases", {.revisions = true, .require_ttl = true}));

  const auto first = take(leases, "report", "worker-1");
  check(first.has_value() && !take(leases, "report", "worker-2"));
  clock.advance(8'000);
  check(renew(store, leases, "report", *first));
  clock.advance(10'000);  // worker-1 hangs
  const auto second = take(leases, "report", "worker-2");
  check(second.has_value() && *second > *first);
  check(!renew(store, leases, "report", *first));  // it finds out
  check(
      !must(leases.compare_and_erase_revision("report", *first)));  // and cannot give back what is another's
  check(must(leases.compare_and_erase_revision("report", *second)));
}
