// A short tour of Lapse on a temporary store, with a clock that is turned by hand: lifetimes, leases, limits,
// history, transactions, and what is left after a reopen. `./run` builds and runs it.

#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>

#include "base/try.h"
#include "lapse/store.h"

namespace {

using namespace std::chrono_literals;
using lapse::Result;
using lapse::Status;
using lapse::Store;

// A folder in $TMPDIR or /tmp that goes with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    std::string pattern = (std::filesystem::temp_directory_path(error) / "lapse-tour-XXXXXX").string();
    if (!error && ::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Empty if none could be made.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// One line of the story: what was done, and what came of it.
void tell(std::string_view what, std::string_view outcome) {
  std::cout << "  " << std::left << std::setw(50) << what << " " << outcome << "\n";
}

void chapter(std::string_view title) { std::cout << title << "\n"; }

Result<std::string> show(const lapse::Reader& reader, std::string_view key) {
  LAPSE_TRY_ASSIGN(auto value, reader.get(key));
  return value.value_or("(absent)");
}

std::string seconds(std::chrono::milliseconds time) { return std::to_string(time / 1s) + " s"; }

Status lifetimes(Store& store, lapse::ManualClock& clock) {
  chapter("A key with deadline D is visible at t if and only if t < D");
  LAPSE_TRY(store.put("session:42", "ada", 30min));
  clock.advance(29 * 60'000 + 59'999);
  LAPSE_TRY_ASSIGN(auto left, store.ttl("session:42"));
  tell("30 minutes, but for the last millisecond",
       left ? std::to_string(left->count()) + " ms left" : "gone");
  LAPSE_TRY_ASSIGN(auto touched, store.touch("session:42", 30min));
  tell("touch it for another 30 minutes", touched ? seconds(touched->left) + " left" : "gone");
  clock.advance(30 * 60'000);
  LAPSE_TRY_ASSIGN(const std::string after, show(store, "session:42"));
  tell("30 minutes later", after);
  return {};
}

Status leases_and_limits(Store& store, lapse::ManualClock& clock) {
  chapter("Leases and limits are one call each");
  LAPSE_TRY_ASSIGN(const bool first, store.put_if_absent("lease", "worker-1", 10s));
  LAPSE_TRY_ASSIGN(const bool second, store.put_if_absent("lease", "worker-2", 10s));
  tell("two workers want a lease for 10 s", first && !second ? "the first one has it" : "strange");
  clock.advance(10'000);
  LAPSE_TRY_ASSIGN(const bool third, store.put_if_absent("lease", "worker-2", 10s));
  tell("the second tries again 10 s later", third ? "now it has it" : "strange");
  int allowed = 0;
  for (int call = 0; call < 8; ++call) {
    LAPSE_TRY_ASSIGN(auto count, store.increment("calls:ada", 1, {.lifetime = 1min, .max = 5}));
    allowed += count.applied ? 1 : 0;
  }
  tell("8 calls, 5 a minute allowed", std::to_string(allowed) + " went through");
  return {};
}

Status time_travel(Store& store, lapse::ManualClock& clock) {
  chapter("A family with history remembers what its keys held, and when");
  LAPSE_TRY_ASSIGN(auto docs,
                   store.create_family("docs", {.history = lapse::HistoryPolicy{.keep_last = 10}}));
  const int64_t noon = clock.now_ms();
  LAPSE_TRY(docs.put("motto", "carpe diem"));
  clock.advance(3'600'000);
  LAPSE_TRY(docs.put("motto", "tempus fugit", 1h));
  clock.advance(2 * 3'600'000);
  LAPSE_TRY_ASSIGN(const std::string now, show(docs, "motto"));
  LAPSE_TRY_ASSIGN(auto at_one, docs.get_at("motto", noon + 3'600'000));
  LAPSE_TRY_ASSIGN(auto at_noon, docs.get_at("motto", noon));
  tell("at noon, at one, now", at_noon.value_or("?") + ", " + at_one.value_or("?") + ", " + now);
  LAPSE_TRY(docs.restore("motto", noon));
  LAPSE_TRY_ASSIGN(const std::string restored, show(docs, "motto"));
  LAPSE_TRY_ASSIGN(auto revisions, docs.history("motto"));
  tell("restore what it was at noon",
       restored + ", as revision " + std::to_string(revisions.front().revision));
  return {};
}

Status transactions(Store& store) {
  chapter("A transaction is all or nothing");
  LAPSE_TRY_ASSIGN(auto before, store.snapshot());
  LAPSE_TRY(store.update([](lapse::Transaction& transaction) -> Status {
    LAPSE_TRY(transaction.put("fruit/apple", "red"));
    const lapse::Savepoint savepoint = transaction.savepoint();
    LAPSE_TRY(transaction.put("fruit/apple", "blue"));
    return transaction.rollback_to(savepoint);
  }));
  LAPSE_TRY_ASSIGN(const std::string then, show(before, "fruit/apple"));
  LAPSE_TRY_ASSIGN(const std::string now, show(store, "fruit/apple"));
  tell("the apple, in a snapshot from before, and now", then + ", " + now);
  return {};
}

Status purging(Store& store, lapse::ManualClock& clock) {
  chapter("Removing what is due costs as much as there is to remove");
  for (int i = 0; i < 10'000; ++i) {
    LAPSE_TRY(store.put("code:" + std::to_string(i), "123456", i < 1000 ? 1min : 1h));
  }
  LAPSE_TRY_ASSIGN(auto forecast, store.forecast(30min, 3));
  tell("10,000 codes: due in 30, 60, 90 minutes",
       std::to_string(forecast[0]) + ", " + std::to_string(forecast[1]) + ", " + std::to_string(forecast[2]));
  clock.advance(60'000);
  LAPSE_TRY_ASSIGN(const lapse::PurgeResult purged, store.purge_expired());
  tell("a minute later, purge", std::to_string(purged.removed) + " removed");
  return {};
}

Status reopen(const std::string& path, lapse::ManualClock& clock) {
  chapter("After a reopen everything is there, deadlines and history too");
  LAPSE_TRY_ASSIGN(auto store, Store::open(path, {.create_if_missing = false, .clock = &clock}));
  LAPSE_TRY_ASSIGN(auto docs, store.family("docs"));
  LAPSE_TRY_ASSIGN(auto left, store.ttl("code:5000"));
  LAPSE_TRY_ASSIGN(auto revisions, docs.history("motto"));
  tell("a code's time left, the motto's revisions",
       (left ? seconds(*left) : "gone") + ", " + std::to_string(revisions.size()));
  LAPSE_TRY(store.verify());
  tell("verify every entry, deadline, page and checksum", "ok");
  return store.close();
}

Status tour(const std::string& path) {
  std::cout << "A tour of Lapse, on a store of its own in " << path << "\n\n";
  lapse::ManualClock clock(1'700'000'000'000);
  {
    LAPSE_TRY_ASSIGN(auto store, Store::open(path, {.clock = &clock}));
    LAPSE_TRY(lifetimes(store, clock));
    LAPSE_TRY(leases_and_limits(store, clock));
    LAPSE_TRY(time_travel(store, clock));
    LAPSE_TRY(transactions(store));
    LAPSE_TRY(purging(store, clock));
    LAPSE_TRY(store.close());
  }
  return reopen(path, clock);
}

}  // namespace

int main() {
  const TemporaryFolder folder;
  if (folder.path().empty()) {
    std::cerr << "lapse-tour: no temporary folder can be made\n";
    return 1;
  }
  const Status status = tour(folder.path() + "/tour.db");
  if (!status.ok()) std::cerr << "lapse-tour: " << status.to_string() << "\n";
  return status.ok() ? 0 : 1;
}
