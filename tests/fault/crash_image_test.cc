// The model of the disk, on plain files: what is certain is in every image, what is not in some.

#include "crash_image.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <optional>
#include <set>

#include "base/test_hooks.h"
#include "fault_env.h"
#include "io_hooks.h"

namespace lapse::fault {
namespace {

// Every distinct image of the record's end, over all styles and some seeds.
std::set<FileImage> images_at_end(const IoRecord& record) {
  DiskModel model(record);
  model.advance_to(record.events.size());
  std::set<FileImage> images;
  for (int style = 0; style < kCutStyles; ++style) {
    for (uint64_t seed = 0; seed < 100; ++seed) {
      images.insert(model.image(static_cast<CutStyle>(style), seed));
    }
  }
  return images;
}

IoRecord record_of(const FileImage& initial, const std::function<void(const ScratchDir&)>& body) {
  const ScratchDir dir;
  write_directory(dir.path(), initial);
  IoWatch watch(dir.path());
  body(dir);
  IoRecord record = watch.take();
  EXPECT_EQ(check_replay(record), "");
  return record;
}

class TestFile {
 public:
  TestFile(const ScratchDir& dir, const char* name)
      : fd_(open(dir.file(name).c_str(), O_RDWR | O_CREAT, 0644)) {}
  ~TestFile() { close(fd_); }
  void put(off_t offset, const std::string& bytes) const {
    EXPECT_EQ(pwrite(fd_, bytes.data(), bytes.size(), offset), static_cast<ssize_t>(bytes.size()));
  }
  void map_store(off_t offset, const std::string& bytes) const {
    put(offset, bytes);  // stands in for memcpy; the record is overwritten by the same bytes
    test_hooks::mapped_store(fd_, static_cast<uint64_t>(offset), bytes);
  }
  bool sync() const { return fdatasync(fd_) == 0; }
  void resize(off_t size) const { EXPECT_EQ(ftruncate(fd_, size), 0); }

