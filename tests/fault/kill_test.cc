// kill -9 under load: the store is carried on from round to round, with other options each time; the
// acknowledged commits are listed outside of it. None is lost, and nothing is half there.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "base/try.h"
#include "fault_env.h"
#include "kill_load.h"
#include "store_driver.h"

namespace lapse::fault {
namespace {

class KillTest : public testing::Test {
 protected:
  void SetUp() override {
    seed_ = test_seed();
    create_board(dir_.file("board"));
    board_ = map_board(dir_.file("board"));
    ASSERT_TRUE(std::filesystem::create_directory(dir_.file("store")));
  }

  pid_t start_child(uint64_t round) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    const std::string helper = self.substr(0, self.rfind('/')) + "/lapse-fault-helper";
    const std::string board = dir_.file("board");
    const std::string seed = std::to_string(seed_);
    const std::string round_text = std::to_string(round);
    const pid_t pid = fork();
    if (pid == 0) {
      execl(helper.c_str(), helper.c_str(), path_.c_str(), board.c_str(), seed.c_str(), round_text.c_str(),
            nullptr);
      _exit(127);
    }
    return pid;
  }

  // Kills the child once it has made so much progress, and a moment later.
  void kill_at(pid_t pid, uint64_t progress, uint64_t moment) {
    while (board_->progress < progress && !board_->failed) {
      int status = 0;
      ASSERT_EQ(waitpid(pid, &status, WNOHANG), 0) << "the child ended: " << board_->error;
      sched_yield();
    }
    for (uint64_t left = moment; left > 0; --left) sched_yield();
    kill(pid, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    ASSERT_FALSE(board_->failed) << board_->error;
  }

  // Opens what the child left, and compares it with the board.
  Status check_store(uint64_t round) {
    LAPSE_TRY_ASSIGN(const auto engine, engine::open_local(path_, kill_options(seed_, round)));
    LAPSE_TRY_ASSIGN(const auto snapshot, engine->snapshot());
    State expected;
    uint64_t commits = 0;
    for (int thread = 0; thread < kKillThreads; ++thread) {
      LAPSE_TRY_ASSIGN(const uint64_t n, commits_seen(*snapshot, thread));
      KillBoard::Slot& slot = board_->slots[thread];
      if (n < slot.acknowledged || n > slot.started) {
        return {StatusCode::kCorrupt, "thread " + std::to_string(thread) + " is at " + std::to_string(n) +
                                          ", between " + std::to_string(slot.acknowledged) + " and " +
                                          std::to_string(slot.started) + " are possible"};
      }
      commits += n;
      slot.started = slot.acknowledged = n;  // it was shown: from now on it must be there
      expected.merge(kill_state(seed_, thread, n));
    }
    LAPSE_TRY_ASSIGN(const State found, read_all(*engine));
    if (found != expected) return {StatusCode::kCorrupt, difference(expected, found)};
    const uint64_t last = engine->stats().last_sequence;
    if (last != commits || last < board_->acknowledged_sequence) {
      return {StatusCode::kCorrupt, "commits are numbered up to " + std::to_string(last) + ", but " +
                                        std::to_string(commits) + " are there, and " +
                                        std::to_string(board_->acknowledged_sequence) + " was acknowledged"};
    }
    return engine->verify();
  }

  const ScratchDir dir_{disk_directory()};
  const std::string path_ = dir_.file("store") + "/my.db";
  uint64_t seed_ = 0;
  KillBoard* board_ = nullptr;
};

TEST_F(KillTest, NothingAcknowledgedIsLostAndNothingIsHalfThere) {
  const uint64_t rounds = count_from_env("LAPSE_KILL_ROUNDS", 240, 40);
  Random random(seed_);
  uint64_t checked = 0;
  for (uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + ": " + describe(kill_options(seed_, round)));
    board_->progress = 0;
    // Every third one while it opens or a little later; the others under load.
    const uint64_t progress = random.one_in(3) ? random.below(60) : random.below(700);
    const pid_t pid = start_child(round);
    ASSERT_GT(pid, 0);
    ASSERT_NO_FATAL_FAILURE(kill_at(pid, progress, random.below(50)));
    // Now and then the next child has to recover what this one left, and may be killed doing so.
    if (random.one_in(3) && round + 1 < rounds) continue;
    const Status status = check_store(round + 1'000'000);
    ASSERT_TRUE(status.ok()) << status.to_string();
    ++checked;
  }
  std::printf("%lu rounds, %lu checked, %lu commits\n", rounds, checked,
              board_->acknowledged_sequence.load());
  EXPECT_GT(board_->acknowledged_sequence, rounds);
}

}  // namespace
}  // namespace lapse::fault
