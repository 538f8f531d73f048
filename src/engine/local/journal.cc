#include "engine/local/journal.h"

#include <algorithm>
#include <charconv>
#include <new>

#include "base/memory.h"
#include "base/random.h"
#include "base/test_hooks.h"
#include "base/try.h"
#include "engine/local/journal_recovery.h"

namespace lapse::engine {

namespace {

constexpr std::string_view kSuffix = "-journal";
constexpr uint64_t kSmallestFileBytes = 64 << 10;  // doubled from file to file
constexpr uint64_t kBlockBytes = 4096;
// Writing begins this early, so that little is left to wait for when a file is full.
constexpr uint64_t kWritebackBytes = 1 << 20;
// A small record costs least as a store into mapped memory: no call at all. But each page that is stored to is a fault when it
// is first touched, and an interrupt of all other processors when it goes to disk; from about a page on a write is cheaper.
constexpr size_t kCheaperToWriteBytes = 4096;

std::string slot_path(const std::string& path, int slot) {
  return path + std::string(kSuffix) + std::to_string(slot);
}

// At `full` a sync follows each commit, and so do the interrupts: a commit of a few KB took 280 us by a store, and 120 us by a
// write.
size_t write_from_bytes(const LocalOptions& options) {
  const bool is_synced_at_once = options.durability == Durability::kFull;
  return options.journal_io == JournalIo::kAuto && is_synced_at_once ? 0 : kCheaperToWriteBytes;
}

uint64_t round_up(uint64_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes; }

}  // namespace

// One file of the journal, and how bytes get into it.
class Journal::JournalFile {
 public:
  JournalFile(int slot, File file, size_t write_from_bytes)
      : slot_(slot), file_(std::move(file)), write_from_bytes_(write_from_bytes) {}

  int slot() const { return slot_; }
  const File& file() const { return file_; }
  uint64_t bytes() const { return bytes_; }
  const JournalHeader& header() const { return header_; }
  uint64_t end() const { return end_.load(std::memory_order_acquire); }
  bool has_room_for(size_t record_size) const { return end() + record_size <= bytes_; }
  bool has_records() const { return end() > kJournalRecordsOffset; }

  // Makes it `bytes` long, all of it reserved, what is new zeroed. On error it is as it was.
  Status grow(uint64_t bytes, bool zero, JournalIo io) {
    assert(bytes > bytes_);
    const uint64_t old_bytes = bytes_;
    mapping_.unmap();
    Status status = reserve(old_bytes, bytes, zero, io);
    if (status.ok()) bytes_ = bytes;
    if (!status.ok()) (void)file_.truncate(old_bytes);
    Status mapped = map_if_reserved();
    return status.ok() ? mapped : status;
  }

  Status adopt(const JournalIo io) {
    LAPSE_TRY_ASSIGN(bytes_, file_.size());
    if (io == JournalIo::kPwrite || bytes_ == 0) return {};
    // Blocks that a copy or a restore left out must be there before they are stored to, and be its own.
    bool reserved = false;
    LAPSE_TRY(file_.allocate(0, bytes_, &reserved));
    mapped_io_ = io == JournalIo::kMapped || (reserved && writes_in_place(file_) && !may_share_blocks(file_));
    return map_if_reserved();
  }

  // Puts it to use.
  Status begin(const JournalHeader& header) {
    LAPSE_TRY(write_header(header, 0));
    LAPSE_TRY(write_header(header, 1));
    header_ = header;
    end_.store(kJournalRecordsOffset, std::memory_order_release);
    writeback_from_.store(0, std::memory_order_relaxed);
    return {};
  }

  // As found at open: to be read and marked, not appended to.
  void resume(const JournalHeader& header, uint64_t end) {
    header_ = header;
    end_.store(end, std::memory_order_release);
  }

  Status write_header(const JournalHeader& header, int copy) {
    return store(static_cast<uint64_t>(copy) * kJournalHeaderStride, header.encode());
  }

  // The one way bytes get into a journal. `put`: see File::write().
  Status store(uint64_t offset, std::string_view bytes, size_t* put = nullptr) {
    if (!mapped_io_ || bytes.size() >= write_from_bytes_) return file_.write(offset, bytes, put);
    mapping_.store(offset, bytes);
    return {};
  }

