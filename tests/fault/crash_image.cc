#include "crash_image.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace lapse::fault {

std::string_view cut_style_name(CutStyle style) {
  static constexpr std::string_view kNames[kCutStyles] = {"nothing",      "everything",  "prefix",
                                                          "whole writes", "torn writes", "sectors",
                                                          "mixed",        "all but one", "only one"};
  return kNames[static_cast<int>(style)];
}

// Which of the uncertain changes landed: a function of event and sector, so that it needs no
// memory.
struct DiskModel::Choice {
  CutStyle style;
  uint64_t seed;
  size_t event = 0;       // the one that kPrefix, kAllButOne and kOnlyOne single out
  uint64_t percent = 50;  // of what lands, where each is on its own
  const IoRecord* record = nullptr;

  bool chance(uint64_t a, uint64_t b, uint64_t of_100) const { return mix(seed, a, b) % 100 < of_100; }

  bool torn_lands(size_t at, uint64_t sector) const {
    const IoEvent& event_at = record->events[at];
    const uint64_t first = event_at.offset / kSectorBytes;
    const uint64_t count = event_at.bytes.size() / kSectorBytes + 2;
    const uint64_t boundary = first + mix(seed, at, 1) % count;
    switch (mix(seed, at, 2) % 4) {
      case 0: return sector < boundary;
      case 1: return sector >= boundary;
      case 2: return chance(at, sector + 100, 50);
      default: return chance(at, 3, 50);  // not torn
    }
  }

  bool lands(size_t at, uint64_t sector) const {
    switch (style) {
      case CutStyle::kNothing: return false;
      case CutStyle::kEverything: return true;
      case CutStyle::kPrefix: return at == event ? torn_lands(at, sector) : at < event;
      case CutStyle::kWholeWrites: return chance(at, 0, percent);
      case CutStyle::kTornWrites: return torn_lands(at, sector);
      case CutStyle::kSectors:
      case CutStyle::kMixed: return chance(at, sector + 100, percent);
      case CutStyle::kAllButOne: return at != event || (seed % 2 == 0 && torn_lands(at, sector));
      case CutStyle::kOnlyOne: return at == event && (seed % 2 == 0 || torn_lands(at, sector));
    }
    return false;
  }

  // For sizes and directory entries, which have no sectors.
  bool lands(size_t at) const { return lands(at, record->events[at].offset / kSectorBytes); }
};

DiskModel::DiskModel(const IoRecord& record) : record_(record) {
  int id = 0;
  for (const auto& [name, contents] : record.initial) {
    files_[id] = {.durable = contents, .size = contents.size(), .sectors = {}, .sizes = {}};
    durable_names_[name] = id++;
  }
}

void DiskModel::advance_to(size_t cut) {
  for (; position_ < cut; ++position_) apply(position_, record_.events[position_]);
}

void DiskModel::apply(size_t index, const IoEvent& event) {
  switch (event.kind) {
    case IoEventKind::kCreate: files_[event.file] = {}; [[fallthrough]];
    case IoEventKind::kRename:
    case IoEventKind::kUnlink: directory_events_.push_back(index); break;
    case IoEventKind::kResize: add_resize(files_[event.file], index, event.offset); break;
    case IoEventKind::kWrite:
    case IoEventKind::kMappedStore:
      add_bytes(files_[event.file], index, event.offset, event.bytes.size(), event.bytes.data());
      break;
    case IoEventKind::kSynced:
      if (event.file == kDirectory) {
        settle_directory(event.begin);
      } else {
        settle_file(files_[event.file], event.begin);
      }
      break;
    case IoEventKind::kWriteSynced: settle_write(files_[event.file], event.begin); break;
    case IoEventKind::kSyncFailed:
      if (event.file != kDirectory) lose(files_[event.file], event.begin);
      break;
    case IoEventKind::kWriteFailed: lose(files_[event.file], event.begin + 1); break;
    case IoEventKind::kSyncBegin:
    case IoEventKind::kMark: break;
  }
}

void DiskModel::add_bytes(File& file, size_t event, uint64_t offset, uint64_t size, const char* bytes) {
  for (uint64_t done = 0; done < size;) {
    const uint64_t at = offset + done;
    const uint64_t in_sector = at % kSectorBytes;
    const uint64_t part = std::min(kSectorBytes - in_sector, size - done);
    file.sectors[at / kSectorBytes].push_back({.event = event,
                                               .begin = static_cast<uint32_t>(in_sector),
                                               .end = static_cast<uint32_t>(in_sector + part),
                                               .bytes = bytes == nullptr ? nullptr : bytes + done});
    done += part;
  }
  if (offset + size > file.size) {
    file.size = offset + size;
    file.sizes.push_back({.event = event, .size = file.size});
  }
}

