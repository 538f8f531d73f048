// Opening: the registry of stores that this process has open, recovery, and what is refused.

#include "engine/local/local_engine.h"

#include <sys/stat.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "base/file.h"
#include "base/test_hooks.h"
#include "base/try.h"
#include "engine/local/core.h"
#include "engine/local/handle.h"
#include "engine/local/journal_recovery.h"
#include "engine/local/per_process.h"

namespace lapse::engine {

namespace {

constexpr size_t kLargestTransaction = (4UL << 30) - (1UL << 20);  // a record's length has 32 bits

// LMDB, and POSIX locks, allow a file to be open once in a process: whoever opens it again gets the same
// core. A core is in the registry until it is destroyed altogether, so that nobody opens a file that is still
// being closed. A forked child has a registry of its own: the parent's may have been forked in the middle of a change.
class Registry {
 public:
  using FileId = std::pair<dev_t, ino_t>;
  using Lock =
      std::unique_lock<std::recursive_mutex>;  // recursive: a core may go while its like is being opened

  // Never destroyed: handles may outlive static destruction.
  static Registry& instance() {
    static PerProcess<Registry> registry;
    return registry.get();
  }

  static Lock lock() { return Lock(handles_mutex()); }

  // The core of the file at `path`, if this process has it open. Waits for one that is on its way out.
  std::shared_ptr<Core> find(const std::string& path, Lock* lock) {
    while (true) {
      const auto entry = cores_.find(id_of(path));
      if (entry == cores_.end()) return nullptr;
      std::shared_ptr<Core> core = entry->second.lock();
      if (core && (core->has_handles() || core->has_guests())) return core;
      core.reset();  // which may be the end of it
      if (cores_.contains(id_of(path))) destroyed_.wait(*lock);
    }
  }

  // Shares a core that find() will find.
  std::shared_ptr<Core> add(const std::string& path, std::unique_ptr<Core> core) {
    const FileId id = id_of(path);
    const auto destroy = [this, id](Core* last) {
      {
        const Lock held = lock();
        delete last;
        cores_.erase(id);
      }
      destroyed_.notify_all();
    };
    std::shared_ptr<Core> shared(core.release(), destroy);
    cores_[id] = shared;
    return shared;
  }

 private:
  static FileId id_of(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return {};
    return {info.st_dev, info.st_ino};
  }

  std::condition_variable_any destroyed_;
  std::map<FileId, std::weak_ptr<Core>> cores_;
};

}  // namespace

Status check_options(const LocalOptions& options) {
  const auto refuse = [](const std::string& why) { return Status(StatusCode::kInvalidArgument, why); };
  if (options.buffer_bytes == 0) return refuse("buffer_bytes must be above 0");
  if (options.journal_file_bytes == 0) return refuse("journal_file_bytes must be above 0");
  if (options.drain_slice_rows == 0) return refuse("drain_slice_rows must be above 0");
  if (options.drain_slice_bytes == 0) return refuse("drain_slice_bytes must be above 0");
  if (options.map_bytes < 1 << 20) return refuse("map_bytes must be at least 1 MiB");
  if (options.sync_interval_ms < 0) return refuse("sync_interval_ms must not be negative");
  if (options.max_transaction_bytes == 0 || options.max_transaction_bytes > kLargestTransaction)
    return refuse("max_transaction_bytes must be from 1 to " + std::to_string(kLargestTransaction));
  if (options.clock == nullptr) return refuse("clock must not be null");
  return {};
}

namespace {

Status apply_record(const Record& record, WriteBuffer* buffer) {
  std::string_view payload = record.payload;
  while (!payload.empty()) {
    const std::optional<Write> write = take_write(&payload);
    if (!write)
      return {StatusCode::kCorrupt, "the journal record of commit " + std::to_string(record.sequence) +
                                        " holds what is no write, under a checksum that holds"};
    buffer->insert(write->key, record.sequence, write->value);
  }
  return {};
}

// Makes sure that what was read from the journal is on disk before the tree relies on it. A sync alone would
// not do: if one had failed before, the kernel may hold pages that it takes for written.
Status write_again(const JournalSlot& slot) {
  LAPSE_TRY(slot.file.write(0, slot.mapping.bytes()));
  return slot.file.sync();
}

// Keeps what took part in damage, for whoever wants to look. A copy, since what stands before the damage is still needed
// where it is.
Status keep_aside(const JournalSlot& slot) {
  const std::string& path = slot.file.path();
  std::string aside = path + ".damaged";
  for (int i = 2; may_exist(aside); ++i) aside = path + ".damaged" + std::to_string(i);
  LAPSE_TRY_ASSIGN(const File copy, File::open(aside, File::Mode::kCreate));
  LAPSE_TRY(copy.write(0, slot.mapping.bytes()));
  LAPSE_TRY(copy.sync());
  return sync_directory_of(aside);
}

class Opening {
 public:
  Opening(std::string path, const LocalOptions& options) : path_(std::move(path)), options_(options) {}

