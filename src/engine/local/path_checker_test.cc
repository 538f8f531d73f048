#include "engine/local/path_checker.h"

#include <gtest/gtest.h>
#include <lmdb.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "engine/local/page_tree_fixture.h"

namespace lapse::engine {
namespace {

class PathCheckerTest : public PageTreeFixture {};

// Each page that the checker must see for a key, spoiled alone.
TEST_F(PathCheckerTest, PathCheckerSeesPathAndNeighbours) {
  fill(&file_, 30);
  make_image();
  ASSERT_GE(meta_.main.depth, 3);
  char* top = root();
  char* branch = image_->page(child(top, 1));  // has a left neighbour, and a right one if top has
  ASSERT_GE(count(branch), 3U);
  const std::string_view key(node(branch, 1) + 8, load_le<uint16_t>(node(branch, 1) + 6));
  char* left_branch = image_->page(child(top, 0));
  std::vector<uint64_t> seen = {meta_.main.page,  child(top, 0),    child(top, 1),        child(branch, 0),
                                child(branch, 1), child(branch, 2), child(left_branch, 0)};
  for (const uint64_t number : seen) {
    image_->page(number)[11] ^= 0x20;
    const PageTree tree(image_->data(), meta_);
    PageSet free(meta_.readable_pages);
    PathChecker checker(&tree, &free);
    EXPECT_EQ(checker.check_erase(key).code(), StatusCode::kCorrupt) << number;
    image_->page(number)[11] ^= 0x20;
    EXPECT_TRUE(checker.check_erase(key).ok());  // an error is not remembered as a success
    free.add(number);
    PathChecker free_aware(&tree, &free);
    EXPECT_EQ(free_aware.check_erase(key).code(), StatusCode::kCorrupt) << number;
  }
}

// liblmdb aborts when it is to copy a page onto itself.
TEST_F(PathCheckerTest, PathCheckerSeesPagesInUseThatAreListedAsFree) {
  fill(&file_, 35);
  make_image();
  const PageTree tree(image_->data(), meta_);
  const std::string key = file_.model().begin()->first;
  PageSet free(meta_.readable_pages);
  EXPECT_TRUE(PathChecker(&tree, &free).check_put(key, 1).ok());
  free.add(meta_.main.page);
  EXPECT_EQ(PathChecker(&tree, &free).check_put(key, 1).code(), StatusCode::kCorrupt);
}

TEST_F(PathCheckerTest, PathCheckerSeesTheRunOfTheOldValue) {
  fill(&file_, 31);
  file_.begin();
  file_.put("big", std::string(50000, 'b'));
  file_.put("bih", "small");
  file_.commit();
  make_image();
  const PageTree tree(image_->data(), meta_);
  const auto value = tree.get("big");
  ASSERT_TRUE(value.ok() && *value);
  char* run = const_cast<char*>((*value)->data()) - 16;
  PageSet free(meta_.readable_pages);
  free.add(static_cast<uint64_t>(run - image_->data()) / kPage + 12);  // the last of 13
  PathChecker free_aware(&tree, &free);
  EXPECT_EQ(free_aware.check_erase("big").code(), StatusCode::kCorrupt);
  store_le(run + 12, uint32_t{1} << 30);  // pages to be freed
  const PageSet none_free(meta_.readable_pages);
  PathChecker checker(&tree, &none_free);
  EXPECT_TRUE(checker.check_erase("bih").ok());
  EXPECT_EQ(checker.check_erase("big").code(), StatusCode::kCorrupt);
  EXPECT_FALSE(tree.get("big").ok());
}

// What the checks are for: where they find nothing wrong, liblmdb survives writing. It runs in a child
// process, on a damaged copy, and may fail or store nonsense, but not die.
class WriteTest : public PageTreeFixture {
 protected:
  // In the child: one transaction, if the checks allow it.
  void write_through_checks(const std::string& path, Random* random) {
    Image image(read_file(path));
    const auto meta = image.meta();
    if (!meta.ok()) return;
    const auto free = check_free_list(image.data(), *meta);
    if (!free.ok()) return;
    MDB_env* env = nullptr;
    MDB_txn* txn = nullptr;
    mdb_env_create(&env);
    mdb_env_set_mapsize(env, 1UL << 30);
    if (mdb_env_open(env, path.c_str(), MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOLOCK, 0600) == 0 &&
        mdb_txn_begin(env, nullptr, 0, &txn) == 0) {
      const PageTree tree(image.data(), *meta);
      write_some(txn, PathChecker(&tree, &free->pages), random);
      (void)mdb_txn_commit(txn);
    }
    mdb_env_close(env);
  }

  void write_some(MDB_txn* txn, PathChecker checker, Random* random) {
    MDB_dbi dbi = 0;
    if (mdb_dbi_open(txn, nullptr, 0, &dbi) != 0) return;
    const unsigned erase_percent = (*random)() % 2 == 0 ? 90 : 20;
    std::vector<std::string> keys;
    for (const auto& [key, old] : file_.model()) keys.push_back(key);
    if ((*random)() % 2 == 0) std::shuffle(keys.begin(), keys.end(), *random);
    for (const std::string& key : keys) {
      const bool erase = (*random)() % 100 < erase_percent;
      std::string value = random_value(random);
      if (!(erase ? checker.check_erase(key) : checker.check_put(key, value.size())).ok()) continue;
      MDB_val k{key.size(), const_cast<char*>(key.data())};
      MDB_val v{value.size(), value.data()};
      const int rc = erase ? mdb_del(txn, dbi, &k, nullptr) : mdb_put(txn, dbi, &k, &v, 0);
      if (rc != 0 && rc != MDB_NOTFOUND) return;
    }
  }

  // How the child ended.
  int try_damaged(uint64_t seed) {
    const std::string path = file_.path() + "-damaged";
    std::ofstream(path, std::ios::binary).write(image_->data(), std::streamsize(image_->size()));
    const pid_t pid = fork();
    if (pid == 0) {
      if (freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
      Random random(seed);
      for (int i = 0; i < 3; ++i) write_through_checks(path, &random);
      _exit(0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    unlink(path.c_str());
    return status;
  }
};

TEST_F(WriteTest, LiblmdbSurvivesWhatTheChecksLetThrough) {
  fill(&file_, 32, 8, 150);
  make_image();
  Random random(33);
  const std::vector<uint64_t> pages = live_pages();
  const char* more = std::getenv("LAPSE_PAGE_TREE_FLIPS");
  const int flips = more != nullptr ? std::atoi(more) : 200;
  for (int i = 0; i < flips; ++i) {
    char* byte = random_byte(pages, &random);
    *byte ^= static_cast<char>(1 << random() % 8);
    EXPECT_EQ(try_damaged(random()), 0) << "flip " << i << ", byte " << byte - image_->data();
    image_->restore(bytes_);
  }
}

}  // namespace
}  // namespace lapse::engine
