// The load of the kill test: what each thread commits, as a function of its number alone, so that parent
// and child agree on it without a word; and the board on which the child lists what was acknowledged.

#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "engine/local/local_engine.h"
#include "history.h"

namespace lapse::fault {

inline constexpr int kKillThreads = 4;

// In a file that both processes map: it outlives the child, and has nothing to do with the store.
struct KillBoard {
  struct Slot {
    std::atomic<uint64_t> started{0};       // the thread's newest commit that may be there
    std::atomic<uint64_t> acknowledged{0};  // and the newest that must be
  };
  Slot slots[kKillThreads];
  std::atomic<uint64_t> acknowledged_sequence{0};  // the highest
  std::atomic<uint64_t> progress{0};               // calls and acknowledgements, of this round
  std::atomic<bool> failed{false};
  char error[4096];  // of a child that met what it must not

  void fail(const std::string& text);
};

// Maps the board at `path`, which must be there.
KillBoard* map_board(const std::string& path);
void create_board(const std::string& path);

// The n-th commit of a thread: several keys of its own, and always the one that says n.
Commit kill_commit(uint64_t seed, int thread, uint64_t n);
std::string counter_key(int thread);
// What the thread's keys hold after its n-th commit.
State kill_state(uint64_t seed, int thread, uint64_t n);
// The n of the thread's last commit in a reader's view; 0 if there is none.
Result<uint64_t> commits_seen(const engine::Reader& reader, int thread);

// The options of one round.
engine::LocalOptions kill_options(uint64_t seed, uint64_t round);

}  // namespace lapse::fault
