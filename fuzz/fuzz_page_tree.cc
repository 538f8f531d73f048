// Feeds arbitrary bytes to the page reader as an LMDB file: no read outside of it, no endless walk, and searches together
// find what each finds alone. The head may be put right first, so that the fuzzer gets behind the checks of the meta pages.

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include "base/coding.h"
#include "engine/local/page_tree.h"
#include "engine/local/path_checker.h"
#include "engine/local/tree_check.h"

namespace {

using namespace lapse::engine;  // NOLINT(google-build-using-namespace)

constexpr size_t kPage = 4096;

void put_meta(std::string* file, uint64_t page, uint64_t pages, uint64_t root, uint16_t depth) {
  char* at = file->data() + page * kPage;
  std::fill(at, at + 152, '\0');
  lapse::store_le(at, page);
  lapse::store_le(at + 10, uint16_t{8});
  lapse::store_le(at + 16, uint32_t{0xBEEFC0DE});
  lapse::store_le(at + 20, uint32_t{1});
  lapse::store_le(at + 32, uint64_t{1} << 30);
  lapse::store_le(at + 40, uint32_t{kPage});
  lapse::store_le(at + 80, ~uint64_t{0});  // no list of free pages
  lapse::store_le(at + 94, depth);
  lapse::store_le(at + 96 + 24, uint64_t{1});
  lapse::store_le(at + 128, root);
  lapse::store_le(at + 136, pages - 1);
  lapse::store_le(at + 144, page);
}

void walk(const std::string& file) {
  const auto meta = current_meta(file, file.size());
  if (!meta.ok()) return;
  const PageTree tree(file.data(), *meta);
  constexpr std::string_view kKeys[] = {"key", "", "m"};
  PageTree::Found found[std::size(kKeys)];
  tree.find_together(kKeys, found);
  for (size_t i = 0; i < std::size(kKeys); ++i) {
    const auto got = tree.get(kKeys[i]);
    if (found[i].known && (!got.ok() || *got != found[i].value)) std::abort();
  }
  PageCursor cursor(&tree);
  size_t steps = 0;
  for (auto status = cursor.first(); status.ok() && cursor.valid() && steps < 10000; ++steps)
    status = cursor.next();
  for (auto status = cursor.last(); status.ok() && cursor.valid() && steps < 20000; ++steps)
    status = cursor.prev();
  (void)cursor.seek("m");
  if (const auto free = check_free_list(file.data(), *meta); free.ok()) {
    PathChecker checker(&tree, &free->pages);
    (void)checker.check_put("key", 100);
    (void)checker.check_erase("key");
  }
  (void)check_tree(file.data(), *meta, [](std::string_view, std::string_view) { return lapse::Status(); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string file(reinterpret_cast<const char*>(data), size);
  walk(file);
  // The input as the pages behind two good metas.
  const size_t pages = 2 + (size + kPage - 1) / kPage;
  std::string made(2 * kPage, '\0');
  made += file;
  made.resize(pages * kPage);
  const auto depth = static_cast<uint16_t>(size == 0 ? 1 : 1 + data[0] % 4);
  for (uint64_t page : {0, 1}) put_meta(&made, page, pages, 2, depth);
  // Pages must say who they are: say it for them.
  for (uint64_t page = 2; page < pages; ++page) lapse::store_le(made.data() + page * kPage, page);
  walk(made);
  return 0;
}
