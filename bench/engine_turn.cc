#include "bench/engine_turn.h"

#include "bench/scratch.h"

namespace lapse::bench {

PutTiming time_puts(const Turn& turn, const Puts& puts) {
  return time_puts(
      turn.data, turn.scale.entries, puts,
      [&](std::span<const Entry> entries) { turn.rival.commit(entries); }, [&] { turn.rival.flush(); });
}

PutTiming load(const Turn& turn) {
  std::filesystem::create_directories(turn.loaded);
  turn.rival.open({.folder = turn.loaded});
  const PutTiming timing = time_puts(turn, {turn.scale.entries, kPutsABatch, new_entry, 0});
  rest_and_close(turn);
  settle_file_system(turn.loaded);
  return timing;
}

void make_sure_it_is_loaded(const Turn& turn) {
  if (!std::filesystem::exists(turn.loaded)) load(turn);
}

void open_loaded(const Turn& turn, bool drain_constantly) {
  make_sure_it_is_loaded(turn);
  turn.rival.open({.folder = turn.loaded, .drain_constantly = drain_constantly});
}

void rest_and_close(const Turn& turn) {
  turn.rival.settle();
  turn.rival.close();
}

}  // namespace lapse::bench
