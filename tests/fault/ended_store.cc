#include "ended_store.h"

#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <utility>

#include "base/try.h"
#include "fault_env.h"
#include "io_hooks.h"
#include "jobs.h"
#include "store_driver.h"

namespace lapse::fault {
namespace {

// Finds each commit's record by its token, and tells the parent through a file.
void write_places(const IoRecord& record, const History& history, const std::string& path) {
  std::map<int, std::string> names;
  std::ofstream out(path);
  int file = 0;
  for (const auto& [name, contents] : record.initial) names[file++] = name;
  for (const IoEvent& event : record.events) {
    if (event.kind == IoEventKind::kCreate) names[event.file] = event.name;
    if (event.kind == IoEventKind::kRename) names[event.file] = event.new_name;
    const bool writes = event.kind == IoEventKind::kWrite || event.kind == IoEventKind::kMappedStore;
    if (!writes || names[event.file].find("-journal") == std::string::npos) continue;
    for (uint64_t i = 1; i <= history.size(); ++i) {
      if (event.bytes.find(history.commit(i)[0].key) == std::string::npos) continue;
      out << i << ' ' << names[event.file] << ' ' << event.offset << ' ' << event.bytes.size() << '\n';
    }
  }
}

std::vector<RecordPlace> read_places(const std::string& path, uint64_t commits) {
  std::vector<RecordPlace> places(commits + 1);
  std::ifstream in(path);
  uint64_t sequence = 0;
  RecordPlace place;
  while (in >> sequence >> place.file >> place.offset >> place.bytes) places[sequence] = place;
  for (uint64_t i = 1; i <= commits; ++i) {
    if (places[i].file.empty()) throw std::runtime_error("a commit without a journal record");
  }
  return places;
}

void live_and_end(const std::string& directory, const std::string& places_path,
                  const engine::LocalOptions& options, const std::vector<Commit>& commits, Ending ending,
                  Report& report) {
  IoWatch watch(directory);
  StoreDriver driver(directory + "/" + kStoreName, 1);
  Status status = driver.open(options);
  for (const Commit& commit : commits) {
    if (status.ok()) status = driver.commit(commit);
  }
  if (status.ok() && ending == Ending::kClosed) status = driver.close();
  if (!status.ok()) return report.fail(status.to_string());
  write_places(watch.take(), driver.history(), places_path);
  if (ending == Ending::kKilled) kill(getpid(), SIGKILL);
}

}  // namespace

EndedStore make_ended_store(const engine::LocalOptions& options, const std::vector<Commit>& commits,
                            Ending ending) {
  const ScratchDir dir;
  const std::string directory = dir.file("store");
  std::filesystem::create_directory(directory);
  const ChildResult child = run_in_child(60, [&](Report& report) {
    live_and_end(directory, dir.file("places"), options, commits, ending, report);
  });
  const bool as_meant = ending == Ending::kKilled ? child.signal == SIGKILL : child.ok();
  if (!as_meant) throw std::runtime_error("making a store: " + child.describe());
  EndedStore store{.files = read_directory(directory), .history = {}, .places = {}};
  for (const Commit& commit : commits) store.history.add(commit);
  store.places = read_places(dir.file("places"), commits.size());
  return store;
}

Reopened reopen_and_check(const std::string& directory, const History& history,
                          const engine::LocalOptions& options) {
  Reopened result;
  StoreDriver driver(directory + "/" + kStoreName, history.size() + 7, history);
  result.open = driver.open(options);
  if (!driver.is_open()) return result;
  if (!result.open.ok()) {  // it did open, but shows what never was
    result.wrong = std::exchange(result.open, Status());
    return result;
  }
  result.last_sequence = driver.history().size();
  const auto use = [&]() -> Status {
    LAPSE_TRY(driver.engine().verify());
    LAPSE_TRY(driver.commit_random());
    LAPSE_TRY(driver.check_state());
    return driver.close();
  };
  result.wrong = use();
  return result;
}

}  // namespace lapse::fault