  Result<std::unique_ptr<Core>> open() {
    const auto kind = options_.read_only ? OwnerLock::Kind::kReader : OwnerLock::Kind::kWriter;
    LAPSE_TRY(check_or_allow_absence());
    test_hooks::crash_point("open-looked");
    LAPSE_TRY_ASSIGN(lock_, OwnerLock::acquire(path_, kind));
    if (absent_) LAPSE_TRY(check_or_allow_absence());  // another process may have made it meanwhile
    if (absent_) LAPSE_TRY(create());
    // What a killed process left may be in the page cache only: names as well as (Tree::open) a meta page. It must be on
    // disk before anything relies on it: before a commit into a file whose name is not there yet, before a journal is used
    // again that an unsynced tree has drained.
    if (!options_.read_only) LAPSE_TRY(sync_directory_of(path_));
    const auto mode = options_.read_only ? Tree::Mode::kReadOnly : Tree::Mode::kReadWrite;
    LAPSE_TRY_ASSIGN(contents_.tree, Tree::open(path_, mode, options_.map_bytes));
    LAPSE_TRY(replay());
    return start();
  }

 private:
  // Looks before it leaves a lock file beside something that is no store.
  Status check_or_allow_absence() {
    Status status = Tree::check_kind(path_);
    absent_ = status.code() == StatusCode::kNotFound;
    return absent_ && options_.create_if_missing && !options_.read_only ? Status() : status;
  }

  Status create() {
    LAPSE_TRY_ASSIGN(const std::vector<JournalSlot> slots, find_journal_slots(path_, true));
    if (!slots.empty())
      return {StatusCode::kInvalidArgument, path_ + ": no store there, but its journal " +
                                                slots[0].file.path() +
                                                " is; restore the store, or move the journal away"};
    StoreMeta meta;
    meta.store_id = new_store_id();
    return Tree::create(path_, meta, nullptr);
  }

  Status replay() {
    LAPSE_TRY_ASSIGN(slots_, find_journal_slots(path_, options_.read_only));
    std::vector<JournalImage> images;
    for (const JournalSlot& slot : slots_) images.push_back({slot.file.path(), slot.mapping.bytes()});
    const StoreMeta& meta = contents_.tree->current()->meta();
    const ReplayStart start{.name = path_,
                            .store_id = meta.store_id,
                            .drained_sequence = meta.drained_sequence,
                            .first_file = meta.first_file,
                            .chain = meta.chain,
                            .synced_sequence = meta.target_sequence};
    contents_.buffer = Core::new_buffer(options_);
    const auto apply = [&](const Record& record) { return apply_record(record, contents_.buffer.get()); };
    LAPSE_TRY_ASSIGN(end_, replay_journal(images, start, apply));
    if (!options_.salvage) LAPSE_TRY(end_.damage);
    // A drain that had begun may have brought later commits into the tree: their numbers are taken.
    contents_.end = {end_.next_file, std::max(end_.last_sequence, meta.target_sequence), end_.chain};
    return {};
  }

  Result<std::unique_ptr<Core>> start() {
    const StoreId store_id = contents_.tree->current()->meta().store_id;
    const Journal::Position end = contents_.end;
    if (!options_.read_only && !end_.clean) {
      test_hooks::crash_point("recovery-begin");
      for (size_t damaged : end_.damaged) LAPSE_TRY(keep_aside(slots_[damaged]));
      for (size_t live : end_.live) LAPSE_TRY(write_again(slots_[live]));
      test_hooks::crash_point("recovery-synced");
    }
    // What was closed cleanly was synced then; but a copy of it, or what was restored, need not be.
    if (!options_.read_only && end_.clean) {
      for (size_t live : end_.live) LAPSE_TRY(slots_[live].file.sync());
    }
    auto core = std::make_unique<Core>(path_, options_, std::move(contents_), std::move(lock_));
    if (options_.read_only) return core;
    if (!end_.clean) {
      LAPSE_TRY(core->drain_recovered());
      test_hooks::crash_point("recovery-drained");
    }
    auto journal = std::make_unique<Journal>(path_, store_id, options_, end);
    LAPSE_TRY(hand_over_files(journal.get()));
    core->start_journal(std::move(journal));
    if (options_.background_drain) LAPSE_TRY(core->start_background_thread());
    return core;
  }

  // What is in the tree now may be overwritten; what was closed cleanly still counts.
  Status hand_over_files(Journal* journal) {
    std::vector<bool> taken(slots_.size());
    if (end_.clean) {
      for (size_t live : end_.live) {
        LAPSE_TRY(journal->adopt_live(std::move(slots_[live])));
        taken[live] = true;
      }
    }
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (!taken[i]) LAPSE_TRY(journal->adopt_spare(std::move(slots_[i])));
    }
    return {};
  }

  const std::string path_;
  const LocalOptions& options_;
  OwnerLock lock_;
  bool absent_ = false;
  Core::Contents contents_;
  std::vector<JournalSlot> slots_;
  ReplayEnd end_;
};

}  // namespace

Result<std::unique_ptr<Engine>> open_local(const std::string& path, const LocalOptions& options) {
  LAPSE_TRY(check_options(options));
  if (path.empty()) return Status(StatusCode::kInvalidArgument, "the path of the store is empty");
  LAPSE_TRY_ASSIGN(const std::string canonical, canonical_path(path));
  Registry& registry = Registry::instance();
  Registry::Lock lock = registry.lock();
  if (std::shared_ptr<Core> core = registry.find(canonical, &lock)) {
    if (!core->has_handles())
      return Status(StatusCode::kBusy,
                    canonical + ": closed, but a snapshot of it is still alive in this process");
    if (core->read_only() && !options.read_only)
      return Status(StatusCode::kBusy, canonical + ": open read-only in this process");
    return make_handle(std::move(core), options.read_only);
  }
  LAPSE_TRY_ASSIGN(std::unique_ptr<Core> core, Opening(canonical, options).open());
  return make_handle(registry.add(canonical, std::move(core)), options.read_only);
}

}  // namespace lapse::engine
