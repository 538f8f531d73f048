#include "engine/local/tree_check.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "engine/local/page_tree_fixture.h"

namespace lapse::engine {
namespace {

class TreeCheckTest : public PageTreeFixture {};

TEST_F(TreeCheckTest, PageUsedTwiceIsFound) {
  fill(&file_, 23);
  make_image();
  char* branch = root();
  point_to(branch, 1, child(branch, 0));
  EXPECT_NE(message_of_check(), "");
  EXPECT_FALSE(paths_sound());
}

TEST_F(TreeCheckTest, OverlappingNodesAreFound) {
  fill(&file_, 24);
  make_image();
  char* leaf = first_leaf();
  ASSERT_GE(count(leaf), 2U);
  std::memcpy(leaf + 18, leaf + 16, 2);  // two slots, one node
  EXPECT_NE(message_of_check(), "");
  EXPECT_FALSE(paths_sound());
}

TEST_F(TreeCheckTest, KeysOutOfOrderAreFound) {
  fill(&file_, 25);
  make_image();
  char* leaf = first_leaf();
  std::swap(leaf[16], leaf[18]);
  std::swap(leaf[17], leaf[19]);
  EXPECT_NE(message_of_check().find("not above"), std::string::npos);
  EXPECT_FALSE(paths_sound());
}

TEST_F(TreeCheckTest, WrongEntryCountIsFound) {
  fill(&file_, 26);
  make_image();
  meta_.main.entries += 1;
  const auto use = check_tree(image_->data(), meta_, [](auto, auto) { return Status(); });
  EXPECT_EQ(use.status().code(), StatusCode::kCorrupt);
}

TEST_F(TreeCheckTest, WrongDepthIsFound) {
  fill(&file_, 27);
  make_image();
  for (const int change : {-1, 1}) {
    TreeMeta meta = meta_;
    meta.main.depth = static_cast<uint16_t>(meta.main.depth + change);
    EXPECT_TRUE(read_everything(image_.get(), meta, file_.model()));
    EXPECT_FALSE(check_tree(image_->data(), meta, [](auto, auto) { return Status(); }).ok());
  }
}

TEST_F(TreeCheckTest, VisitorEndsTheCheck) {
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

class FreeListTest : public PageTreeFixture {
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

}  // namespace
}  // namespace lapse::engine
