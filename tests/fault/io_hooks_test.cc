// The hooks record what is done, in order, and make calls fail as asked.

#include "io_hooks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <lmdb.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <thread>
#include <vector>

#include "crash_image.h"
#include "fault_env.h"

namespace lapse::fault {
namespace {

using Kind = IoEventKind;

std::vector<Kind> kinds_of(const IoRecord& record) {
  std::vector<Kind> kinds;
  for (const IoEvent& event : record.events) kinds.push_back(event.kind);
  return kinds;
}

int open_in(const ScratchDir& dir, const char* name, int flags = O_RDWR | O_CREAT) {
  return open(dir.file(name).c_str(), flags, 0644);
}

void sync_directory(const ScratchDir& dir) {
  const int fd = open(dir.path().c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(fsync(fd), 0);
  close(fd);
}

TEST(IoHooks, EveryChangeIsRecordedInOrder) {
  const ScratchDir dir;
  IoWatch watch(dir.path());
  const int fd = open_in(dir, "a");
  ASSERT_EQ(pwrite(fd, "hello", 5, 10), 5);
  ASSERT_EQ(fdatasync(fd), 0);
  io_mark(Mark::kAcknowledged, 7);
  ASSERT_EQ(ftruncate(fd, 4096), 0);
  ASSERT_EQ(rename(dir.file("a").c_str(), dir.file("b").c_str()), 0);
  sync_directory(dir);
  close(fd);
  ASSERT_EQ(unlink(dir.file("b").c_str()), 0);
  const IoRecord record = watch.take();
  EXPECT_EQ(kinds_of(record), (std::vector<Kind>{Kind::kCreate, Kind::kWrite, Kind::kSyncBegin, Kind::kSynced,
                                                 Kind::kMark, Kind::kResize, Kind::kRename, Kind::kSyncBegin,
                                                 Kind::kSynced, Kind::kUnlink}));
  EXPECT_EQ(record.events[1].offset, 10U);
  EXPECT_EQ(record.events[1].bytes, "hello");
  EXPECT_EQ(record.events[7].file, kDirectory);
  EXPECT_EQ(check_replay(record), "");
}

TEST(IoHooks, WritesOfEveryKindHaveTheirOffsets) {
  const ScratchDir dir;
  IoWatch watch(dir.path());
  const int fd = open_in(dir, "a");
  char text[] = "abcdef";
  const iovec parts[] = {{text, 2}, {text + 4, 2}};
  ASSERT_EQ(write(fd, "1234", 4), 4);
  ASSERT_EQ(writev(fd, parts, 2), 4);
  ASSERT_EQ(pwritev(fd, parts, 2, 100), 4);
  ASSERT_EQ(posix_fallocate(fd, 0, 5000), 0);
  ASSERT_EQ(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 9000), 0);
  close(fd);
  const int appended = open_in(dir, "a", O_WRONLY | O_APPEND);
  ASSERT_EQ(write(appended, "end", 3), 3);
  close(appended);
  const IoRecord record = watch.take();
  EXPECT_EQ(record.events[2].offset, 4U);
  EXPECT_EQ(record.events[2].bytes, "abef");
  EXPECT_EQ(record.events.back().offset, 5000U);
  EXPECT_EQ(check_replay(record), "");
}

TEST(IoHooks, WriteThroughADsyncDescriptorIsSyncedOnceItReturned) {
  const ScratchDir dir;
  IoWatch watch(dir.path());
  const int fd = open_in(dir, "a", O_RDWR | O_CREAT | O_DSYNC);
  ASSERT_EQ(pwrite(fd, "x", 1, 0), 1);
  close(fd);
  EXPECT_EQ(kinds_of(watch.take()), (std::vector<Kind>{Kind::kCreate, Kind::kWrite, Kind::kWriteSynced}));
}

TEST(IoHooks, ChangeThatBypassedTheHooksIsNoticed) {
  const ScratchDir dir;
  write_whole_file(dir.file("a"), "before");
  IoWatch watch(dir.path());
  const IoRecord record = watch.take();
  write_whole_file(dir.file("a"), "beyond");
  EXPECT_NE(check_replay(record), "");
}

TEST(IoHooks, FilesElsewhereAreLeftAlone) {
  const ScratchDir dir;
  const ScratchDir other;
  IoWatch watch(dir.path());
  watch.inject({.count = ~uint64_t{0}, .error = EIO});
  write_whole_file(other.file("a"), "x");
  EXPECT_TRUE(watch.take().events.empty());
}

TEST(IoHooks, NthMatchingCallFails) {
  const ScratchDir dir;
  IoWatch watch(dir.path());
  const int fd = open_in(dir, "a");
  watch.inject({.calls = kWriteCall, .name_part = "a", .nth = 2, .error = ENOSPC});
  EXPECT_EQ(pwrite(fd, "x", 1, 0), 1);
  EXPECT_EQ(pwrite(fd, "y", 1, 1), -1);
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_EQ(pwrite(fd, "z", 1, 2), 1);
  EXPECT_EQ(watch.matched(), 3U);
  EXPECT_EQ(watch.failed(), 1U);
  watch.inject({.calls = kResizeCall, .error = ENOSPC});
  EXPECT_EQ(posix_fallocate(fd, 0, 100), ENOSPC);
  close(fd);
  EXPECT_EQ(check_replay(watch.take()), "");
}

TEST(IoHooks, ShortWriteWritesHalfAndSaysSo) {
  const ScratchDir dir;
  IoWatch watch(dir.path());
  const int fd = open_in(dir, "a");
  watch.inject({.calls = kWriteCall, .effect = FaultEffect::kShortWrite});
  EXPECT_EQ(pwrite(fd, "12345678", 8, 0), 4);
  close(fd);
  const IoRecord record = watch.take();
  EXPECT_EQ(record.events.back().bytes, "1234");
  EXPECT_EQ(check_replay(record), "");
}

TEST(IoHooks, WriteThatIsDoneAndFailsIsThere) {
  const ScratchDir dir;
  IoWatch watch(dir.path());
  const int fd = open_in(dir, "a");
  watch.inject({.calls = kWriteCall, .error = EIO, .effect = FaultEffect::kDoneAndFails});
  EXPECT_EQ(pwrite(fd, "1234", 4, 0), -1);
  EXPECT_EQ(errno, EIO);
  close(fd);
  const IoRecord record = watch.take();
  EXPECT_EQ(record.events.back().bytes, "1234");
  EXPECT_EQ(check_replay(record), "");
}

TEST(IoHooks, FailedSyncIsRecordedAsFailed) {
  const ScratchDir dir;
  IoWatch watch(dir.path());
  const int fd = open_in(dir, "a");
  watch.inject({.calls = kSyncCall, .error = EIO, .effect = FaultEffect::kSyncLost});
  EXPECT_EQ(fdatasync(fd), -1);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(fdatasync(fd), 0);
  close(fd);
  EXPECT_EQ(kinds_of(watch.take()), (std::vector<Kind>{Kind::kCreate, Kind::kSyncBegin, Kind::kSyncFailed,
                                                       Kind::kSyncBegin, Kind::kSynced}));
}

TEST(IoHooks, ThreadsAreToldApart) {
  const ScratchDir dir;
  IoWatch watch(dir.path());
  io_mark(Mark::kOpened, 0);
  std::thread([] { io_mark(Mark::kClosed, 0); }).join();
  const IoRecord record = watch.take();
  EXPECT_NE(record.events[0].thread, record.events[1].thread);
}

TEST(IoHooks, CallsOfTheLmdbLibraryAreRecorded) {
  const ScratchDir dir;
  IoWatch watch(dir.path());
  MDB_env* env = nullptr;
  MDB_txn* txn = nullptr;
  MDB_dbi dbi = 0;
  ASSERT_EQ(mdb_env_create(&env), 0);
  ASSERT_EQ(mdb_env_open(env, dir.file("db").c_str(), MDB_NOSUBDIR | MDB_NOTLS, 0644), 0);
  ASSERT_EQ(mdb_txn_begin(env, nullptr, 0, &txn), 0);
  ASSERT_EQ(mdb_dbi_open(txn, nullptr, 0, &dbi), 0);
  char text[] = "value";
  MDB_val value{5, text};
  ASSERT_EQ(mdb_put(txn, dbi, &value, &value, 0), 0);
  ASSERT_EQ(mdb_txn_commit(txn), 0);
  mdb_env_close(env);
  const IoRecord record = watch.take();
  EXPECT_EQ(check_replay(record), "");
  const std::vector<Kind> kinds = kinds_of(record);
  // The pages, their sync, and the meta page through its own descriptor: in that order, and last.
  const std::vector<Kind> end(kinds.end() - 4, kinds.end());
  EXPECT_EQ(end, (std::vector<Kind>{Kind::kSyncBegin, Kind::kSynced, Kind::kWrite, Kind::kWriteSynced}));
}

}  // namespace
}  // namespace lapse::fault