  // Undoes a write() of a record that failed: part of it, or even all of it, may be in the file, and must not come back after a
  // crash. False: that cannot be done. To be synced.
  // On a full disk the mapping, where there is one, has its blocks. But where writes fail for other reasons a store could
  // be answered with a signal.
  bool take_back() {
    static constexpr char kZeros[kRecordHeaderBytes] = {};
    constexpr std::string_view kNothing(kZeros, sizeof kZeros);
    Status status;
    if (!has_memory_for([&] { status = file_.write(end(), kNothing); })) return false;
    if (status.code() == StatusCode::kNoSpace && mapped_io_) {
      mapping_.store(end(), kNothing);
      return true;
    }
    return status.ok();
  }

  void advance(size_t record_size) {
    const uint64_t end = end_.load(std::memory_order_relaxed) + record_size;
    end_.store(end, std::memory_order_release);
    if (end - writeback_from_.load(std::memory_order_relaxed) >= kWritebackBytes) start_writeback();
  }

  // Of what has been appended since the last call, by whomever.
  void start_writeback() {
    const uint64_t end = this->end();
    const uint64_t from = writeback_from_.exchange(end, std::memory_order_relaxed);
    if (from < end) file_.start_writeback(from, end - from);
  }

  Status verify() const {
    LAPSE_TRY_ASSIGN(const Mapping bytes, Mapping::map(file_, bytes_, Mapping::Access::kRead));
    return verify_records({file_.path(), bytes.bytes()}, header_, end());
  }

 private:
  Status reserve(uint64_t old_bytes, uint64_t bytes, bool zero, JournalIo io) {
    bool reserved = false;
    LAPSE_TRY(file_.allocate(old_bytes, bytes - old_bytes, &reserved));
    // Written once, the blocks need no change of metadata when records go into them, which makes each sync
    // cheaper.
    if (zero) LAPSE_TRY(file_.write_zeros(old_bytes, bytes - old_bytes));
    mapped_io_ = io == JournalIo::kMapped || (io == JournalIo::kAuto && reserved && writes_in_place(file_));
    return {};
  }

  Status map_if_reserved() {
    if (!mapped_io_) return {};
    Result<Mapping> mapping = Mapping::map(file_, bytes_, Mapping::Access::kReadWrite);
    mapped_io_ = mapping.ok();  // nothing is stored through one that is not there
    if (!mapping.ok()) return mapping.status();
    mapping_ = *std::move(mapping);
    return {};
  }

