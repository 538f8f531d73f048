#include "engine/local/tree_meta.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "engine/local/page_tree_fixture.h"

namespace lapse::engine {
namespace {

class TreeMetaTest : public PageTreeFixture {};

TEST_F(TreeMetaTest, CurrentMetaIsTheNewerOne) {
  fill(&file_, 13, 3);
  make_image();
  const uint64_t newest = meta_.txnid;
  EXPECT_EQ(newest, 3U);  // opening a database that is there already commits nothing
  fill(&file_, 13, 1);
  make_image();
  EXPECT_EQ(meta_.txnid, newest + 1);
}

// Each clause of a sound meta, broken alone, in the current meta.
TEST_F(TreeMetaTest, BrokenMetaIsRefused) {
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

TEST_F(TreeMetaTest, NoPrefixOfAFileHurts) {
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

}  // namespace
}  // namespace lapse::engine
