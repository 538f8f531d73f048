// What the tests of page_tree.h and its neighbours share: files that liblmdb wrote, and damaged copies of them.
//
// A copy stands between two inaccessible pages, so that a read outside of it kills the test.

#pragma once

#include <gtest/gtest.h>
#include <lmdb.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "base/coding.h"
#include "engine/local/page_tree.h"
#include "engine/local/path_checker.h"
#include "engine/local/tree_check.h"

namespace lapse::engine {

inline constexpr size_t kPage = 4096;
inline constexpr size_t kGuard = 1 << 16;

using Model = std::map<std::string, std::string>;
using Random = std::mt19937_64;

inline void check_ok(int rc) { ASSERT_EQ(rc, 0) << mdb_strerror(rc); }

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

// An LMDB file in a directory of its own, and what it should hold.
class LmdbFile {
 public:
  LmdbFile() {
    char name[] = "/tmp/page_tree_test.XXXXXX";
    directory_ = mkdtemp(name);
    open();
  }
  ~LmdbFile() {
    mdb_env_close(env_);
    unlink(path().c_str());
    unlink((path() + "-lock").c_str());
    rmdir(directory_.c_str());
  }

  std::string path() const { return directory_ + "/db"; }
  MDB_env* env() { return env_; }
  MDB_dbi dbi() const { return dbi_; }
  const Model& model() const { return model_; }

  void begin() { check_ok(mdb_txn_begin(env_, nullptr, 0, &txn_)); }
  void commit() { check_ok(mdb_txn_commit(txn_)); }
  void put(const std::string& key, const std::string& value) {
    MDB_val k{key.size(), const_cast<char*>(key.data())};
    MDB_val v{value.size(), const_cast<char*>(value.data())};
    check_ok(mdb_put(txn_, dbi_, &k, &v, 0));
    model_[key] = value;
  }
  void erase(const std::string& key) {
    MDB_val k{key.size(), const_cast<char*>(key.data())};
    const int rc = mdb_del(txn_, dbi_, &k, nullptr);
    ASSERT_TRUE(rc == 0 || rc == MDB_NOTFOUND) << mdb_strerror(rc);
    model_.erase(key);
  }

  std::string bytes() const { return read_file(path()); }

 private:
  void open() {
    check_ok(mdb_env_create(&env_));
    check_ok(mdb_env_set_mapsize(env_, 1UL << 30));
    check_ok(mdb_env_open(env_, path().c_str(), MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOTLS, 0600));
    begin();
    check_ok(mdb_dbi_open(txn_, nullptr, 0, &dbi_));
    commit();
  }

