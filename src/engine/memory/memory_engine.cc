#include "engine/memory/memory_engine.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/file.h"
#include "base/try.h"
#include "engine/local/core.h"
#include "engine/local/handle.h"

namespace lapse::engine {

namespace {

// A directory of its own, whose contents go as soon as they are open.
class TemporaryDirectory {
 public:
  static Result<TemporaryDirectory> make() {
    const char* parent = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): read only
    TemporaryDirectory directory;
    directory.path_ = std::string(parent != nullptr && *parent != '\0' ? parent : "/tmp") + "/lapse-XXXXXX";
    if (::mkdtemp(directory.path_.data()) == nullptr) {
      Status status = os_error(directory.path_, "cannot create", errno);
      directory.path_.clear();
      return status;
    }
    return directory;
  }

  TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory() {
    if (path_.empty()) return;
    for (const char* suffix : {"", "-lock", "-new"}) (void)remove_file(file() + suffix);
    ::rmdir(path_.c_str());
  }

  std::string file() const { return path_ + "/memory"; }

 private:
  TemporaryDirectory() = default;
  std::string path_;
};

}  // namespace

Result<std::unique_ptr<Engine>> open_memory(const MemoryOptions& options) {
  LocalOptions local;
  local.durability = Durability::kNone;
  local.buffer_bytes = options.buffer_bytes;
  local.max_transaction_bytes = options.max_transaction_bytes;
  local.drain_slice_rows = options.drain_slice_rows;
  local.drain_slice_bytes = options.drain_slice_bytes;
  local.clock = options.clock;
  local.background_drain = options.background_drain;
  LAPSE_TRY(check_options(local));
  LAPSE_TRY_ASSIGN(const TemporaryDirectory directory, TemporaryDirectory::make());
  StoreMeta meta;
  meta.store_id = new_store_id();
  LAPSE_TRY(Tree::create(directory.file(), meta, nullptr));
  Core::Contents contents;
  LAPSE_TRY_ASSIGN(contents.tree, Tree::open(directory.file(), Tree::Mode::kTemporary, local.map_bytes));
  contents.buffer = Core::new_buffer(local);
  auto core = std::make_shared<Core>(":memory:", local, std::move(contents), OwnerLock());
  if (options.background_drain) LAPSE_TRY(core->start_background_thread());
  return make_handle(std::move(core), false);
}

}  // namespace lapse::engine
