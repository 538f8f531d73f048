// PageTree against liblmdb and against damage.
//
// Damage is done to a private copy of a file that stands between two inaccessible pages, so that a
// read outside of it kills the test.

#include "engine/local/page_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <lmdb.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/coding.h"

namespace lapse::engine {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kGuard = 1 << 16;

using Model = std::map<std::string, std::string>;
using Random = std::mt19937_64;

void check_ok(int rc) { ASSERT_EQ(rc, 0) << mdb_strerror(rc); }

std::string read_file(const std::string& path) {
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

std::string random_bytes(Random* random, size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>((*random)());
  return bytes;
}

// Few different bytes, so that keys share prefixes and are each other's prefixes.
std::string random_key(Random* random, size_t longest) {
  std::string key(1 + (*random)() % longest, '\0');
  for (char& byte : key) byte = static_cast<char>("\x00\x01\x7f\x80\xff"[(*random)() % 5]);
  return key;
}

std::string random_value(Random* random) {
  switch ((*random)() % 40) {
    case 0: return random_bytes(random, (*random)() % 20000);
    case 1: return random_bytes(random, 1900 + (*random)() % 300);
    case 2: return "";
    default: return random_bytes(random, (*random)() % 120);
  }
}

std::string some_key(const Model& model, Random* random, size_t longest) {
  const std::string key = random_key(random, longest);
  if (model.empty() || (*random)() % 4 == 0) return key;
  auto found = model.lower_bound(key);
  return found == model.end() ? model.begin()->first : found->first;
}

void random_transaction(LmdbFile* file, Random* random, size_t operations, unsigned erase_percent,
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
void fill(LmdbFile* file, uint64_t seed, size_t transactions = 12, size_t operations = 300) {
  Random random(seed);
  for (size_t i = 0; i < transactions; ++i) {
    random_transaction(file, &random, operations, i % 3 == 2 ? 60 : 20, i % 2 == 0 ? 24 : 400);
  }
}

Result<PageUse> check_image(Image* image, Model* found = nullptr) {
  auto meta = image->meta();
  if (!meta.ok()) return meta.status();
  return check_tree(image->data(), *meta, [&](std::string_view key, std::string_view value) {
    if (found != nullptr) found->emplace(key, value);
    return Status();
  });
}

// Everything a reader can do. True if it met an error.
bool read_everything(Image* image, const TreeMeta& meta, const Model& model) {
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

bool check_paths(Image* image, const TreeMeta& meta, const Model& model) {
  const PageTree tree(image->data(), meta);
  PathChecker checker(&tree);
  for (const auto& [key, value] : model) {
    if (!checker.check_erase(key).ok()) return false;
  }
  return true;
}

class PageTreeTest : public testing::Test {
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

// --- Sound files ---------------------------------------------------------------------------------

TEST_F(PageTreeTest, EmptyTreeHasNothing) {
  make_image();
  const PageTree tree(image_->data(), meta_);
  const auto got = tree.get("key");
  ASSERT_TRUE(got.ok());
  EXPECT_FALSE(got->has_value());
  PageCursor cursor(&tree);
  for (auto move : {&PageCursor::first, &PageCursor::last}) {
    ASSERT_TRUE((cursor.*move)().ok());
    EXPECT_FALSE(cursor.valid());
  }
  ASSERT_TRUE(cursor.seek("key").ok());
  EXPECT_FALSE(cursor.valid());
  PathChecker checker(&tree);
  EXPECT_TRUE(checker.check_erase("key").ok());
  const auto use = check_image(image_.get());
  ASSERT_TRUE(use.ok());
  EXPECT_EQ(use->tree_pages + use->overflow_pages + use->lost_pages, 0U);
}

TEST_F(PageTreeTest, EmptiedTreeHasNothing) {
  fill(&file_, 3, 2);
  file_.begin();
  while (!file_.model().empty()) file_.erase(std::string(file_.model().begin()->first));
  file_.commit();
  make_image();
  EXPECT_EQ(meta_.main.page, kNoPage);
  EXPECT_EQ(message_of_check(), "");
}

TEST_F(PageTreeTest, GetAgreesWithTheModel) {
  fill(&file_, 1);
  make_image();
  ASSERT_GE(meta_.main.depth, 3);
  const PageTree tree(image_->data(), meta_);
  EXPECT_EQ(tree.entries(), file_.model().size());
  Random random(2);
  for (int i = 0; i < 20000; ++i) {
    const std::string key = some_key(file_.model(), &random, 24);
    const auto got = tree.get(key);
    ASSERT_TRUE(got.ok()) << got.status().to_string();
    const auto expected = file_.model().find(key);
    ASSERT_EQ(got->has_value(), expected != file_.model().end());
    ASSERT_TRUE(!*got || **got == expected->second);
  }
  for (const std::string& odd : {std::string(), std::string(600, 'x'), std::string(600, '\xff')}) {
    const auto got = tree.get(odd);
    ASSERT_TRUE(got.ok());
    EXPECT_FALSE(got->has_value());
  }
}

// Drives a PageCursor and liblmdb's cursor over the live map side by side.
TEST_F(PageTreeTest, CursorMovesAsLiblmdbDoes) {
  fill(&file_, 4);
  make_image();
  const PageTree tree(image_->data(), meta_);
  PageCursor cursor(&tree);
  MDB_txn* txn = nullptr;
  check_ok(mdb_txn_begin(file_.env(), nullptr, MDB_RDONLY, &txn));
  ASSERT_EQ(mdb_txn_id(txn), meta_.txnid);
  MDB_cursor* theirs = nullptr;
  check_ok(mdb_cursor_open(txn, file_.dbi(), &theirs));
  Random random(5);
  for (int i = 0; i < 50000; ++i) {
    const unsigned dice = random() % 100;
    const std::string target = some_key(file_.model(), &random, 24);
    MDB_val key{target.size(), const_cast<char*>(target.data())};
    MDB_val value{0, nullptr};
    MDB_cursor_op op = dice < 45 ? MDB_NEXT : MDB_PREV;
    if (!cursor.valid() || dice >= 90) {
      op = dice == 0 ? MDB_FIRST : (dice == 1 ? MDB_LAST : MDB_SET_RANGE);
    }
    const int rc = mdb_cursor_get(theirs, &key, &value, op);
    const Status status = op == MDB_NEXT    ? cursor.next()
                          : op == MDB_PREV  ? cursor.prev()
                          : op == MDB_FIRST ? cursor.first()
                          : op == MDB_LAST  ? cursor.last()
                                            : cursor.seek(target);
    ASSERT_TRUE(status.ok()) << status.to_string();
    ASSERT_EQ(cursor.valid(), rc == 0);
    if (rc != 0) continue;
    ASSERT_EQ(cursor.key(), std::string_view(static_cast<char*>(key.mv_data), key.mv_size));
    ASSERT_EQ(cursor.value(), std::string_view(static_cast<char*>(value.mv_data), value.mv_size));
  }
  mdb_cursor_close(theirs);
  mdb_txn_abort(txn);
}

TEST_F(PageTreeTest, ScansBothWaysGiveTheModel) {
  fill(&file_, 6);
  make_image();
  const PageTree tree(image_->data(), meta_);
  PageCursor cursor(&tree);
  ASSERT_TRUE(cursor.first().ok());
  for (const auto& [key, value] : file_.model()) {
    ASSERT_TRUE(cursor.valid());
    ASSERT_EQ(cursor.key(), key);
    ASSERT_EQ(cursor.value(), value);
    ASSERT_TRUE(cursor.next().ok());
  }
  EXPECT_FALSE(cursor.valid());
  ASSERT_TRUE(cursor.last().ok());
  for (auto entry = file_.model().rbegin(); entry != file_.model().rend(); ++entry) {
    ASSERT_EQ(cursor.key(), entry->first);
    ASSERT_TRUE(cursor.prev().ok());
  }
  EXPECT_FALSE(cursor.valid());
}

// The rules that make a page sound are LMDB's own, in every state it leaves behind: pages are
// reused, split, merged, pinned by readers, and all but emptied.
TEST_F(PageTreeTest, EveryCommitIsSound) {
  Random random(7);
  MDB_txn* pin = nullptr;
  for (int i = 0; i < 250; ++i) {
    const unsigned erase_percent = (i / 25) % 2 == 0 ? 25 : 75;
    random_transaction(&file_, &random, 1 + random() % 150, erase_percent, i % 50 < 25 ? 30 : 500);
    if (pin != nullptr && random() % 4 == 0) mdb_txn_abort(std::exchange(pin, nullptr));
    if (pin == nullptr && random() % 4 == 0) {
      check_ok(mdb_txn_begin(file_.env(), nullptr, MDB_RDONLY, &pin));
    }
    make_image();
    Model found;
    const auto use = check_image(image_.get(), &found);
    ASSERT_TRUE(use.ok()) << "commit " << i << ": " << use.status().to_string();
    ASSERT_EQ(found, file_.model());
    ASSERT_EQ(use->lost_pages, 0U) << "commit " << i;
    ASSERT_EQ(use->tree_pages, meta_.main.branch_pages + meta_.main.leaf_pages);
    ASSERT_EQ(use->overflow_pages, meta_.main.overflow_pages);
    const auto free_pages = check_free_list(image_->data(), meta_);
    ASSERT_TRUE(free_pages.ok());
    ASSERT_EQ(*free_pages, use->free_pages);
    ASSERT_TRUE(paths_sound());
  }
  if (pin != nullptr) mdb_txn_abort(pin);
}

// Same-sized rows in order and at random, and values that all shrink: pages nearly empty.
TEST_F(PageTreeTest, RegularRowsAreSound) {
  Random random(8);
  for (const size_t value_bytes : {900, 10, 100, 0}) {
    for (int part = 0; part < 4; ++part) {
      file_.begin();
      for (int i = 0; i < 1500; ++i) {
        char key[17];
        snprintf(key, sizeof key, "%016d", static_cast<int>(part % 2 == 0 ? i : random() % 9000));
        file_.put(key, std::string(value_bytes, 'v'));
      }
      file_.commit();
      make_image();
      ASSERT_EQ(message_of_check(), "");
      ASSERT_TRUE(paths_sound());
    }
  }
}

// LMDB counts pages that it never wrote: allocated and freed in one transaction.
TEST_F(PageTreeTest, FileMayBeShorterThanItsPages) {
  fill(&file_, 9, 3);
  file_.begin();
  file_.put("long", std::string(4 << 20, 'x'));
  file_.erase("long");
  file_.commit();
  make_image();
  ASSERT_LT(meta_.readable_pages, meta_.page_count);
  const auto use = check_image(image_.get());
  ASSERT_TRUE(use.ok()) << use.status().to_string();
  EXPECT_EQ(use->lost_pages, 0U);
  EXPECT_FALSE(read_everything(image_.get(), meta_, file_.model()));
}

TEST_F(PageTreeTest, ThreadsShareATree) {
  fill(&file_, 10);
  make_image();
  const PageTree tree(image_->data(), meta_);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (const auto& [key, value] : file_.model()) {
        const auto got = tree.get(key);
        EXPECT_TRUE(got.ok() && *got && **got == value);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A view of one transaction stays while later ones commit, as long as its LMDB reader lives.
TEST_F(PageTreeTest, PinnedStateOutlivesLaterCommits) {
  fill(&file_, 11);
  MDB_txn* pin = nullptr;
  check_ok(mdb_txn_begin(file_.env(), nullptr, MDB_RDONLY, &pin));
  mdb_filehandle_t fd = -1;
  check_ok(mdb_env_get_fd(file_.env(), &fd));
  struct stat stat {};
  ASSERT_EQ(fstat(fd, &stat), 0);
  const auto size = static_cast<size_t>(stat.st_size);
  auto* map = static_cast<char*>(mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0));
  const std::string_view head(map, std::min(size, kMetaHeadBytes));
  const auto meta = meta_of_txn(head, size, mdb_txn_id(pin));
  ASSERT_TRUE(meta.ok()) << meta.status().to_string();
  const Model before = file_.model();
  fill(&file_, 12, 5);

  const PageTree tree(map, *meta);
  for (const auto& [key, value] : before) {
    const auto got = tree.get(key);
    ASSERT_TRUE(got.ok() && *got);
    ASSERT_EQ(**got, value);
  }
  EXPECT_EQ(meta_of_txn(head, size, meta->txnid).status().code(), StatusCode::kBusy);
  munmap(map, size);
  mdb_txn_abort(pin);
}

// --- Metas ---------------------------------------------------------------------------------------

TEST_F(PageTreeTest, CurrentMetaIsTheNewerOne) {
  fill(&file_, 13, 3);
  make_image();
  const uint64_t newest = meta_.txnid;
  EXPECT_EQ(newest, 3U);  // opening a database that is there already commits nothing
  fill(&file_, 13, 1);
  make_image();
  EXPECT_EQ(meta_.txnid, newest + 1);
}

// Each clause of a sound meta, broken alone, in the current meta.
TEST_F(PageTreeTest, BrokenMetaIsRefused) {
  fill(&file_, 14, 4);
  make_image();
  const size_t at = (meta_.txnid & 1) * kPage;
  struct Clause {
    size_t offset;
    size_t size;
    uint64_t value;
    StatusCode code;
  };
  for (const Clause& clause : std::vector<Clause>{
           {0, 8, 7, StatusCode::kCorrupt},                  // its number
           {10, 2, 2, StatusCode::kCorrupt},                 // page flags
           {16, 4, 0xBEEFC0DF, StatusCode::kCorrupt},        // magic
           {20, 4, 2, StatusCode::kUnsupported},             // data version
           {20, 4, 0, StatusCode::kCorrupt},                 //
           {32, 8, kPage, StatusCode::kCorrupt},             // map size below the last page
           {40, 4, 0, StatusCode::kCorrupt},                 // page size
           {40, 4, 8192, StatusCode::kCorrupt},              //
           {44, 2, 0, StatusCode::kCorrupt},                 // free list's flags
           {44, 2, 0x4009, StatusCode::kCorrupt},            //
           {46, 2, 33, StatusCode::kCorrupt},                // free list's depth
           {80, 8, 1, StatusCode::kCorrupt},                 // free list's root
           {92, 2, 4, StatusCode::kCorrupt},                 // main flags: duplicates
           {94, 2, 0, StatusCode::kCorrupt},                 // main depth
           {120, 8, 0, StatusCode::kCorrupt},                // main entries
           {128, 8, 1 << 20, StatusCode::kCorrupt},          // main root
           {128, 8, kNoPage, StatusCode::kCorrupt},          //
           {136, 8, 0, StatusCode::kCorrupt},                // last page
           {136, 8, kNoPage, StatusCode::kCorrupt},          //
           {144, 8, meta_.txnid + 1, StatusCode::kCorrupt},  // transaction: wrong page
           {144, 8, meta_.txnid + 2, StatusCode::kCorrupt},  // transaction: no predecessor
           {144, 8, meta_.txnid - 2, StatusCode::kOk},       // a lost commit cannot be told
       }) {
    image_->restore(bytes_);
    std::memcpy(image_->data() + at + clause.offset, &clause.value, clause.size);
    const auto meta = image_->meta();
    EXPECT_EQ(meta.status().code(), clause.code) << clause.offset << " = " << clause.value;
  }
}

TEST_F(PageTreeTest, NoPrefixOfAFileHurts) {
  fill(&file_, 15, 4);
  make_image();
  for (size_t size = 0; size < bytes_.size(); size += size < 2 * kPage ? 97 : 4099) {
    Image cut(bytes_.substr(0, size));
    const auto meta = cut.meta();
    if (!meta.ok()) continue;
    EXPECT_TRUE(read_everything(&cut, *meta, file_.model()) || !check_image(&cut).ok() ||
                size > bytes_.size() - kPage)
        << size;
  }
}

// --- Damage --------------------------------------------------------------------------------------

// No flip of a bit makes a reader leave the map, loop, or crash; and the thorough checks see at
// least what the quick ones trip over.
TEST_F(PageTreeTest, BitFlipsAreHarmless) {
  fill(&file_, 16, 8, 150);
  make_image();
  Random random(17);
  const std::vector<uint64_t> pages = live_pages();
  int found = 0;
  for (int i = 0; i < 2000; ++i) {
    char* byte = random_byte(pages, &random);
    const char before = *byte;
    *byte = static_cast<char>(before ^ (1 << random() % 8));
    const auto meta = image_->meta();
    const bool damage = !check_image(image_.get()).ok();
    found += damage;
    if (meta.ok()) {
      const bool failed = read_everything(image_.get(), *meta, file_.model());
      const bool paths = check_paths(image_.get(), *meta, file_.model());
      EXPECT_TRUE(damage || (!failed && paths)) << "byte " << byte - image_->data();
    }
    *byte = before;
  }
  EXPECT_GT(found, 500);
}

// Whole pages gone bad: noise, zeros, ones, another page of the same file, a page's halves.
TEST_F(PageTreeTest, BadPagesAreHarmless) {
  fill(&file_, 18, 8, 150);
  make_image();
  Random random(19);
  const uint64_t pages = image_->size() / kPage;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t page = 2 + random() % (pages - 2);
    char* at = image_->page(page);
    const size_t from = random() % 3 == 0 ? 16 : (random() % 2 == 0 ? 0 : random() % kPage);
    switch (random() % 4) {
      case 0: std::memset(at + from, 0, kPage - from); break;
      case 1: std::memset(at + from, 0xff, kPage - from); break;
      case 2: std::memcpy(at + from, random_bytes(&random, kPage).data(), kPage - from); break;
      default: std::memmove(at + from, image_->page(random() % pages) + from, kPage - from);
    }
    const bool damage = !check_image(image_.get()).ok();
    const bool failed = read_everything(image_.get(), meta_, file_.model());
    const bool paths = check_paths(image_.get(), meta_, file_.model());
    EXPECT_TRUE(damage || (!failed && paths)) << "page " << page;
    image_->restore(bytes_);
  }
}

TEST_F(PageTreeTest, ScanOfACycleEnds) {
  fill(&file_, 20);
  make_image();
  char* page = root();
  for (unsigned i = 0; i < count(page); ++i) point_to(page, i, child(page, 0));
  EXPECT_TRUE(read_everything(image_.get(), meta_, file_.model()));
  for (unsigned i = 0; i < count(page); ++i) point_to(page, i, meta_.main.page);
  EXPECT_TRUE(read_everything(image_.get(), meta_, file_.model()));
  EXPECT_FALSE(paths_sound());
}

TEST_F(PageTreeTest, MessageNamesThePage) {
  fill(&file_, 21);
  make_image();
  char* leaf = first_leaf();
  const auto number = std::to_string(load_le<uint64_t>(leaf));
  leaf[10] = 4;
  const PageTree tree(image_->data(), meta_);
  const auto got = tree.get(file_.model().begin()->first);
  ASSERT_EQ(got.status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(got.status().message().substr(0, 6 + number.size()), "page " + number + ":");
}

TEST_F(PageTreeTest, DuplicateFlagIsDamage) {  // liblmdb dies of it
  fill(&file_, 22);
  make_image();
  node(first_leaf(), 0)[4] |= 4;
  EXPECT_TRUE(read_everything(image_.get(), meta_, file_.model()));
  EXPECT_FALSE(paths_sound());
  EXPECT_NE(message_of_check(), "");
}

TEST_F(PageTreeTest, PageUsedTwiceIsFound) {
  fill(&file_, 23);
  make_image();
  char* branch = root();
  point_to(branch, 1, child(branch, 0));
  EXPECT_NE(message_of_check(), "");
  EXPECT_FALSE(paths_sound());
}

TEST_F(PageTreeTest, OverlappingNodesAreFound) {
  fill(&file_, 24);
  make_image();
  char* leaf = first_leaf();
  ASSERT_GE(count(leaf), 2U);
  std::memcpy(leaf + 18, leaf + 16, 2);  // two slots, one node
  EXPECT_NE(message_of_check(), "");
  EXPECT_FALSE(paths_sound());
}

TEST_F(PageTreeTest, KeysOutOfOrderAreFound) {
  fill(&file_, 25);
  make_image();
  char* leaf = first_leaf();
  std::swap(leaf[16], leaf[18]);
  std::swap(leaf[17], leaf[19]);
  EXPECT_NE(message_of_check().find("not above"), std::string::npos);
  EXPECT_FALSE(paths_sound());
}

TEST_F(PageTreeTest, WrongEntryCountIsFound) {
  fill(&file_, 26);
  make_image();
  meta_.main.entries += 1;
  const auto use = check_tree(image_->data(), meta_, [](auto, auto) { return Status(); });
  EXPECT_EQ(use.status().code(), StatusCode::kCorrupt);
}

TEST_F(PageTreeTest, WrongDepthIsFound) {
  fill(&file_, 27);
  make_image();
  for (const int change : {-1, 1}) {
    TreeMeta meta = meta_;
    meta.main.depth = static_cast<uint16_t>(meta.main.depth + change);
    EXPECT_TRUE(read_everything(image_.get(), meta, file_.model()));
    EXPECT_FALSE(check_tree(image_->data(), meta, [](auto, auto) { return Status(); }).ok());
  }
}

TEST_F(PageTreeTest, VisitorEndsTheCheck) {
  fill(&file_, 28);
  make_image();
  int calls = 0;
  const auto use = check_tree(image_->data(), meta_, [&](auto, auto) {
    return ++calls == 3 ? Status(StatusCode::kBusy, "enough") : Status();
  });
  EXPECT_EQ(use.status().code(), StatusCode::kBusy);
  EXPECT_EQ(calls, 3);
}

// --- The list of free pages ----------------------------------------------------------------------

class FreeListTest : public PageTreeTest {
 protected:
  void SetUp() override {
    fill(&file_, 29);
    make_image();
    ASSERT_NE(meta_.free.page, kNoPage);
    char* page = image_->page(meta_.free.page);
    while (load_le<uint16_t>(page + 10) == 1) page = image_->page(child(page, 0));
    for (unsigned i = 0; i < count(page); ++i) {
      char* at = node(page, i) + 16;  // an 8-byte header and an 8-byte key
      if (load_le<uint16_t>(node(page, i) + 4) == 0 && load_le<uint64_t>(at) >= 2) record_ = at;
    }
    ASSERT_NE(record_, nullptr);
  }
  bool sound() { return check_free_list(image_->data(), meta_).ok(); }

  char* record_ = nullptr;  // a count, then pages, descending
};

TEST_F(FreeListTest, SoundListIsSound) { EXPECT_TRUE(sound()); }

TEST_F(FreeListTest, CountBeyondTheRecordIsFound) {  // liblmdb would copy that many
  store_le(record_, uint64_t{1} << 33);
  EXPECT_FALSE(sound());
}

TEST_F(FreeListTest, MetaPageInTheListIsFound) {  // liblmdb would write there
  const auto pages = load_le<uint64_t>(record_);
  store_le(record_ + 8 * pages, uint64_t{1});
  EXPECT_FALSE(sound());
}

TEST_F(FreeListTest, PageBeyondTheLastIsFound) {
  store_le(record_ + 8, meta_.page_count);
  EXPECT_FALSE(sound());
}

TEST_F(FreeListTest, PageListedTwiceIsFound) {
  store_le(record_ + 16, load_le<uint64_t>(record_ + 8));
  EXPECT_FALSE(sound());
}

TEST_F(FreeListTest, PageInUseIsFound) {
  const auto free_page = load_le<uint64_t>(record_ + 8);
  EXPECT_EQ(message_of_check(), "");
  store_le(record_, uint64_t{1});
  store_le(record_ + 8, meta_.main.page);
  EXPECT_NE(message_of_check().find("in use"), std::string::npos) << free_page;
}

TEST_F(FreeListTest, TransactionThatNeverWasIsFound) {
  store_le(record_ - 8, meta_.txnid + 1);
  EXPECT_FALSE(sound());
}

// --- Before a write ------------------------------------------------------------------------------

// Each page that the checker must see for a key, spoiled alone.
TEST_F(PageTreeTest, PathCheckerSeesPathAndNeighbours) {
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
    PathChecker checker(&tree);
    EXPECT_EQ(checker.check_erase(key).code(), StatusCode::kCorrupt) << number;
    image_->page(number)[11] ^= 0x20;
    EXPECT_TRUE(checker.check_erase(key).ok());  // an error is not remembered as a success
  }
}

TEST_F(PageTreeTest, PathCheckerSeesTheRunOfTheOldValue) {
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
  store_le(run + 12, uint32_t{1} << 30);  // pages to be freed
  PathChecker checker(&tree);
  EXPECT_TRUE(checker.check_erase("bih").ok());
  EXPECT_EQ(checker.check_erase("big").code(), StatusCode::kCorrupt);
  EXPECT_FALSE(tree.get("big").ok());
}

// What the checks are for: where they find nothing wrong, liblmdb survives writing. It runs in a child
// process, on a damaged copy, and may fail or store nonsense, but not die.
class WriteTest : public PageTreeTest {
 protected:
  // In the child: one transaction, if the checks allow it.
  void write_through_checks(const std::string& path, Random* random) {
    Image image(read_file(path));
    const auto meta = image.meta();
    if (!meta.ok() || !check_free_list(image.data(), *meta).ok()) return;
    MDB_env* env = nullptr;
    MDB_txn* txn = nullptr;
    mdb_env_create(&env);
    mdb_env_set_mapsize(env, 1UL << 30);
    if (mdb_env_open(env, path.c_str(), MDB_NOSUBDIR | MDB_NOSYNC | MDB_NOLOCK, 0600) == 0 &&
        mdb_txn_begin(env, nullptr, 0, &txn) == 0) {
      const PageTree tree(image.data(), *meta);
      write_some(txn, tree, random);
      (void)mdb_txn_commit(txn);
    }
    mdb_env_close(env);
  }

  void write_some(MDB_txn* txn, const PageTree& tree, Random* random) {
    MDB_dbi dbi = 0;
    if (mdb_dbi_open(txn, nullptr, 0, &dbi) != 0) return;
    PathChecker checker(&tree);
    const unsigned erase_percent = (*random)() % 2 == 0 ? 90 : 20;
    for (const auto& [key, old] : file_.model()) {
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
