#include "bench/store_turn.h"

#include <algorithm>

namespace lapse::bench {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const StoreTurn& turn, Kind kind) {
  constexpr const char* kNames[] = {"permanent", "lifetimes", "mixed"};
  return turn.folders.loaded / kNames[static_cast<int>(kind)];
}

void open_in(const StoreTurn& turn, const fs::path& folder, Kind kind) {
  fs::create_directories(folder);
  turn.rival.open({.folder = folder, .store_ttl_ms = kind == Kind::kPermanent ? 0 : kLong.max_ms});
}

PutTiming load_one_sort(const StoreTurn& turn, const Lifetimes& lifetimes) {
  return time_puts(turn, Puts{turn.scale.entries, kPutsABatch, new_entry, 0}, lifetimes);
}

PutTiming load_mixed(const StoreTurn& turn) {
  const uint64_t half = turn.scale.entries / 2;
  put_entries(turn, 0, half, kForEver);
  put_entries(turn, half, turn.scale.entries, kLong);
  turn.rival.flush();
  return {};
}

PutTiming load_opened(const StoreTurn& turn, Kind kind) {
  switch (kind) {
    case Kind::kPermanent: return load_one_sort(turn, kForEver);
    case Kind::kLifetimes: return load_one_sort(turn, kLong);
    case Kind::kMixed: break;
  }
  return load_mixed(turn);
}

}  // namespace

PutTiming time_puts(const StoreTurn& turn, const Puts& puts, const Lifetimes& lifetimes) {
  return time_puts(
      turn.data, turn.scale.entries, puts,
      [&](std::span<const Entry> entries) { turn.rival.commit(entries, lifetimes); },
      [&] { turn.rival.flush(); });
}

void put_entries(const StoreTurn& turn, uint64_t from, uint64_t to, const Lifetimes& lifetimes) {
  Batch batch(turn.data, kPutsABatch);
  for (uint64_t index = from; index < to;) {
    const size_t count = std::min<uint64_t>(kPutsABatch, to - index);
    for (size_t place = 0; place < count; ++place, ++index) batch.set(place, index, 0);
    turn.rival.commit(std::span(batch.entries()).first(count), lifetimes);
  }
}

void open_empty(const StoreTurn& turn, Kind kind) { open_in(turn, turn.folders.empty, kind); }

PutTiming load(const StoreTurn& turn, Kind kind) {
  const fs::path folder = folder_of(turn, kind);
  fs::remove_all(folder);
  open_in(turn, folder, kind);
  const PutTiming timing = load_opened(turn, kind);
  rest_and_close(turn);
  settle_file_system(folder);
  return timing;
}

void open_loaded(const StoreTurn& turn, Kind kind) {
  const fs::path folder = folder_of(turn, kind);
  if (!fs::exists(folder)) load(turn, kind);
  open_in(turn, folder, kind);
}

void rest_and_close(const StoreTurn& turn) {
  turn.rival.settle();
  turn.rival.close();
}

}  // namespace lapse::bench
