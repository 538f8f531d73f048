#include "base/file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <string>

namespace lapse {
namespace {

class FileTest : public testing::Test {
 protected:
  FileTest() {
    path_ = testing::TempDir() + "lapse-file-XXXXXX";
    const int fd = ::mkstemp(path_.data());
    file_ = File::adopt(fd, path_);
  }
  ~FileTest() override { EXPECT_TRUE(remove_file(path_).ok()); }

  std::string path_;
  File file_;
};

bool kernel_knows_populate_read() {
  const size_t bytes = 4096;
  void* memory = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool known = ::madvise(memory, bytes, MADV_POPULATE_READ) == 0;
  ::munmap(memory, bytes);
  return known;
}

// What lies behind the end is refused as a sector that cannot be read is.
TEST_F(FileTest, AMappingToBeReadIsAnErrorWhereALookWouldBeASignal) {
  if (!kernel_knows_populate_read()) GTEST_SKIP();
  constexpr uint64_t kBytes = 64 << 10;
  ASSERT_TRUE(file_.truncate(kBytes).ok());
  EXPECT_TRUE(Mapping::map(file_, kBytes, Mapping::Access::kRead).ok());
  ASSERT_TRUE(file_.truncate(kBytes / 2).ok());
  const Status status = Mapping::map(file_, kBytes, Mapping::Access::kRead).status();
  EXPECT_EQ(StatusCode::kIoError, status.code());
  EXPECT_NE(std::string::npos, status.message().find(path_)) << status.to_string();
}

TEST_F(FileTest, MayExistSaysNoOnlyOfWhatIsAbsent) {
  EXPECT_TRUE(may_exist(path_));
  EXPECT_FALSE(may_exist(path_ + "-absent"));
  EXPECT_TRUE(may_exist(path_ + "/below a file"));  // ENOTDIR: not known to be absent
}

}  // namespace
}  // namespace lapse