  std::string directory_;
  MDB_env* env_ = nullptr;
  MDB_txn* txn_ = nullptr;
  MDB_dbi dbi_ = 0;
  Model model_;
};

// Bytes that nothing may be read before or behind.
class Image {
 public:
  explicit Image(const std::string& bytes) : size_(bytes.size()) {
    room_ = (size_ + kPage - 1) / kPage * kPage;
    base_ = static_cast<char*>(
        mmap(nullptr, room_ + 2 * kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    mprotect(data(), room_, PROT_READ | PROT_WRITE);
    restore(bytes);
  }
  ~Image() { munmap(base_, room_ + 2 * kGuard); }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  char* data() { return base_ + kGuard; }
  char* page(uint64_t number) { return data() + number * kPage; }
  size_t size() const { return size_; }
  void restore(const std::string& bytes) { std::memcpy(data(), bytes.data(), size_); }
  std::string_view head() { return {data(), std::min(size_, kMetaHeadBytes)}; }
  Result<TreeMeta> meta() { return current_meta(head(), size_); }
  bool contains(std::string_view view) {
    return view.data() >= data() && view.data() + view.size() <= data() + size_;
  }

 private:
  size_t size_;
  size_t room_ = 0;
  char* base_ = nullptr;
};

inline std::string random_bytes(Random* random, size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>((*random)());
  return bytes;
}

// Few different bytes, so that keys share prefixes and are each other's prefixes.
inline std::string random_key(Random* random, size_t longest) {
  std::string key(1 + (*random)() % longest, '\0');
  for (char& byte : key) byte = static_cast<char>("\x00\x01\x7f\x80\xff"[(*random)() % 5]);
  return key;
}

inline std::string random_value(Random* random) {
  switch ((*random)() % 40) {
    case 0: return random_bytes(random, (*random)() % 20000);
    case 1: return random_bytes(random, 1900 + (*random)() % 300);
    case 2: return "";
    default: return random_bytes(random, (*random)() % 120);
  }
}

inline std::string some_key(const Model& model, Random* random, size_t longest) {
  const std::string key = random_key(random, longest);
  if (model.empty() || (*random)() % 4 == 0) return key;
  auto found = model.lower_bound(key);
  return found == model.end() ? model.begin()->first : found->first;
}

inline void random_transaction(LmdbFile* file, Random* random, size_t operations, unsigned erase_percent,
                               size_t longest_key) {
  file->begin();
  for (size_t i = 0; i < operations; ++i) {
    if ((*random)() % 100 < erase_percent) {
      file->erase(some_key(file->model(), random, longest_key));
    } else {
      const bool fresh = (*random)() % 2 == 0;
      file->put(fresh ? random_key(random, longest_key) : some_key(file->model(), random, longest_key),
                random_value(random));
    }
  }
  file->commit();
}

// Three levels, long values, long keys, a list of free pages.
inline void fill(LmdbFile* file, uint64_t seed, size_t transactions = 12, size_t operations = 300) {
  Random random(seed);
  for (size_t i = 0; i < transactions; ++i) {
    random_transaction(file, &random, operations, i % 3 == 2 ? 60 : 20, i % 2 == 0 ? 24 : 400);
  }
}

inline Result<PageUse> check_image(Image* image, Model* found = nullptr) {
  auto meta = image->meta();
  if (!meta.ok()) return meta.status();
  return check_tree(image->data(), *meta, [&](std::string_view key, std::string_view value) {
    if (found != nullptr) found->emplace(key, value);
    return Status();
  });
}

// Everything a reader can do. True if it met an error.
inline bool read_everything(Image* image, const TreeMeta& meta, const Model& model) {
  const PageTree tree(image->data(), meta);
  bool failed = false;
  for (const auto& [key, value] : model) {
    const auto got = tree.get(key);
    failed |= !got.ok();
    EXPECT_TRUE(!got.ok() || !*got || image->contains(**got));
  }
  for (const bool forward : {true, false}) {
    PageCursor cursor(&tree);
    Status status = forward ? cursor.first() : cursor.last();
    while (status.ok() && cursor.valid()) {
      EXPECT_TRUE(image->contains(cursor.key()) && image->contains(cursor.value()));
      status = forward ? cursor.next() : cursor.prev();
    }
    EXPECT_TRUE(status.ok() || !cursor.valid());
    failed |= !status.ok();
  }
  return failed;
}

inline bool check_paths(Image* image, const TreeMeta& meta, const Model& model) {
  const PageTree tree(image->data(), meta);
  const auto free = check_free_list(image->data(), meta);
  if (!free.ok()) return false;
  PathChecker checker(&tree, &free->pages);
  for (const auto& [key, value] : model) {
    if (!checker.check_erase(key).ok()) return false;
  }
  return true;
}

class PageTreeFixture : public testing::Test {
 protected:
  // REQUIRES: the file is filled.
  void make_image() {
    bytes_ = file_.bytes();
    image_ = std::make_unique<Image>(bytes_);
    auto meta = image_->meta();
    ASSERT_TRUE(meta.ok()) << meta.status().to_string();
    meta_ = *meta;
  }
  char* root() { return image_->page(meta_.main.page); }
  char* node(char* page, unsigned index) {  // somewhere in the page, if there is none
    return page + std::min<size_t>(load_le<uint16_t>(page + 16 + 2 * index), kPage - 8);
  }
  unsigned count(const char* page) { return (load_le<uint16_t>(page + 12) - 16U) / 2; }
  uint64_t child(char* page, unsigned index) { return load_le<uint64_t>(node(page, index)) & 0xFFFFFFFFFFFF; }
  char* first_leaf() {
    char* page = root();
    while (load_le<uint16_t>(page + 10) == 1) page = image_->page(child(page, 0));
    return page;
  }
  void point_to(char* page, unsigned index, uint64_t target) { std::memcpy(node(page, index), &target, 6); }
  // The metas, and the pages of both trees: where damage hurts.
  std::vector<uint64_t> live_pages() {
    std::vector<uint64_t> pages = {0, 1};
    for (const uint64_t tree : {meta_.main.page, meta_.free.page}) {
      if (tree != kNoPage) pages.push_back(tree);
    }
    for (size_t i = 2; i < pages.size(); ++i) {
      char* page = image_->page(pages[i]);
      if (load_le<uint16_t>(page + 10) != 1) continue;
      for (unsigned slot = 0; slot < count(page); ++slot) pages.push_back(child(page, slot));
    }
    return pages;
  }
  char* random_byte(const std::vector<uint64_t>& pages, Random* random) {
    char* page = image_->page(pages[(*random)() % pages.size()]);
    switch ((*random)() % 3) {
      case 0: return page + (*random)() % kPage;
      case 1: return page + (*random)() % 160;  // headers, slots, metas
      default: return node(page, (*random)() % (count(page) % 512 + 1)) + (*random)() % 8;
    }
  }

  std::string message_of_check() {
    const auto use = check_image(image_.get());
    return use.ok() ? "" : std::string(use.status().message());
  }
  bool paths_sound() { return check_paths(image_.get(), meta_, file_.model()); }

  LmdbFile file_;
  std::string bytes_;
  std::unique_ptr<Image> image_;
  TreeMeta meta_;
};

}  // namespace lapse::engine
