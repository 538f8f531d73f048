// Checks of whole trees: everything in a file, or what must be sound before the first write.

#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "engine/local/page_set.h"
#include "engine/local/tree_meta.h"
#include "lapse/status.h"

namespace lapse::engine {

// How the pages of a sound file are used.
struct PageUse {
  uint64_t tree_pages = 0;       // branches and leaves of the main tree
  uint64_t overflow_pages = 0;   // of its long values
  uint64_t free_list_pages = 0;  // all pages of the tree of free pages
  uint64_t free_pages = 0;       // listed in it
  uint64_t lost_pages = 0;       // in no list: harmless, but the space is gone until compact_to()
};

// Reads everything: both trees page by page, that no page is used twice, that keys ascend and stay
// between their separators, that all leaves are equally deep, that the numbers of entries are those
// of the meta. Calls visit for each entry of the main tree, in order; a Status of it that is not ok
// ends the check and is returned.
Result<PageUse> check_tree(const char* map, const TreeMeta& meta,
                           const std::function<Status(std::string_view key, std::string_view value)>& visit);

// The part of check_tree() that concerns the list of free pages, without which no write transaction
// is safe: liblmdb copies as many numbers as a record claims to hold, and writes where they say.
// Reads 8 bytes per free page.
struct FreePages {
  uint64_t count = 0;
  PageSet pages;  // and those that the list itself is in
};
Result<FreePages> check_free_list(const char* map, const TreeMeta& meta);

}  // namespace lapse::engine
