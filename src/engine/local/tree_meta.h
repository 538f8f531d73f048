// TreeMeta: what a meta page of LMDB's file says: where the trees of one committed state are.

#pragma once

#include <cstdint>
#include <string_view>

#include "engine/local/page_format.h"
#include "lapse/status.h"

namespace lapse::engine {

inline constexpr size_t kMetaHeadBytes = 2 * kMaxPageBytes;  // two pages of the largest size there is

struct TreeRoot {
  uint64_t page = kNoPage;  // kNoPage: the tree is empty
  uint16_t depth = 0;       // levels: 1 if the root is a leaf
  uint64_t entries = 0;
  uint64_t branch_pages = 0;
  uint64_t leaf_pages = 0;
  uint64_t overflow_pages = 0;
};

// One committed state of the file.
struct TreeMeta {
  uint64_t txnid = 0;
  uint32_t page_bytes = 0;
  uint64_t page_count = 0;      // ever allocated, the two meta pages included
  uint64_t readable_pages = 0;  // of those, the ones inside the file. LMDB does not write pages that it
                                // allocated and freed in one transaction, so a sound file may be short.
  TreeRoot main;
  TreeRoot free;  // LMDB's list of free pages
};

// Parses one meta page, whole, and checks all that can be checked without reading other pages.
//   kCorrupt: not a meta page, or not one that LMDB would write for us; kUnsupported: newer format.
Result<TreeMeta> parse_meta(std::string_view page, uint64_t file_bytes);

// The newer of the two metas: the one LMDB goes by. `head` is the beginning of the file:
// kMetaHeadBytes, or all of it if it is shorter. Run it before LMDB opens a file: LMDB divides by
// the page size it finds. Both must be sound in themselves, since LMDB looks into both; only the newer one
// must lead somewhere. An empty file is kCorrupt here.
Result<TreeMeta> current_meta(std::string_view head, uint64_t file_bytes);

// The meta of one transaction, which its second successor overwrites: kBusy if that has happened.
// REQUIRES: no commit runs meanwhile.
Result<TreeMeta> meta_of_txn(std::string_view head, uint64_t file_bytes, uint64_t txnid);

}  // namespace lapse::engine
