// The harness on LMDB alone: with its default sync flags no image is wrong, without syncs many are.
// So the recording of a real library's calls and the model of the disk are right, and see what is
// wrong.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <lmdb.h>

#include <atomic>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

#include "crash_image.h"
#include "fault_env.h"
#include "history.h"
#include "io_hooks.h"
#include "jobs.h"

namespace lapse::fault {
namespace {

void check(int code) {
  if (code != 0) throw std::runtime_error(mdb_strerror(code));
}

class Lmdb {
 public:
  Lmdb(const std::string& path, unsigned flags) {
    check(mdb_env_create(&env_));
    check(mdb_env_set_mapsize(env_, 16 << 20));
    check(mdb_env_open(env_, path.c_str(), MDB_NOSUBDIR | MDB_NOTLS | flags, 0644));
  }
  ~Lmdb() { mdb_env_close(env_); }
  Lmdb(const Lmdb&) = delete;
  Lmdb& operator=(const Lmdb&) = delete;

  void commit(const Commit& writes) {
    MDB_txn* txn = nullptr;
    MDB_dbi dbi = 0;
    check(mdb_txn_begin(env_, nullptr, 0, &txn));
    check(mdb_dbi_open(txn, nullptr, 0, &dbi));
    for (const KeyWrite& write : writes) {
      MDB_val key = as_val(write.key);
      if (write.value) {
        MDB_val value = as_val(*write.value);
        check(mdb_put(txn, dbi, &key, &value, 0));
      } else if (const int code = mdb_del(txn, dbi, &key, nullptr); code != MDB_NOTFOUND) {
        check(code);
      }
    }
    check(mdb_txn_commit(txn));
  }

  State read_all() {
    MDB_txn* txn = nullptr;
    MDB_dbi dbi = 0;
    MDB_cursor* cursor = nullptr;
    check(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn));
    check(mdb_dbi_open(txn, nullptr, 0, &dbi));
    check(mdb_cursor_open(txn, dbi, &cursor));
    State state;
    MDB_val key;
    MDB_val value;
    int code = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    for (; code == 0; code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
      state.emplace(std::string(static_cast<char*>(key.mv_data), key.mv_size),
                    std::string(static_cast<char*>(value.mv_data), value.mv_size));
    }
    if (code != MDB_NOTFOUND) check(code);
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
    return state;
  }

 private:
  static MDB_val as_val(const std::string& bytes) { return {bytes.size(), const_cast<char*>(bytes.data())}; }
  MDB_env* env_ = nullptr;
};

Commit random_commit(Random& random) {
  Commit commit;
  for (uint64_t i = random.between(1, 8); i > 0; --i) {
    const std::string key = "key" + std::to_string(random.below(200));
    if (random.one_in(4)) {
      commit.push_back({key, std::nullopt});
    } else {
      commit.push_back({key, random.bytes(random.below(random.one_in(8) ? 6000 : 100))});
    }
  }
  return commit;
}

// Commits at random under watch; then opens `images` images. Says how many were not exactly the
// state after the last acknowledged commit (or after the one that was under way).
struct Tally {
  std::atomic<uint64_t> images{0};
  std::atomic<uint64_t> wrong{0};
};

std::string check_image(const ScratchDir& dir, const History& history, uint64_t acknowledged) {
  try {
    const State found = Lmdb(dir.file("db"), MDB_RDONLY).read_all();
    for (const uint64_t n : {acknowledged, acknowledged + 1}) {
      if (n <= history.size() && found == history.state_after(n)) return "";
    }
    return difference(history.state_after(acknowledged), found);
  } catch (const std::exception& error) {
    return error.what();
  }
}

void cut_lmdb(uint64_t seed, unsigned flags, uint64_t images, Tally& tally) {
  const ScratchDir dir;
  Random random(seed);
  History history;
  { const Lmdb created(dir.file("db"), 0); }
  IoWatch watch(dir.path());
  {
    Lmdb lmdb(dir.file("db"), flags);
    for (int i = 1; i <= 40; ++i) {
      history.add(random_commit(random));
      lmdb.commit(history.commit(static_cast<uint64_t>(i)));
      io_mark(Mark::kDurable, static_cast<uint64_t>(i));
    }
  }
  const IoRecord record = watch.take();
  if (const std::string why = check_replay(record); !why.empty()) throw std::runtime_error(why);

  DiskModel model(record);
  uint64_t acknowledged = 0;
  for (size_t cut = 0; cut < record.events.size(); ++cut) {
    if (record.events[cut].kind == IoEventKind::kMark) acknowledged = record.events[cut].value;
    model.advance_to(cut + 1);
    const uint64_t here = images * (cut + 1) / record.events.size() - images * cut / record.events.size();
    for (uint64_t i = 0; i < here; ++i) {
      const auto style = static_cast<CutStyle>(random.below(kCutStyles));
      write_directory(dir.path(), model.image(style, random.next()));
      ++tally.images;
      ++tally.wrong;  // unless it survives the look
      if (check_image(dir, history, acknowledged).empty()) --tally.wrong;
    }
  }
}

TEST(CrashImageLmdb, DefaultSyncFlagsGiveExactlyTheAcknowledgedCommits) {
  const uint64_t seed = test_seed();
  const Shared<Tally> tally;
  const auto failures =
      run_jobs({.jobs = 10}, [&](size_t job, Report&) { cut_lmdb(mix(seed, job), 0, 60, *tally); });
  EXPECT_TRUE(failures.empty()) << join(failures);
  EXPECT_EQ(tally->wrong, 0U);
  EXPECT_GE(tally->images, 590U);
}

// Where LMDB follows a damaged page out of its map the job is killed; that counts as seen, too.
TEST(CrashImageLmdb, WithoutSyncsDamageIsSeen) {
  const uint64_t seed = test_seed();
  const Shared<Tally> tally;
  run_jobs({.jobs = 10, .max_failures = 100}, [&](size_t job, Report&) {
    if (std::freopen("/dev/null", "w", stderr) == nullptr) return;  // LMDB and sanitizers would talk
    cut_lmdb(mix(seed, job), MDB_NOSYNC, 60, *tally);
  });
  EXPECT_GE(tally->wrong, tally->images / 10) << "of " << tally->images;
}

}  // namespace
}  // namespace lapse::fault