  const int slot_;
  File file_;
  const size_t write_from_bytes_;
  Mapping mapping_;
  bool mapped_io_ = false;
  uint64_t bytes_ = 0;
  JournalHeader header_;
  std::atomic<uint64_t> end_{kJournalRecordsOffset};
  std::atomic<uint64_t> writeback_from_{0};
};

Journal::Journal(std::string path, const StoreId& store_id, const LocalOptions& options,
                 const Position& position)
    : path_(std::move(path)),
      store_id_(store_id),
      file_bytes_(options.journal_file_bytes),
      io_(options.journal_io),
      write_from_bytes_(engine::write_from_bytes(options)),
      next_file_(position.next_file),
      chain_(position.chain),
      next_file_bytes_(std::min<uint64_t>(kSmallestFileBytes, options.journal_file_bytes)),
      appended_(position.sequence),
      synced_(position.sequence) {}

Status Journal::adopt_live(JournalSlot found) {
  const HeaderPair pair = decode_headers(found.mapping.bytes());
  assert(pair.state == HeaderPair::State::kValid);
  size_t end = kJournalRecordsOffset;
  while (const auto record = decode_record(found.mapping.bytes(), end, pair.header.salt))
    end += record->file_bytes();
  auto file = std::make_shared<JournalFile>(found.slot, std::move(found.file), write_from_bytes_);
  LAPSE_TRY(file->adopt(io_));
  file->resume(pair.header, end);
  live_.push_back(std::move(file));
  return {};
}

Status Journal::adopt_spare(JournalSlot found) {
  auto file = std::make_shared<JournalFile>(found.slot, std::move(found.file), write_from_bytes_);
  LAPSE_TRY(file->adopt(io_));
  spare_.push_back(std::move(file));
  return {};
}

Status Journal::failure() const {
  if (!failed_.load(std::memory_order_acquire)) return {};
  std::lock_guard lock(sync_mutex_);
  return why_it_failed();
}

Status Journal::why_it_failed() const {
  return failure_.ok() ? Status(StatusCode::kUnknown, "no memory") : failure_;
}

void Journal::fail(const Status& status) {
  failed_.store(true, std::memory_order_release);  // also if there is no memory to say why
  if (status.ok()) return;
  // That there may be room again later does not make up for what is lost now.
  const StatusCode code = status.code() == StatusCode::kNoSpace ? StatusCode::kIoError : status.code();
  quietly([&] {
    failure_ =
        Status(code, std::string(status.message()) + "; nothing more is written until the store is reopened");
  });
}

// False: it failed, which is final.
bool Journal::sync_for_good(const JournalFile& file) {
  Status status;
  if (has_memory_for([&] { status = file.file().sync(); })) {
    if (status.ok()) return true;
    std::lock_guard lock(sync_mutex_);
    fail(status);
  } else {  // to say why it failed
    failed_.store(true, std::memory_order_release);
  }
  return false;
}

std::shared_ptr<Journal::JournalFile> Journal::current_file() const {
  std::lock_guard lock(files_mutex_);
  return current_;
}

Status Journal::append(std::string* record, uint64_t sequence) {
  LAPSE_TRY(failure());
  const size_t size = record_bytes(record->size() - kRecordHeaderBytes);
  // current_ is written by this thread only: no lock to read it.
  if (sealed_ || !current_->has_room_for(size)) LAPSE_TRY(rotate(size, sequence));
  JournalFile& file = *current_;
  const uint64_t sum = seal_record(record, file.header().salt, sequence, synced_sequence(), chain_);
  size_t put = 0;
  Status status;
  const bool has_memory = has_memory_for([&] { status = file.store(file.end(), *record, &put); });
  if (!has_memory || !status.ok()) {
    const bool is_refused = put == 0 && status.code() == StatusCode::kNoSpace;  // as a whole
    // Synced, or the record could come back in the place of the next one, which may be in another file.
    const bool is_undone = is_refused || (file.take_back() && sync_for_good(file));
    if (!is_undone) {
      std::lock_guard lock(sync_mutex_);
      fail(status);
    }
    if (!has_memory) throw std::bad_alloc();
    if (is_undone) return status;
    return {StatusCode::kUnknown, std::string(status.message()) + "; and it cannot be taken back"};
  }
  file.advance(size);
  chain_ = sum;
  appended_.store(sequence, std::memory_order_release);
  return {};
}

bool Journal::fits(const std::string& record) const {
  return !sealed_ && current_->has_room_for(record_bytes(record.size() - kRecordHeaderBytes));
}

Status Journal::rotate(size_t record_size, uint64_t sequence) {
  LAPSE_TRY_ASSIGN(const std::shared_ptr<JournalFile> file, find_or_make_file(record_size));
  const auto put_back = [&](Status status) {
    std::lock_guard lock(files_mutex_);
    spare_.push_back(file);
    return status;
  };
  {
    std::lock_guard lock(files_mutex_);
    live_.reserve(live_.size() + 1);  // a file that has begun must not be one that nobody knows
  }
  test_hooks::crash_point("journal-rotate-begin");
  if (Status status = wait_synced(appended_.load(std::memory_order_relaxed)); !status.ok())
    return put_back(std::move(status));
  if (Status status = sync_without_records(); !status.ok()) return put_back(std::move(status));
  test_hooks::crash_point("journal-rotate-synced");
  const JournalHeader header{.store_id = store_id_,
                             .salt = random_u64(),
                             .file_number = next_file_,
                             .first_sequence = sequence,
                             .chain = chain_,
                             .synced_sequence = synced_sequence(),
                             .clean = false};
  if (Status status = file->begin(header); !status.ok()) return put_back(std::move(status));
  test_hooks::crash_point("journal-rotated");
  std::lock_guard lock(files_mutex_);
  live_.push_back(file);
  current_ = file;
  sealed_ = false;
  ++next_file_;
  return {};
}

// A file whose first append failed has been begun, and no commit has asked for a sync of it. Its number must not be missing
// when the files behind it are found.
Status Journal::sync_without_records() {
  if (sealed_ || current_->has_records()) return {};
  return sync_for_good(*current_) ? Status() : failure();
}

Result<std::shared_ptr<Journal::JournalFile>> Journal::find_or_make_file(size_t record_size) {
  const uint64_t needed = kJournalRecordsOffset + round_up(record_size);
  const uint64_t wanted = std::max(needed, kJournalRecordsOffset + round_up(next_file_bytes_));
  if (auto spare = take_spare(wanted)) return spare;
  Result<std::shared_ptr<JournalFile>> made = make_file(wanted);
  if (made.ok()) {
    next_file_bytes_ = std::min<uint64_t>(next_file_bytes_ * 2, file_bytes_);
  } else if (made.status().code() == StatusCode::kNoSpace) {
    // On a full disk a smaller file that is there already will do.
    if (auto spare = take_spare(needed)) return spare;
  }
  return made;
}

std::shared_ptr<Journal::JournalFile> Journal::take_spare(uint64_t at_least_bytes) {
  std::lock_guard lock(files_mutex_);
  auto fits = std::find_if(spare_.begin(), spare_.end(),
                           [&](const auto& file) { return file->bytes() >= at_least_bytes; });
  if (fits == spare_.end()) return nullptr;
  std::shared_ptr<JournalFile> file = *fits;
  spare_.erase(fits);
  return file;
}

// Grows a spare file, or creates one.
Result<std::shared_ptr<Journal::JournalFile>> Journal::make_file(uint64_t bytes) {
  const bool zero = bytes <= kJournalRecordsOffset + round_up(file_bytes_);  // else it is used only once
  if (auto spare = take_spare(0)) {
    if (spare->bytes() >= bytes) return spare;  // a drain has released it since the caller looked
    Status status = spare->grow(bytes, zero, io_);
    if (status.ok()) return spare;
    std::lock_guard lock(files_mutex_);
    spare_.push_back(std::move(spare));
    return status;
  }
  int slot = 0;
  {
    std::lock_guard lock(files_mutex_);
    const auto in = [&](const auto& files) {
      return std::any_of(files.begin(), files.end(), [&](const auto& file) { return file->slot() == slot; });
    };
    while (in(live_) || in(spare_)) ++slot;
  }
  // There may be one already, that was made when memory ran out: all that open has found are in the lists.
  const std::string path = slot_path(path_, slot);
  LAPSE_TRY_ASSIGN(File opened, File::open(path, File::Mode::kCreate));
  auto file = std::make_shared<JournalFile>(slot, std::move(opened), write_from_bytes_);
  Status status = file->grow(bytes, zero, io_);
  if (status.ok()) status = sync_directory_of(path);
  if (status.ok()) return file;
  (void)remove_file(path);
  return status;
}

void Journal::start_sync() const {
  if (const std::shared_ptr<JournalFile> file = current_file()) file->start_writeback();
}

Status Journal::wait_synced(uint64_t sequence) {
  if (synced_sequence() >= sequence) return {};
  std::unique_lock lock(sync_mutex_);
  while (synced_sequence() < sequence) {
    if (failed_.load(std::memory_order_relaxed)) return why_it_failed();
    if (syncing_) {
      sync_done_.wait(lock);
    } else {
      LAPSE_TRY(sync_once(&lock));
    }
  }
  return {};
}

// Syncs for everyone who has appended by now. The lock is let go meanwhile.
Status Journal::sync_once(std::unique_lock<std::mutex>* lock) {
  syncing_ = true;
  lock->unlock();
  // In this order: a later file than the one that holds `target` means that a rotation has synced that one.
  const uint64_t target = appended_.load(std::memory_order_acquire);
  const std::shared_ptr<JournalFile> file = current_file();
  const bool synced = sync_for_good(*file);
  lock->lock();
  syncing_ = false;
  syncs_.fetch_add(1, std::memory_order_relaxed);
  if (synced && synced_sequence() < target) synced_.store(target, std::memory_order_release);
  sync_done_.notify_all();
  return synced ? Status() : why_it_failed();
}

Journal::Position Journal::seal() {
  std::lock_guard lock(files_mutex_);
  if (!sealed_ && current_->has_records()) sealed_ = true;
  const uint64_t next_file = sealed_ ? next_file_ : next_file_ - 1;
  return {next_file, appended_.load(std::memory_order_relaxed), chain_};
}

void Journal::release_before(uint64_t number) {
  std::lock_guard lock(files_mutex_);
  spare_.reserve(spare_.size() + live_.size());  // a file must never be in both lists
  const auto drained = std::stable_partition(
      live_.begin(), live_.end(), [&](const auto& file) { return file->header().file_number >= number; });
  for (auto file = drained; file != live_.end(); ++file) {
    // One that was made for a single large record is not worth keeping.
    if ((*file)->bytes() > kJournalRecordsOffset + round_up(file_bytes_)) {
      (void)remove_file((*file)->file().path());
    } else {
      spare_.push_back(*file);
    }
  }
  live_.erase(drained, live_.end());
}

Status Journal::close(bool drained) {
  LAPSE_TRY(failure());
  if (!drained) {
    LAPSE_TRY(wait_synced(appended_.load(std::memory_order_relaxed)));
    LAPSE_TRY(mark_clean());
  }
  std::lock_guard lock(files_mutex_);
  const auto remove = [](const auto& files) -> Status {
    for (const auto& file : files) {
      LAPSE_TRY(remove_file(file->file().path()));
      test_hooks::crash_point("journal-removed");
    }
    return {};
  };
  LAPSE_TRY(remove(spare_));
  spare_.clear();
  if (!drained) return {};
  LAPSE_TRY(remove(live_));
  live_.clear();
  current_.reset();
  sealed_ = true;
  return {};
}

Status Journal::mark_clean() {
  if (live_.empty()) return {};
  JournalFile& last = *live_.back();
  JournalHeader header = last.header();
  if (header.clean && header.synced_sequence == appended_.load()) return {};
  header.clean = true;
  header.synced_sequence = appended_.load();
  // One copy at a time: should the power go, the other one still stands.
  for (int copy : {0, 1}) {
    LAPSE_TRY(last.write_header(header, copy));
    LAPSE_TRY(last.file().sync());
    test_hooks::crash_point(copy == 0 ? "journal-half-marked-clean" : "journal-marked-clean");
  }
  return {};
}

Status Journal::verify() {
  std::vector<std::shared_ptr<JournalFile>> files;
  {
    std::lock_guard lock(files_mutex_);
    files = live_;
  }
  for (const auto& file : files) LAPSE_TRY(file->verify());
  return {};
}

Journal::Sizes Journal::sizes() const {
  std::lock_guard lock(files_mutex_);
  Sizes sizes;
  for (const auto* list : {&live_, &spare_}) {
    for (const auto& file : *list) sizes.bytes += file->bytes();
  }
  sizes.files = live_.size() + spare_.size();
  sizes.live_files = live_.size();
  return sizes;
}

Result<std::vector<JournalSlot>> find_journal_slots(const std::string& path, bool read_only) {
  const std::string prefix = path.substr(path.rfind('/') + 1) + std::string(kSuffix);
  LAPSE_TRY_ASSIGN(const std::vector<std::string> names, list_siblings(path, prefix));
  std::vector<JournalSlot> slots;
  for (const std::string& name : names) {
    const std::string_view digits = std::string_view(name).substr(prefix.size());
    JournalSlot found;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), found.slot);
    if (error != std::errc() || end != digits.end() || found.slot < 0) continue;  // *.damaged, say
    if (digits != std::to_string(found.slot)) continue;  // or one file would be taken for two
    const auto mode = read_only ? File::Mode::kRead : File::Mode::kReadWrite;
    LAPSE_TRY_ASSIGN(found.file, File::open(slot_path(path, found.slot), mode));
    LAPSE_TRY_ASSIGN(const uint64_t bytes, found.file.size());
    LAPSE_TRY_ASSIGN(found.mapping, Mapping::map(found.file, bytes, Mapping::Access::kRead));
    slots.push_back(std::move(found));
  }
  return slots;
}

}  // namespace lapse::engine
