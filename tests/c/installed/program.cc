// Built by installed_test.sh against the installed tree alone. Every public header, and a class of each kind.
#include <chrono>
#include <iostream>

#include "lapse/clock.h"
#include "lapse/durability.h"
#include "lapse/iterator.h"
#include "lapse/keyspace.h"
#include "lapse/kvstore.h"
#include "lapse/lifetime.h"
#include "lapse/options.h"
#include "lapse/status.h"
#include "lapse/store.h"

using namespace std::chrono_literals;

int main() {
  lapse::ManualClock clock(1'000);
  auto store = lapse::Store::open_in_memory({.clock = &clock});
  if (!store.ok()) return std::cerr << store.status().to_string() << "\n", 1;
  const lapse::Status done = store->update(
      [](lapse::Transaction& transaction) -> lapse::Status { return transaction.put("key", "value", 1s); });
  if (!done.ok()) return std::cerr << lapse::status_code_name(done.code()) << "\n", 1;
  lapse::WriteBatch batch;
  batch.put("other", "value");
  if (!store->write(batch).ok()) return 1;
  auto snapshot = store->snapshot();
  auto keys = snapshot->iterate();
  int seen = 0;
  for (; keys->valid(); keys->next()) ++seen;
  clock.advance(1'000);
  return seen == 2 && !store->get("key")->has_value() && kvstore_now_ms() > 0 ? 0 : 1;
}