void DiskModel::add_resize(File& file, size_t event, uint64_t size) {
  if (size < file.size) {  // what was there is gone, and reads as zeros if the file grows again
    add_bytes(file, event, size, file.size - size, nullptr);
  }
  file.size = size;
  file.sizes.push_back({.event = event, .size = size});
}

void DiskModel::apply_piece(const Piece& piece, uint64_t sector, std::string& to) {
  const uint64_t begin = sector * kSectorBytes + piece.begin;
  const uint64_t end = std::min<uint64_t>(sector * kSectorBytes + piece.end, to.size());
  if (begin >= end) return;
  if (piece.bytes == nullptr) {
    std::memset(to.data() + begin, 0, end - begin);
  } else {
    std::memcpy(to.data() + begin, piece.bytes, end - begin);
  }
}

// Everything before `begin` is on disk, apart from what an earlier sync lost. A piece that is on disk
// brings the lost ones before it in its sector along, since sectors are written whole; and the file
// reaches as far as it does, even if the growth by an earlier write was lost.
void DiskModel::settle_file(File& file, size_t begin) {
  const auto certain = [begin](const auto& change) { return change.event < begin && !change.lost; };
  size_t sized_by = 0;
  const auto last_size = std::find_if(file.sizes.rbegin(), file.sizes.rend(), certain);
  if (last_size != file.sizes.rend()) {
    sized_by = last_size->event;
    file.durable.resize(last_size->size);
    file.sizes.erase(file.sizes.begin(), last_size.base());
  }
  for (auto at = file.sectors.begin(); at != file.sectors.end();) {
    auto& [sector, pieces] = *at;
    const auto end = std::find_if(pieces.rbegin(), pieces.rend(), certain).base();
    for (auto piece = pieces.begin(); piece != end; ++piece) {
      const uint64_t piece_end = sector * kSectorBytes + piece->end;
      if (piece->event >= sized_by && piece->bytes != nullptr && piece_end > file.durable.size()) {
        file.durable.resize(piece_end);
      }
      apply_piece(*piece, sector, file.durable);
    }
    pieces.erase(pieces.begin(), end);
    at = pieces.empty() ? file.sectors.erase(at) : std::next(at);
  }
}

void DiskModel::settle_write(File& file, size_t event) {
  const auto after = [event](const auto& change) { return change.event > event; };
  const IoEvent& write = record_.events[event];
  const auto size_end = std::find_if(file.sizes.begin(), file.sizes.end(), after);
  if (size_end != file.sizes.begin()) {
    file.durable.resize(std::prev(size_end)->size);
    file.sizes.erase(file.sizes.begin(), size_end);
  }
  const uint64_t last = (write.offset + write.bytes.size() - 1) / kSectorBytes;
  for (uint64_t sector = write.offset / kSectorBytes; sector <= last; ++sector) {
    const auto found = file.sectors.find(sector);
    if (found == file.sectors.end()) continue;
    std::vector<Piece>& pieces = found->second;
    const auto end = std::find_if(pieces.begin(), pieces.end(), after);
    for (auto piece = pieces.begin(); piece != end; ++piece) {
      apply_piece(*piece, sector, file.durable);
    }
    pieces.erase(pieces.begin(), end);
    if (pieces.empty()) file.sectors.erase(found);
  }
}

void DiskModel::lose(File& file, size_t begin) {
  for (auto& [sector, pieces] : file.sectors) {
    for (Piece& piece : pieces) piece.lost |= piece.event < begin;
  }
  for (Size& size : file.sizes) size.lost |= size.event < begin;
}

namespace {

void apply_to_names(const IoEvent& event, std::map<std::string, int>& names) {
  if (event.kind != IoEventKind::kCreate) names.erase(event.name);
  if (event.kind == IoEventKind::kCreate) names[event.name] = event.file;
  if (event.kind == IoEventKind::kRename) names[event.new_name] = event.file;
}

}  // namespace

void DiskModel::settle_directory(size_t begin) {
  const auto end = std::lower_bound(directory_events_.begin(), directory_events_.end(), begin);
  for (auto at = directory_events_.begin(); at != end; ++at) {
    apply_to_names(record_.events[*at], durable_names_);
  }
  directory_events_.erase(directory_events_.begin(), end);
}

