// lapse-fault-helper STORE BOARD SEED ROUND: opens the store and commits from several threads, for ever.
// The kill test ends it.

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/try.h"
#include "fault_env.h"
#include "io_hooks.h"
#include "kill_load.h"

namespace lapse::fault {
namespace {

struct Load {
  engine::Engine& engine;
  KillBoard& board;
  uint64_t seed;
};

Status commit_one(const Load& load, int thread, uint64_t n) {
  KillBoard::Slot& slot = load.board.slots[thread];
  LAPSE_TRY_ASSIGN(const auto transaction, load.engine.begin());
  for (const KeyWrite& write : kill_commit(load.seed, thread, n)) {
    LAPSE_TRY(write.value ? transaction->put(write.key, *write.value) : transaction->erase(write.key));
  }
  slot.started = n;
  LAPSE_TRY_ASSIGN(const uint64_t sequence, transaction->commit());
  slot.acknowledged = n;
  std::atomic<uint64_t>& highest = load.board.acknowledged_sequence;
  uint64_t before = highest;
  while (before < sequence && !highest.compare_exchange_weak(before, sequence)) {
  }
  ++load.board.progress;
  return {};
}

Status commit_for_ever(const Load& load, int thread) {
  LAPSE_TRY_ASSIGN(const auto snapshot, load.engine.snapshot());
  LAPSE_TRY_ASSIGN(uint64_t n, commits_seen(*snapshot, thread));
  // Of rounds that nobody checks, their successor is the witness.
  if (n < load.board.slots[thread].acknowledged)
    return {StatusCode::kCorrupt, "thread " + std::to_string(thread) + " is back at " + std::to_string(n)};
  Random random(mix(load.seed, static_cast<uint64_t>(thread), n));
  while (true) {
    LAPSE_TRY(commit_one(load, thread, ++n));
    if (random.one_in(100)) LAPSE_TRY(load.engine.checkpoint());
    if (random.one_in(50)) LAPSE_TRY(load.engine.sync());
  }
}

// What a snapshot shows of a thread is the state after one of its commits.
Status read_for_ever(const Load& load) {
  for (int thread = 0;; thread = (thread + 1) % kKillThreads) {
    LAPSE_TRY_ASSIGN(const auto snapshot, load.engine.snapshot());
    LAPSE_TRY_ASSIGN(const uint64_t n, commits_seen(*snapshot, thread));
    for (const auto& [key, value] : kill_state(load.seed, thread, n)) {
      LAPSE_TRY_ASSIGN(const auto found, snapshot->get(key));
      if (found != value) return {StatusCode::kCorrupt, "a snapshot shows half a commit"};
    }
  }
}

int run(const std::string& store, const std::string& board_path, uint64_t seed, uint64_t round) {
  KillBoard& board = *map_board(board_path);
  const IoWatch watch(store.substr(0, store.rfind('/')));
  count_calls_in(&board.progress);
  auto opened = engine::open_local(store, kill_options(seed, round));
  if (!opened.ok()) {
    board.fail("open: " + opened.status().to_string());
    return 1;
  }
  const Load load{**opened, board, seed};
  const auto guarded = [&](const Status& ended) {
    board.fail(ended.to_string());
    _exit(1);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kKillThreads; ++i) {
    threads.emplace_back([&, i] { guarded(commit_for_ever(load, i)); });
  }
  threads.emplace_back([&] { guarded(read_for_ever(load)); });
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace
}  // namespace lapse::fault

int main(int count, char** arguments) {
  if (count != 5) return 2;
  return lapse::fault::run(arguments[1], arguments[2], std::strtoull(arguments[3], nullptr, 10),
                           std::strtoull(arguments[4], nullptr, 10));
}
