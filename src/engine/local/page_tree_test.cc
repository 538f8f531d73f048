// PageTree against liblmdb and against damage.

#include "engine/local/page_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <string>
#include <thread>
#include <vector>

#include "engine/local/page_tree_fixture.h"

namespace lapse::engine {
namespace {

class PageTreeTest : public PageTreeFixture {};

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
  const PageSet none_free(meta_.readable_pages);
  PathChecker checker(&tree, &none_free);
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

TEST_F(PageTreeTest, SearchesTogetherFindWhatGetFinds) {
  fill(&file_, 1);
  make_image();
  const PageTree tree(image_->data(), meta_);
  Random random(3);
  size_t known = 0;
  constexpr int kRounds = 2000;
  for (int i = 0; i < kRounds; ++i) {
    std::vector<std::string> keys;
    for (size_t left = random() % (PageTree::kTogether + 1); left > 0; --left)
      keys.push_back(some_key(file_.model(), &random, 24));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    PageTree::Found found[PageTree::kTogether];
    tree.find_together(views, found);
    for (size_t k = 0; k < keys.size(); ++k) {
      if (!found[k].known) continue;
      ++known;
      ASSERT_EQ(*tree.get(keys[k]), found[k].value) << keys[k];
    }
  }
  EXPECT_GT(known, kRounds * PageTree::kTogether / 4);  // all but long values
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
    ASSERT_EQ(free_pages->count, use->free_pages);
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

// As when a branch is of another time than the leaves below it.
TEST_F(PageTreeTest, SeekNeverEndsBeforeItsKey) {
  fill(&file_, 34);
  make_image();
  char* branch = root();
  while (load_le<uint16_t>(image_->page(child(branch, 0)) + 10) == 1) branch = image_->page(child(branch, 0));
  ASSERT_GE(count(branch), 2U);
  const size_t bytes = load_le<uint16_t>(node(branch, 1) + 6);
  char* separator = node(branch, 1) + 8;
  const std::string target = std::string(separator, bytes) + '\0';
  ++separator[bytes - 1];
  ASSERT_LT(target, std::string(separator, bytes));
  const PageTree tree(image_->data(), meta_);
  PageCursor cursor(&tree);
  EXPECT_EQ(cursor.seek(target).code(), StatusCode::kCorrupt);
  EXPECT_FALSE(cursor.valid());
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

}  // namespace
}  // namespace lapse::engine