std::vector<size_t> DiskModel::uncertain_events() const {
  std::set<size_t> events(directory_events_.begin(), directory_events_.end());
  for (const auto& [id, file] : files_) {
    for (const auto& [sector, pieces] : file.sectors) {
      for (const Piece& piece : pieces) events.insert(piece.event);
    }
    for (const Size& size : file.sizes) events.insert(size.event);
  }
  return {events.begin(), events.end()};
}

DiskModel::Choice DiskModel::choose(CutStyle style, uint64_t seed) const {
  static constexpr uint64_t kPercents[] = {5, 25, 50, 75, 95};
  Choice choice{.style = style, .seed = seed, .record = &record_};
  choice.percent = kPercents[mix(seed, 11) % std::size(kPercents)];
  const bool singles_out =
      style == CutStyle::kPrefix || style == CutStyle::kAllButOne || style == CutStyle::kOnlyOne;
  if (!singles_out) return choice;
  const std::vector<size_t> events = uncertain_events();
  if (!events.empty()) choice.event = events[mix(seed, 12) % events.size()];
  return choice;
}

FileImage DiskModel::image(CutStyle style, uint64_t seed) const {
  const Choice choice = choose(style, seed);
  FileImage result;
  for (const auto& [name, id] : names_image(choice)) {
    result[name] = file_image(files_.at(id), choice);
  }
  return result;
}

namespace {

// Applies only some of the piece, in units of 1, 8 or 64 bytes: a store caught in the middle.
template <typename Piece>
void apply_some(const Piece& piece, uint64_t sector_begin, uint64_t seed, std::string& to) {
  static constexpr uint64_t kUnits[] = {1, 8, 64};
  const uint64_t unit = kUnits[seed % std::size(kUnits)];
  for (uint64_t at = piece.begin; at < piece.end; ++at) {
    if (sector_begin + at >= to.size()) return;
    if (mix(seed, at / unit) % 2 == 0) continue;
    to[sector_begin + at] = piece.bytes == nullptr ? '\0' : piece.bytes[at - piece.begin];
  }
}

}  // namespace

std::string DiskModel::file_image(const File& file, const Choice& choice) const {
  std::string result = file.durable;
  for (const Size& size : file.sizes) {
    if (choice.lands(size.event)) result.resize(size.size);
  }
  for (const auto& [sector, pieces] : file.sectors) {
    size_t landed = pieces.size();  // the latest that landed brings those before it along
    while (landed > 0 && !choice.lands(pieces[landed - 1].event, sector)) --landed;
    for (size_t i = 0; i < landed; ++i) apply_piece(pieces[i], sector, result);
    if (choice.style != CutStyle::kMixed || landed == pieces.size()) continue;
    const Piece& next = pieces[landed];
    if (record_.events[next.event].kind != IoEventKind::kMappedStore) continue;
    apply_some(next, sector * kSectorBytes, mix(choice.seed, next.event, sector), result);
  }
  return result;
}

// A change happens only if those before it that concern the same names did.
std::map<std::string, int> DiskModel::names_image(const Choice& choice) const {
  std::map<std::string, int> names = durable_names_;
  std::set<std::string> stuck;
  for (const size_t at : directory_events_) {
    const IoEvent& event = record_.events[at];
    const bool blocked = stuck.contains(event.name) || stuck.contains(event.new_name);
    if (!blocked && choice.lands(at)) {
      apply_to_names(event, names);
      continue;
    }
    stuck.insert(event.name);
    if (!event.new_name.empty()) stuck.insert(event.new_name);
  }
  return names;
}

std::string check_replay(const IoRecord& record) {
  DiskModel model(record);
  model.advance_to(record.events.size());
  const FileImage replayed = model.page_cache();
  const FileImage real = read_directory(record.directory);
  const auto uninteresting = [](const std::string& name) { return name.ends_with("-lock"); };
  for (const auto& [name, contents] : real) {
    if (uninteresting(name)) continue;
    const auto found = replayed.find(name);
    if (found == replayed.end()) return name + " is there, but nothing in the record created it";
    if (found->second.size() != contents.size()) {
      return name + " has " + std::to_string(contents.size()) + " bytes, the record says " +
             std::to_string(found->second.size());
    }
    const auto differs = std::mismatch(contents.begin(), contents.end(), found->second.begin());
    if (differs.first != contents.end()) {
      return name + " was changed at " + std::to_string(differs.first - contents.begin()) +
             " by something that is not in the record";
    }
  }
  for (const auto& [name, contents] : replayed) {
    if (!real.contains(name)) return name + " is gone, but nothing in the record removed it";
  }
  return "";
}

}  // namespace lapse::fault