 private:
  int fd_;
};

void sync_directory(const ScratchDir& dir) {
  const int fd = open(dir.path().c_str(), O_RDONLY | O_DIRECTORY);
  EXPECT_EQ(fsync(fd), 0);
  close(fd);
}

std::string old_bytes(size_t sectors) { return std::string(sectors * 512, 'o'); }
std::string new_bytes(size_t sectors) { return std::string(sectors * 512, 'n'); }

TEST(CrashImage, SyncedWriteIsCertain) {
  const IoRecord record = record_of({{"a", old_bytes(4)}}, [](const ScratchDir& dir) {
    const TestFile file(dir, "a");
    file.put(0, new_bytes(4));
    EXPECT_TRUE(file.sync());
  });
  EXPECT_EQ(images_at_end(record), (std::set<FileImage>{{{"a", new_bytes(4)}}}));
}

TEST(CrashImage, UnsyncedWriteIsThereOrNotOrTornAtSectors) {
  const IoRecord record = record_of({{"a", old_bytes(2)}},
                                    [](const ScratchDir& dir) { TestFile(dir, "a").put(0, new_bytes(2)); });
  const std::string o = old_bytes(1);
  const std::string n = new_bytes(1);
  EXPECT_EQ(images_at_end(record),
            (std::set<FileImage>{{{"a", o + o}}, {{"a", o + n}}, {{"a", n + o}}, {{"a", n + n}}}));
}

TEST(CrashImage, LaterWriteBringsTheEarlierOneInItsSectorAlong) {
  const IoRecord record = record_of({{"a", "...."}}, [](const ScratchDir& dir) {
    const TestFile file(dir, "a");
    file.put(0, "1");
    file.put(1, "2");
  });
  EXPECT_EQ(images_at_end(record), (std::set<FileImage>{{{"a", "...."}}, {{"a", "1..."}}, {{"a", "12.."}}}));
}

TEST(CrashImage, WriteAfterTheBeginOfASyncIsNotCovered) {
  IoRecord record = record_of({{"a", "."}}, [](const ScratchDir& dir) {
    const TestFile file(dir, "a");
    EXPECT_TRUE(file.sync());
    file.put(0, "1");
  });
  ASSERT_EQ(record.events.size(), 3U);
  std::swap(record.events[1], record.events[2]);  // begin, write, end
  EXPECT_EQ(images_at_end(record), (std::set<FileImage>{{{"a", "."}}, {{"a", "1"}}}));
}

TEST(CrashImage, GrownFileMayHoldZeros) {
  const IoRecord record = record_of({{"a", ""}}, [](const ScratchDir& dir) {
    const TestFile file(dir, "a");
    file.resize(4);
    file.put(0, "1234");
  });
  const std::string zeros(4, '\0');
  EXPECT_EQ(images_at_end(record), (std::set<FileImage>{{{"a", ""}}, {{"a", zeros}}, {{"a", "1234"}}}));
}

TEST(CrashImage, MappedStoreCanBeCaughtInTheMiddle) {
  const std::string before(64, 'o');
  const IoRecord record = record_of({{"a", before}}, [](const ScratchDir& dir) {
    const TestFile file(dir, "a");
    file.put(0, std::string(64, 'o'));
    EXPECT_TRUE(file.sync());
    file.map_store(0, std::string(64, 'n'));
  });
  IoRecord only_mapped = record;
  std::erase_if(only_mapped.events, [](const IoEvent& event) { return event.kind == IoEventKind::kWrite; });
  bool caught = false;
  for (const FileImage& image : images_at_end(only_mapped)) {
    const std::string& bytes = image.at("a");
    caught |= bytes.find('o') != std::string::npos && bytes.find('n') != std::string::npos;
  }
  EXPECT_TRUE(caught);
}

TEST(CrashImage, NewNameIsCertainOnlyAfterTheDirectorysSync) {
  const auto create = [](const ScratchDir& dir) {
    const TestFile file(dir, "a");
    file.put(0, "1");
    EXPECT_TRUE(file.sync());
  };
  EXPECT_EQ(images_at_end(record_of({}, create)), (std::set<FileImage>{{}, {{"a", "1"}}}));
  const IoRecord synced = record_of({}, [&](const ScratchDir& dir) {
    create(dir);
    sync_directory(dir);
  });
  EXPECT_EQ(images_at_end(synced), (std::set<FileImage>{{{"a", "1"}}}));
}

TEST(CrashImage, RenameIsAtomic) {
  const IoRecord record = record_of({{"a", "new"}, {"b", "old"}}, [](const ScratchDir& dir) {
    EXPECT_EQ(rename(dir.file("a").c_str(), dir.file("b").c_str()), 0);
  });
  EXPECT_EQ(images_at_end(record), (std::set<FileImage>{{{"a", "new"}, {"b", "old"}}, {{"b", "new"}}}));
}

TEST(CrashImage, RenameOfAFileWhoseCreationIsNotCertainNeedsIt) {
  const IoRecord record = record_of({}, [](const ScratchDir& dir) {
    TestFile(dir, "a");  // created, and closed
    EXPECT_EQ(rename(dir.file("a").c_str(), dir.file("b").c_str()), 0);
  });
  EXPECT_EQ(images_at_end(record), (std::set<FileImage>{{}, {{"a", ""}}, {{"b", ""}}}));
}

TEST(CrashImage, UnlinkedFileMayComeBackUntilTheDirectorysSync) {
  const IoRecord record =
      record_of({{"a", "1"}}, [](const ScratchDir& dir) { EXPECT_EQ(unlink(dir.file("a").c_str()), 0); });
  EXPECT_EQ(images_at_end(record), (std::set<FileImage>{{}, {{"a", "1"}}}));
}

TEST(CrashImage, FailedSyncLosesForGoodWhatItWasAskedFor) {
  const ScratchDir dir;
  write_directory(dir.path(), {{"a", old_bytes(2)}});
  IoWatch watch(dir.path());
  const TestFile file(dir, "a");
  file.put(0, new_bytes(1));
  watch.inject({.calls = kSyncCall, .error = EIO, .effect = FaultEffect::kSyncLost});
  EXPECT_FALSE(file.sync());
  file.put(512, new_bytes(1));
  EXPECT_TRUE(file.sync());  // of the second sector
  const IoRecord record = watch.take();
  EXPECT_EQ(images_at_end(record),
            (std::set<FileImage>{{{"a", old_bytes(1) + new_bytes(1)}}, {{"a", new_bytes(2)}}}));
}

TEST(CrashImage, WritingAnewHealsAFailedSync) {
  const ScratchDir dir;
  write_directory(dir.path(), {{"a", old_bytes(1)}});
  IoWatch watch(dir.path());
  const TestFile file(dir, "a");
  watch.inject({.calls = kSyncCall, .error = EIO, .effect = FaultEffect::kSyncLost});
  file.put(0, new_bytes(1));
  EXPECT_FALSE(file.sync());
  file.put(0, new_bytes(1));
  EXPECT_TRUE(file.sync());
  EXPECT_EQ(images_at_end(watch.take()), (std::set<FileImage>{{{"a", new_bytes(1)}}}));
}

TEST(CrashImage, GrowthLostByAFailedSyncComesWithALaterSyncedWrite) {
  const ScratchDir dir;
  write_directory(dir.path(), {{"a", ""}});
  IoWatch watch(dir.path());
  const TestFile file(dir, "a");
  watch.inject({.calls = kSyncCall, .error = EIO, .effect = FaultEffect::kSyncLost});
  file.put(0, old_bytes(1));
  EXPECT_FALSE(file.sync());
  file.put(0, new_bytes(1));
  EXPECT_TRUE(file.sync());
  EXPECT_EQ(images_at_end(watch.take()), (std::set<FileImage>{{{"a", new_bytes(1)}}}));
}

// A careless log: does the model see that its records can be lost after they were acknowledged?
TEST(CrashImage, AcknowledgementWithoutSyncIsCaught) {
  const auto append = [](bool with_sync) {
    const IoRecord record = record_of({{"log", ""}}, [=](const ScratchDir& dir) {
      const TestFile file(dir, "log");
      for (int i = 0; i < 10; ++i) {
        file.put(i, "x");
        EXPECT_TRUE(!with_sync || file.sync());
        io_mark(Mark::kAcknowledged, static_cast<uint64_t>(i) + 1);
      }
    });
    DiskModel model(record);
    uint64_t acknowledged = 0;
    for (size_t cut = 0; cut < record.events.size(); ++cut) {
      model.advance_to(cut + 1);
      if (record.events[cut].kind == IoEventKind::kMark) acknowledged = record.events[cut].value;
      if (model.image(CutStyle::kNothing, 0).at("log").size() < acknowledged) return false;
    }
    return true;
  };
  EXPECT_TRUE(append(true));
  EXPECT_FALSE(append(false));
}

}  // namespace
}  // namespace lapse::fault
