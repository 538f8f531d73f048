#include "io_record.h"

#include <cstddef>
#include <map>

namespace lapse::fault {

const char* io_event_name(IoEventKind kind) {
  static constexpr const char* kNames[] = {"create",      "rename",       "unlink",       "resize",
                                           "write",       "mapped store", "sync begin",   "synced",
                                           "sync failed", "write synced", "write failed", "mark"};
  return kNames[static_cast<int>(kind)];
}

namespace {

// The names in the directory after the first `cut` events.
std::map<std::string, int> names_at(const IoRecord& record, size_t cut) {
  std::map<std::string, int> names;
  int file = 0;
  for (const auto& [name, contents] : record.initial) names[name] = file++;
  for (size_t i = 0; i < cut; ++i) {
    const IoEvent& event = record.events[i];
    if (event.kind == IoEventKind::kRename || event.kind == IoEventKind::kUnlink) {
      names.erase(event.name);
    }
    if (event.kind == IoEventKind::kCreate) names[event.name] = event.file;
    if (event.kind == IoEventKind::kRename) names[event.new_name] = event.file;
  }
  return names;
}

int file_count(const IoRecord& record) {
  auto count = static_cast<int>(record.initial.size());
  for (const IoEvent& event : record.events) count += event.kind == IoEventKind::kCreate ? 1 : 0;
  return count;
}

}  // namespace

IoRecord continue_record(const IoRecord& first, size_t cut, const IoRecord& second) {
  const std::map<std::string, int> names = names_at(first, cut);
  std::vector<int> numbers;  // in the joined record, by number in the second
  for (const auto& [name, contents] : second.initial) numbers.push_back(names.at(name));
  int next = file_count(first);

  IoRecord joined{first.directory,
                  first.initial,
                  {first.events.begin(), first.events.begin() + static_cast<std::ptrdiff_t>(cut)}};
  for (IoEvent event : second.events) {
    if (event.kind == IoEventKind::kCreate) numbers.push_back(next++);
    if (event.kind != IoEventKind::kMark && event.file != kDirectory) {
      event.file = numbers[static_cast<size_t>(event.file)];
    }
    event.begin += cut;  // of no meaning where it is not set
    joined.events.push_back(std::move(event));
  }
  return joined;
}

}  // namespace lapse::fault
