#include "engine/local/tree_meta.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/coding.h"
#include "base/try.h"

namespace lapse::engine {

namespace {

constexpr size_t kMetaBytes = 152;  // header included
constexpr uint32_t kMagic = 0xBEEFC0DE;
constexpr uint32_t kDataVersion = 1;
constexpr uint16_t kMetaFlag = 8;
constexpr size_t kMinPageBytes = 512;
constexpr uint64_t kMaxPages = uint64_t{1} << 48;  // what a branch node can name
constexpr uint16_t kIntegerKeys = 0x08;            // the free list's database flag
constexpr uint16_t kNoSubdir = 0x4000;  // kept there too, since the environment was created with it

TreeRoot parse_root(const char* record) {
  TreeRoot root;
  root.depth = load16(record + 6);
  root.branch_pages = load_le<uint64_t>(record + 8);
  root.leaf_pages = load_le<uint64_t>(record + 16);
  root.overflow_pages = load_le<uint64_t>(record + 24);
  root.entries = load_le<uint64_t>(record + 32);
  root.page = load_le<uint64_t>(record + 40);
  return root;
}

Status check_root(const TreeRoot& root, const TreeMeta& meta, std::string_view name) {
  const std::string what =
      "the meta of transaction " + std::to_string(meta.txnid) + ": the " + std::string(name) + " tree ";
  if (root.page == kNoPage) {
    if (root.depth != 0 || root.entries != 0) return corrupt(what + "has no root, but entries");
    return Status();
  }
  if (root.page < 2 || root.page >= meta.page_count) {
    return corrupt(what + "has its root at page " + std::to_string(root.page) + " of " +
                   std::to_string(meta.page_count));
  }
  if (root.page >= meta.readable_pages) return corrupt(what + "begins behind the end of the file");
  if (root.depth == 0 || root.depth > kMaxDepth) {
    return corrupt(what + "is " + std::to_string(root.depth) + " levels deep");
  }
  if (root.entries == 0) return corrupt(what + "has a root, but no entries");
  return Status();
}

bool is_page_size(uint64_t bytes) {
  return bytes >= kMinPageBytes && bytes <= kMaxPageBytes && (bytes & (bytes - 1)) == 0;
}

// What must hold before anything else in the page means anything.
Status check_meta_header(std::string_view page) {
  if (page.size() < kMetaBytes) return corrupt("the file is too short to be a store");
  if (load16(page.data() + 10) != kMetaFlag || load_le<uint32_t>(page.data() + 16) != kMagic) {
    return corrupt("not an LMDB file, or one whose meta page is damaged");
  }
  const auto version = load_le<uint32_t>(page.data() + 20);
  if (version > kDataVersion) {
    return Status(StatusCode::kUnsupported,
                  "LMDB data format " + std::to_string(version) + " is newer than this program");
  }
  if (version < kDataVersion) return corrupt("a meta page has no data version");
  if (!is_page_size(load_le<uint32_t>(page.data() + 40))) {
    return corrupt("a meta page claims a page size of " +
                   std::to_string(load_le<uint32_t>(page.data() + 40)));
  }
  return Status();
}

// The two pages, once it is known where the second begins.
Result<std::pair<std::string_view, std::string_view>> split_head(std::string_view head) {
  LAPSE_TRY(check_meta_header(head));
  const size_t page_bytes = load_le<uint32_t>(head.data() + 40);
  if (head.size() < 2 * page_bytes) return corrupt("the file ends before its second meta page");
  return std::pair(head.substr(0, page_bytes), head.substr(page_bytes, page_bytes));
}

// All of a meta but where it leads: the older one may name pages that are not in the file any more.
Result<TreeMeta> parse_fields(std::string_view page, uint64_t file_bytes) {
  LAPSE_TRY(check_meta_header(page));
  const char* at = page.data();
  TreeMeta meta;
  meta.page_bytes = load_le<uint32_t>(at + 40);
  meta.txnid = load_le<uint64_t>(at + 144);
  meta.free = parse_root(at + 40);
  meta.main = parse_root(at + 88);
  const std::string who = "the meta of transaction " + std::to_string(meta.txnid) + ": ";
  if (meta.page_bytes != page.size()) return corrupt(who + "the page size differs between metas");

  const uint64_t number = load_le<uint64_t>(at);
  if (number > 1 || (meta.txnid != 0 && number != (meta.txnid & 1))) {
    return corrupt(who + "it is in the wrong page");
  }
  const uint64_t last_page = load_le<uint64_t>(at + 136);
  if (last_page < 1 || last_page >= kMaxPages || last_page >= load_le<uint64_t>(at + 32) / meta.page_bytes) {
    return corrupt(who + "the last page cannot be " + std::to_string(last_page));
  }
  meta.page_count = last_page + 1;
  meta.readable_pages = std::min(meta.page_count, file_bytes / meta.page_bytes);
  const uint16_t free_flags = load16(at + 44);
  if ((free_flags & ~kNoSubdir) != kIntegerKeys || load16(at + 92) != 0) {
    return corrupt(who + "the database flags are not ours");
  }
  return meta;
}

}  // namespace

Result<TreeMeta> parse_meta(std::string_view page, uint64_t file_bytes) {
  LAPSE_TRY_ASSIGN(const TreeMeta meta, parse_fields(page, file_bytes));
  LAPSE_TRY(check_root(meta.free, meta, "free list's"));
  LAPSE_TRY(check_root(meta.main, meta, "main"));
  return meta;
}

Result<TreeMeta> current_meta(std::string_view head, uint64_t file_bytes) {
  LAPSE_TRY_ASSIGN(auto pages, split_head(head));
  LAPSE_TRY_ASSIGN(const TreeMeta even_meta, parse_fields(pages.first, file_bytes));
  LAPSE_TRY_ASSIGN(const TreeMeta odd_meta, parse_fields(pages.second, file_bytes));
  // Transactions take turns, so an older number that is not the predecessor is a damaged number:
  // LMDB would take the wrong one for the newer.
  const bool odd_is_newer = odd_meta.txnid > even_meta.txnid;
  const uint64_t distance =
      odd_is_newer ? odd_meta.txnid - even_meta.txnid : even_meta.txnid - odd_meta.txnid;
  if (distance > 1) {
    return corrupt("the metas are of transactions " + std::to_string(even_meta.txnid) + " and " +
                   std::to_string(odd_meta.txnid) + ", which do not follow each other");
  }
  return parse_meta(odd_is_newer ? pages.second : pages.first, file_bytes);
}

Result<TreeMeta> meta_of_txn(std::string_view head, uint64_t file_bytes, uint64_t txnid) {
  LAPSE_TRY_ASSIGN(auto pages, split_head(head));
  const std::string_view page = (txnid & 1) != 0 ? pages.second : pages.first;
  LAPSE_TRY(check_meta_header(page));
  const auto found = load_le<uint64_t>(page.data() + 144);
  if (found != txnid) {
    return Status(StatusCode::kBusy,
                  "transaction " + std::to_string(txnid) + " was overtaken by " + std::to_string(found));
  }
  return parse_meta(page, file_bytes);
}

}  // namespace lapse::engine
