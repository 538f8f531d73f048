#include "engine/local/tree.h"

#include <lmdb.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "base/test_hooks.h"
#include "base/try.h"
#include "engine/local/expected_rows.h"
#include "engine/local/tree_rows.h"
#include "lapse/process.h"

namespace lapse::engine {

namespace {

constexpr MDB_dbi kMainDatabase = 1;  // LMDB's number for the unnamed one
// LMDB rounds up to what fits into its lock file, 64 bytes a reader: thousands, one per living generation.
constexpr uint64_t kLockFileBytes = 256 << 10;
constexpr unsigned kMaxReaders = 4000;
constexpr uint64_t kNearlyFullBytes = 1 << 20;
constexpr uint64_t kEmptyMapBytes = 1 << 20;
constexpr uint64_t kCopyMapBytes = 4UL << 30;  // half of it is above what one step of fill() can add
constexpr uint32_t kLmdbMagic = 0xBEEFC0DE;
constexpr size_t kPageBytes = 4096;

MDB_val to_val(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};  // LMDB does not write to keys
}
std::string_view to_view(const MDB_val& val) { return {static_cast<const char*>(val.mv_data), val.mv_size}; }

Status lmdb_status(const std::string& path, std::string_view what, int code) {
  if (code > 0) return os_error(path, what, code);
  const std::string message = path + ": " + std::string(what) + ": " + mdb_strerror(code);
  switch (code) {
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_BAD_TXN:
    case MDB_INVALID: return {StatusCode::kCorrupt, message};
    case MDB_VERSION_MISMATCH: return {StatusCode::kUnsupported, message};
    default: return {StatusCode::kIoError, message};
  }
}

std::string successor_of(std::string prefix) {
  while (static_cast<uint8_t>(prefix.back()) == 0xff) prefix.pop_back();
  ++prefix.back();
  return prefix;
}

// Refuses what LMDB would trip over, and leaves it as it is.
Status check_pages(const std::string& path) {
  LAPSE_TRY_ASSIGN(const File file, File::open(path, File::Mode::kRead));
  LAPSE_TRY_ASSIGN(const std::string head, file.read(0, kMetaHeadBytes));
  LAPSE_TRY_ASSIGN(const uint64_t bytes, file.size());
  const Result<TreeMeta> meta = current_meta(head, bytes);
  if (meta.ok()) return {};
  return {meta.status().code(), path + ": " + std::string(meta.status().message())};
}

// The lock file is written through a mapping: on a full disk that would be a SIGBUS.
Status allocate_lock_file(const std::string& path) {
  LAPSE_TRY_ASSIGN(const File file, File::open(path + "-lock", File::Mode::kCreate));
  LAPSE_TRY_ASSIGN(const uint64_t bytes, file.size());
  if (bytes >= kLockFileBytes) return {};
  return file.allocate(0, kLockFileBytes, nullptr);
}

}  // namespace

Status Tree::check_kind(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return os_error(path, "cannot open", errno);
  if (S_ISDIR(info.st_mode))
    return {StatusCode::kInvalidArgument, path + ": is a directory, not a Lapse store"};
  if (!S_ISREG(info.st_mode))
    return {StatusCode::kInvalidArgument, path + ": is no regular file, and so not a Lapse store"};
  if (info.st_size == 0) return {StatusCode::kInvalidArgument, path + ": is empty, and so not a Lapse store"};
  LAPSE_TRY_ASSIGN(const File file, File::open(path, File::Mode::kRead));
  LAPSE_TRY_ASSIGN(const std::string head, file.read(0, 2 * kPageBytes));
  const auto has_magic = [&](size_t page) {
    const size_t offset = page + 16;
    return head.size() >= offset + 4 && load_le<uint32_t>(head.data() + offset) == kLmdbMagic;
  };
  if (!has_magic(0) && !has_magic(kPageBytes))
    return {StatusCode::kInvalidArgument, path + ": not a Lapse store"};
  return {};
}

namespace {

uint64_t next_generation_number() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

// Here, beside the numbers that it goes by: where two copies of this library are in one process, each must have both.
constinit thread_local ExpectedRows expected_rows;

}  // namespace

// LMDB's environment and our mapping of its file.
class TreeEnvironment {
 public:
  struct Map {
    const char* data;
    size_t bytes;
    Map(const char* map_data, size_t map_bytes) : data(map_data), bytes(map_bytes) {}
    ~Map() { ::munmap(const_cast<char*>(data), bytes); }
    Map(const Map&) = delete;
    Map& operator=(const Map&) = delete;
  };

  explicit TreeEnvironment(std::string path) : path_(std::move(path)) {}
  ~TreeEnvironment() {
    if (environment_ != nullptr && !forked()) mdb_env_close(environment_);
  }
  TreeEnvironment(const TreeEnvironment&) = delete;
  TreeEnvironment& operator=(const TreeEnvironment&) = delete;

  Status open(unsigned flags, size_t map_bytes) {
    map_bytes_ = map_bytes;
    if (int code = mdb_env_create(&environment_)) return error("cannot set up", code);
    mdb_env_set_maxreaders(environment_, kMaxReaders);
    mdb_env_set_mapsize(environment_, map_bytes);
    if (int code = mdb_env_open(environment_, path_.c_str(), flags | MDB_NOSUBDIR | MDB_NOTLS, 0644))
      return error("cannot open", code);
    opened_ = true;
    return {};
  }

  MDB_env* get() const { return environment_; }
  const std::string& path() const { return path_; }
  // In a forked child LMDB's structures belong to the parent.
  bool forked() const { return fork_generation() != opened_in_; }

  // REQUIRES: no write transaction.
  Status resize_map(size_t bytes) {
    if (int code = mdb_env_set_mapsize(environment_, bytes)) return error("cannot enlarge the map", code);
    map_bytes_ = bytes;
    return {};
  }
  size_t map_bytes() const { return map_bytes_; }

  Result<uint64_t> file_bytes() const {
    struct stat info {};
    if (::fstat(fd(), &info) != 0) return os_error(path_, "cannot stat", errno);
    return static_cast<uint64_t>(info.st_size);
  }

  // A mapping that covers `bytes` of the file; larger than that, so that it lasts.
  Result<std::shared_ptr<const Map>> map_at_least(uint64_t bytes) {
    if (map_ && map_->bytes >= bytes) return map_;
    const size_t size = std::max<size_t>(map_bytes_, bytes);
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd(), 0);
    if (data == MAP_FAILED) return os_error(path_, "cannot map", errno);
    map_ = std::make_shared<const Map>(static_cast<const char*>(data), size);
    return map_;
  }

  // Writes a page as it is, and syncs. Not through LMDB, which writes only what has changed.
  Status write_again(uint64_t offset, std::string_view page) const {
    struct Borrowed {  // it stays LMDB's, whatever happens
      File file;
      ~Borrowed() { file.abandon(); }
    };
    const Borrowed borrowed{File::adopt(fd(), path_)};
    LAPSE_TRY(borrowed.file.write(offset, page));
    return borrowed.file.sync();
  }

  // LMDB answers EIO for a write cut short because there was no room.
  Status error(std::string_view what, int code) const {
    return lmdb_status(path_, what, code == EIO && has_no_room() ? ENOSPC : code);
  }

 private:
  // On the disk, or by the process's limit on the size of files. The file may have no name any more.
  bool has_no_room() const {
    struct statvfs disk {};
    const int disk_known = opened_ ? ::fstatvfs(fd(), &disk) : ::statvfs(directory_of(path_).c_str(), &disk);
    if (disk_known == 0 && uint64_t{disk.f_bavail} * disk.f_frsize < kNearlyFullBytes) return true;
    struct stat file {};
    rlimit limit{};
    const int file_known = opened_ ? ::fstat(fd(), &file) : ::stat(path_.c_str(), &file);
    return file_known == 0 && ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           static_cast<uint64_t>(file.st_size) + kNearlyFullBytes > limit.rlim_cur;
  }
  int fd() const {
    int fd = -1;
    mdb_env_get_fd(environment_, &fd);
    return fd;
  }

  const std::string path_;
  const uint64_t opened_in_ = fork_generation();
  MDB_env* environment_ = nullptr;
  bool opened_ = false;
  size_t map_bytes_ = 0;
  std::shared_ptr<const Map> map_;
};

// ---------------------------------------------------------------------------------------- Generation

Generation::Generation(std::shared_ptr<TreeEnvironment> environment, std::shared_ptr<const void> map,
                       MDB_txn* pin, const PageTree& pages, const TreeMeta& pages_meta, const StoreMeta& meta)
    : number_(next_generation_number()),
      environment_(std::move(environment)),
      map_(std::move(map)),
      pin_(pin),
      pages_(pages),
      pages_meta_(pages_meta),
      meta_(meta) {}

Generation::~Generation() {
  if (!environment_->forked()) mdb_txn_abort(pin_);
}

Status Generation::with_path(Status status) const {
  if (status.ok()) return status;
  return {status.code(), environment_->path() + ": " + std::string(status.message())};
}

// A thread that announces what it will ask for has waited already: for what the buffers have, a way would be for nothing.
Generation::Search::Search(const Generation* generation, std::string_view key)
    : generation_(generation), path_(key) {
  if (!expected_rows.know(generation->number_)) way_ = generation->pages_.way_to(path_.row_key());
}

Result<std::optional<std::string_view>> Generation::Search::get_row() {
  const std::string_view row_key = path_.row_key();
  if (way_) return generation_->pages_.get(row_key, *way_);
  if (const auto* row = expected_rows.find(generation_->number_, row_key)) return *row;
  return generation_->pages_.get(row_key);
}

Result<std::optional<std::string_view>> Generation::Search::get(bool verify_checksum) {
  while (true) {
    Result<std::optional<std::string_view>> row = get_row();
    if (!row.ok()) return generation_->with_path(row.status());
    if (!row->has_value()) return row;
    if (!path_.at_fork()) {
      const Result<std::string_view> value = row_value(path_.row_key(), **row, verify_checksum);
      if (!value.ok()) return generation_->with_path(value.status());
      return std::optional(*value);
    }
    const Result<uint64_t> id = fork_id(path_.row_key(), **row);
    if (!id.ok()) return generation_->with_path(id.status());
    path_.follow(*id);
    way_.reset();
  }
}

// Of a long key, only as far as its first fork.
void Generation::expect(std::span<const std::string_view> keys,
                        FunctionRef<bool(std::string_view)> is_elsewhere) const {
  constexpr size_t kMost = PageTree::kTogether;
  for (; !keys.empty(); keys = keys.subspan(std::min(keys.size(), kMost))) {
    std::optional<RowPath> paths[kMost];
    std::string_view row_keys[kMost];
    PageTree::Found found[kMost];
    size_t count = 0;
    for (const std::string_view key : keys.first(std::min(keys.size(), kMost))) {
      if (is_elsewhere(key)) continue;
      row_keys[count] = paths[count].emplace(key).row_key();
      ++count;
    }
    pages_.find_together({row_keys, count}, found);
    for (size_t i = 0; i < count; ++i) {
      if (found[i].known) expected_rows.remember(number_, row_keys[i], found[i].value);
    }
  }
}

Status Generation::verify() const {
  uint64_t rows = 0;
  uint64_t row_sum = 0;
  const auto visit = [&](std::string_view row_key, std::string_view row) -> Status {
    if (row_key == kMetaRowKey) return {};
    LAPSE_TRY(row_value(row_key, row, true));
    ++rows;
    row_sum += load_le<uint64_t>(row.data());
    return {};
  };
  const auto* map = static_cast<const TreeEnvironment::Map*>(map_.get());
  const Result<PageUse> use = check_tree(map->data, pages_meta_, visit);
  if (!use.ok()) return with_path(use.status());
  if (rows == meta_.rows && row_sum == meta_.row_sum) return {};
  return with_path(Status(StatusCode::kCorrupt, "holds " + std::to_string(rows) + " rows where " +
                                                    std::to_string(meta_.rows) + " were written" +
                                                    (rows == meta_.rows ? ", but not the same ones" : "")));
}

Result<FreePages> Generation::check_free_list() const {
  const auto* map = static_cast<const TreeEnvironment::Map*>(map_.get());
  Result<FreePages> free = engine::check_free_list(map->data, pages_meta_);
  if (!free.ok()) return with_path(free.status());
  return free;
}

Result<uint64_t> Generation::free_bytes() const {
  LAPSE_TRY_ASSIGN(const FreePages free, check_free_list());
  return free.count * pages_meta_.page_bytes;
}

// ---------------------------------------------------------------------------------------- TreeCursor

Result<double> Generation::estimate_entries(std::string_view from, std::string_view to) const {
  const auto position_of = [this](std::string_view key) -> Result<double> {
    PageCursor cursor(&pages_);
    LAPSE_TRY(cursor.seek(RowPath(key).row_key()));  // a long key lies near its first bytes
    return cursor.position();
  };
  LAPSE_TRY_ASSIGN(const double begin, position_of(from));
  LAPSE_TRY_ASSIGN(const double end, position_of(to));
  return std::max(0.0, end - begin) * static_cast<double>(pages_.entries());
}

Status TreeCursor::restart(Status status) {
  valid_ = false;
  forks_.clear();
  base_.clear();
  prefix_ = kEntrySpacePrefix;
  return status;
}

Status TreeCursor::seek(std::string_view key) {
  LAPSE_TRY(restart({}));
  RowPath path(key);
  while (true) {
    LAPSE_TRY(rows_.seek(path.row_key()));
    if (!path.at_fork() || !rows_.valid() || rows_.key() != path.row_key()) return settle_forward();
    LAPSE_TRY_ASSIGN(const uint64_t id, fork_id(rows_.key(), rows_.value()));
    LAPSE_TRY(enter_fork());
    path.follow(id);
  }
}

Status TreeCursor::first() {
  LAPSE_TRY(restart(rows_.seek(kEntrySpacePrefix)));
  return settle_forward();
}

Status TreeCursor::last() {
  LAPSE_TRY(restart({}));
  LAPSE_TRY(seek_last_of_level());
  return settle_backward();
}

Status TreeCursor::next() {
  assert(valid_);
  valid_ = false;
  LAPSE_TRY(rows_.next());
  return settle_forward();
}

Status TreeCursor::prev() {
  assert(valid_);
  valid_ = false;
  LAPSE_TRY(rows_.prev());
  return settle_backward();
}

Status TreeCursor::settle_forward() {
  while (true) {
    if (in_level()) {
      if (!is_fork(rows_.key())) return load();
      LAPSE_TRY(enter_fork());
      LAPSE_TRY(rows_.seek(prefix_));
    } else {
      if (forks_.empty()) return {};
      LAPSE_TRY(leave_fork());
      LAPSE_TRY(rows_.next());
    }
  }
}

Status TreeCursor::settle_backward() {
  while (true) {
    if (in_level()) {
      if (!is_fork(rows_.key())) return load();
      LAPSE_TRY(enter_fork());
      LAPSE_TRY(seek_last_of_level());
    } else {
      if (forks_.empty()) return {};
      LAPSE_TRY(leave_fork());
      LAPSE_TRY(rows_.prev());
    }
  }
}

// Steps into the level behind the fork that the cursor is at. Its position there is yet to be found.
Status TreeCursor::enter_fork() {
  LAPSE_TRY_ASSIGN(const uint64_t id, fork_id(rows_.key(), rows_.value()));
  forks_.push_back({std::string(rows_.key()), base_.size()});
  base_.append(rows_.key().substr(prefix_.size(), kMaxRowKeyBytes - 1 - prefix_.size()));
  if (base_.size() > kMaxKeyBytes) return {StatusCode::kCorrupt, "forks for long keys lead in a circle"};
  prefix_.assign(1 + sizeof id, kLongKeySpace);
  store_be64(prefix_.data() + 1, id);
  return {};
}

// Back to the fork, in the level above. If it is not where it was, pages contradict each other, and to go on
// from what is there instead could lead back, again and again.
Status TreeCursor::leave_fork() {
  const Fork fork = std::move(forks_.back());
  forks_.pop_back();
  base_.resize(fork.base_bytes);
  prefix_ = forks_.empty() ? std::string(kEntrySpacePrefix) : fork.row_key.substr(0, 1 + sizeof(uint64_t));
  LAPSE_TRY(rows_.seek(fork.row_key));
  if (rows_.valid() && rows_.key() == fork.row_key) return {};
  return {StatusCode::kCorrupt, "a fork for long keys is not found by its key"};
}

Status TreeCursor::seek_last_of_level() {
  LAPSE_TRY(rows_.seek(successor_of(prefix_)));
  return rows_.valid() ? rows_.prev() : rows_.last();
}

Status TreeCursor::load() {
  LAPSE_TRY_ASSIGN(value_, row_value(rows_.key(), rows_.value(), verify_));
  key_ = rows_.key().substr(prefix_.size());
  if (!forks_.empty()) {
    long_key_ = base_;
    long_key_.append(key_);
    key_ = long_key_;
  }
  valid_ = true;
  return {};
}

// ----------------------------------------------------------------------------------------- TreeBatch

TreeBatch::TreeBatch(const TreeEnvironment* environment, MDB_cursor* cursor,
                     std::optional<PathChecker> checker, const StoreMeta& meta)
    : environment_(environment),
      cursor_(cursor),
      checker_(std::move(checker)),
      rows_(meta.rows),
      row_sum_(meta.row_sum),
      next_long_key_id_(meta.next_long_key_id) {}

void TreeBatch::tally(StoreMeta* meta) const {
  meta->rows = rows_;
  meta->row_sum = row_sum_;
  meta->next_long_key_id = next_long_key_id_;
}

Status TreeBatch::lmdb_error(int code, std::string_view what) {
  if (code == MDB_MAP_FULL) map_full_ = true;
  return environment_->error(what, code);
}

// Before LMDB touches the pages around a row, they are checked: its own code would believe anything.
Status TreeBatch::check_put(std::string_view row_key, size_t row_bytes) {
  return checker_ ? checker_->check_put(row_key, row_bytes) : Status();
}

Status TreeBatch::check_erase(std::string_view row_key) {
  return checker_ ? checker_->check_erase(row_key) : Status();
}

Status TreeBatch::put_row(std::string_view row_key, std::string_view value, unsigned flags) {
  LAPSE_TRY(check_put(row_key, kRowChecksumBytes + value.size()));
  MDB_val key = to_val(row_key);
  MDB_val row{kRowChecksumBytes + value.size(), nullptr};
  int code = mdb_cursor_put(cursor_, &key, &row, MDB_NOOVERWRITE | MDB_RESERVE | flags);
  if (code == MDB_KEYEXIST) {
    if (row.mv_size < kRowChecksumBytes)
      return {StatusCode::kCorrupt, environment_->path() + ": an entry is too short for its checksum"};
    row_sum_ -= load_le<uint64_t>(row.mv_data);
    --rows_;
    row = {kRowChecksumBytes + value.size(), nullptr};
    code = mdb_cursor_put(cursor_, &key, &row, MDB_RESERVE);
  }
  if (code != 0) return lmdb_error(code, "cannot write");
  const uint64_t sum = row_checksum(row_key, value);
  auto* to = static_cast<char*>(row.mv_data);
  store_le(to, sum);
  if (!value.empty()) std::memcpy(to + kRowChecksumBytes, value.data(), value.size());
  row_sum_ += sum;
  ++rows_;
  return {};
}

Status TreeBatch::erase_row(std::string_view row_key, bool* erased) {
  LAPSE_TRY(check_erase(row_key));
  MDB_val key = to_val(row_key);
  MDB_val row{};
  int code = mdb_cursor_get(cursor_, &key, &row, MDB_SET);
  *erased = code == 0;
  if (code == MDB_NOTFOUND) return {};
  if (code == 0 && row.mv_size < kRowChecksumBytes)
    return {StatusCode::kCorrupt, environment_->path() + ": an entry is too short for its checksum"};
  if (code == 0) {
    row_sum_ -= load_le<uint64_t>(row.mv_data);
    --rows_;
    code = mdb_cursor_del(cursor_, 0);
  }
  return code == 0 ? Status() : lmdb_error(code, "cannot erase");
}

Result<std::optional<uint64_t>> TreeBatch::find_fork(std::string_view row_key) {
  LAPSE_TRY(check_put(row_key, kRowChecksumBytes + sizeof(uint64_t)));
  MDB_val key = to_val(row_key);
  MDB_val row{};
  const int code = mdb_cursor_get(cursor_, &key, &row, MDB_SET);
  if (code == MDB_NOTFOUND) return std::optional<uint64_t>();
  if (code != 0) return lmdb_error(code, "cannot read");
  LAPSE_TRY_ASSIGN(const uint64_t id, fork_id(row_key, to_view(row)));
  return std::optional(id);
}

Result<bool> TreeBatch::level_is_empty(std::string_view prefix) {
  if (checker_) LAPSE_TRY(checker_->check_seek(prefix));
  MDB_val key = to_val(prefix);
  MDB_val row{};
  const int code = mdb_cursor_get(cursor_, &key, &row, MDB_SET_RANGE);
  if (code == MDB_NOTFOUND) return true;
  if (code != 0) return lmdb_error(code, "cannot read");
  return !to_view(key).starts_with(prefix);
}

Status TreeBatch::put(std::string_view key, std::string_view value) {
  RowPath path(key);
  while (path.at_fork()) {
    LAPSE_TRY_ASSIGN(std::optional<uint64_t> id, find_fork(path.row_key()));
    if (!id) {
      id = next_long_key_id_++;
      char bytes[sizeof *id];
      store_le(bytes, *id);
      LAPSE_TRY(put_row(path.row_key(), {bytes, sizeof bytes}, 0));
    }
    path.follow(*id);
  }
  return put_row(path.row_key(), value, 0);
}

Status TreeBatch::append(std::string_view key, std::string_view value) {
  const RowPath path(key);
  assert(!path.at_fork());
  return put_row(path.row_key(), value, MDB_APPEND);
}

Status TreeBatch::erase(std::string_view key) {
  struct Level {
    std::string fork;
    std::string behind;  // the prefix of the rows that the fork leads to
  };
  std::vector<Level> levels;
  RowPath path(key);
  while (path.at_fork()) {
    std::string fork(path.row_key());
    LAPSE_TRY_ASSIGN(const std::optional<uint64_t> id, find_fork(fork));
    if (!id) return {};
    path.follow(*id);
    levels.push_back({std::move(fork), std::string(path.prefix())});
  }
  bool erased = false;
  LAPSE_TRY(erase_row(path.row_key(), &erased));
  if (!erased) return {};
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    LAPSE_TRY_ASSIGN(const bool empty, level_is_empty(level->behind));
    if (!empty) return {};
    LAPSE_TRY(erase_row(level->fork, &erased));
  }
  return {};
}

Status TreeBatch::put_meta(StoreMeta meta) {
  meta.txnid = mdb_txn_id(mdb_cursor_txn(cursor_));
  const std::string row = meta.encode();
  LAPSE_TRY(check_put(kMetaRowKey, row.size()));
  MDB_val key = to_val(kMetaRowKey);
  MDB_val value = to_val(row);
  const int code = mdb_cursor_put(cursor_, &key, &value, 0);
  return code == 0 ? Status() : lmdb_error(code, "cannot write");
}

// ---------------------------------------------------------------------------------------------- Tree

namespace {

// An LMDB write transaction with a cursor; aborted unless committed.
class WriteTransaction {
 public:
  explicit WriteTransaction(TreeEnvironment* environment) : environment_(environment) {}
  ~WriteTransaction() {
    if (cursor_ != nullptr) mdb_cursor_close(cursor_);
    if (txn_ != nullptr) mdb_txn_abort(txn_);
  }
  WriteTransaction(const WriteTransaction&) = delete;
  WriteTransaction& operator=(const WriteTransaction&) = delete;

  Status begin() {
    int code = mdb_txn_begin(environment_->get(), nullptr, 0, &txn_);
    MDB_dbi database = kMainDatabase;
    if (code == 0) code = mdb_dbi_open(txn_, nullptr, 0, &database);
    if (code == 0) code = mdb_cursor_open(txn_, database, &cursor_);
    return code == 0 ? Status() : environment_->error("cannot begin to write", code);
  }
  Status commit() {
    mdb_cursor_close(std::exchange(cursor_, nullptr));
    const int code = mdb_txn_commit(std::exchange(txn_, nullptr));
    map_full_ = code == MDB_MAP_FULL;
    return code == 0 ? Status() : environment_->error("cannot commit", code);
  }
  bool map_full() const { return map_full_; }

  MDB_cursor* cursor() const { return cursor_; }

 private:
  TreeEnvironment* environment_;
  MDB_txn* txn_ = nullptr;
  MDB_cursor* cursor_ = nullptr;
  bool map_full_ = false;
};

// The file in which a store is made: empty, and kept from others who would make the same one.
Result<File> take_unfinished(const std::string& path) {
  while (true) {
    LAPSE_TRY_ASSIGN(File file, File::open(path, File::Mode::kCreate));
    LAPSE_TRY_ASSIGN(const bool held, file.try_lock());
    if (!held) return Status(StatusCode::kBusy, path + ": somebody else is writing it");
    if (!file.is_at_its_path()) continue;  // it has just been finished
    LAPSE_TRY(file.truncate(0));           // what a killed process has left
    return file;
  }
}

}  // namespace

Tree::~Tree() = default;

Status Tree::check_absent(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 && errno == ENOENT) return {};
  return {StatusCode::kInvalidArgument, path + ": exists already; a store is only written to a new file"};
}

Status Tree::create(const std::string& path, StoreMeta meta, const FillSome& fill) {
  const std::string unfinished = path + "-new";
  LAPSE_TRY_ASSIGN(const File held, take_unfinished(unfinished));
  Status status = fill_new_file(unfinished, &meta, fill);
  test_hooks::crash_point("create-filled");
  if (status.ok()) status = check_absent(path);
  if (status.ok()) status = rename_file(unfinished, path);
  if (!status.ok()) {
    (void)remove_file(unfinished);
    return status;
  }
  test_hooks::crash_point("create-renamed");
  return sync_directory_of(path);
}

Status Tree::fill_new_file(const std::string& path, StoreMeta* meta, const FillSome& fill) {
  TreeEnvironment environment(path);
  // Nobody else knows the file yet: no locks, and one sync at the end.
  LAPSE_TRY(environment.open(MDB_NOLOCK | MDB_NOSYNC, fill ? kCopyMapBytes : kEmptyMapBytes));
  bool more = true;
  while (more) {
    LAPSE_TRY_ASSIGN(const uint64_t bytes, environment.file_bytes());
    if (fill && bytes + kCopyMapBytes / 2 > environment.map_bytes())
      LAPSE_TRY(environment.resize_map(2 * environment.map_bytes()));
    WriteTransaction transaction(&environment);
    LAPSE_TRY(transaction.begin());
    TreeBatch batch(&environment, transaction.cursor(), std::nullopt, *meta);
    more = false;
    if (fill) {
      LAPSE_TRY_ASSIGN(more, fill(&batch));
    }
    batch.tally(meta);
    if (!more) LAPSE_TRY(batch.put_meta(*meta));
    LAPSE_TRY(transaction.commit());
  }
  if (int code = mdb_env_sync(environment.get(), 1)) return environment.error("cannot sync", code);
  return {};
}

Result<std::unique_ptr<Tree>> Tree::open(const std::string& path, Mode mode, size_t map_bytes) {
  LAPSE_TRY(check_kind(path));
  LAPSE_TRY(check_pages(path));
  // The pages are synced before the meta page is written, and the meta page with the next commit's pages or by
  // Tree::sync(): of two commits the disk may miss the second, never parts of one. LMDB does not use pages again that the
  // last but one commit needs. (Asked for with a transaction, liblmdb 0.9.24 forgets about it.)
  unsigned flags = MDB_NOMETASYNC;
  if (mode == Mode::kReadOnly) flags = MDB_RDONLY | MDB_NOLOCK;  // no writer can be: see OwnerLock
  if (mode == Mode::kTemporary) flags = MDB_NOSYNC;
  if (mode != Mode::kReadOnly) LAPSE_TRY(allocate_lock_file(path));
  auto environment = std::make_shared<TreeEnvironment>(path);
  LAPSE_TRY(environment->open(flags, map_bytes));
  auto tree = std::unique_ptr<Tree>(new Tree(path, mode, std::move(environment)));
  LAPSE_TRY(tree->advance());
  // What a process left that was killed, or that a sync had failed, may be in the page cache only.
  if (mode == Mode::kReadWrite) LAPSE_TRY(tree->settle());
  return tree;
}

// Every page of a commit is synced before its meta page is written, so that page is all that can be missing on the disk. A
// sync would not do: if one has failed before, the kernel may take for written what is not.
Status Tree::settle() {
  const uint64_t page = current_->meta().txnid % 2;
  LAPSE_TRY(environment_->write_again(page * meta_page_.size(), meta_page_));
  in_doubt_ = false;
  return {};
}

// Makes what LMDB committed last the current generation.
Status Tree::advance() {
  MDB_txn* begun = nullptr;
  const int code = mdb_txn_begin(environment_->get(), nullptr, MDB_RDONLY, &begun);
  if (code == MDB_READERS_FULL)  // which may pass
    return {StatusCode::kNoSpace,
            path_ + ": snapshots hold more old states of the store than there is room for"};
  if (code != 0) return environment_->error("cannot begin to read", code);
  std::unique_ptr<MDB_txn, decltype(&mdb_txn_abort)> pin(begun, mdb_txn_abort);
  const auto make = [&]() -> Result<std::shared_ptr<const Generation>> {
    MDB_dbi database = 0;
    if (int error = mdb_dbi_open(begun, nullptr, 0, &database))
      return environment_->error("cannot open", error);
    LAPSE_TRY_ASSIGN(const uint64_t bytes, environment_->file_bytes());
    LAPSE_TRY_ASSIGN(const auto map, environment_->map_at_least(bytes));
    const std::string_view head(map->data, std::min<uint64_t>(bytes, kMetaHeadBytes));
    LAPSE_TRY_ASSIGN(const TreeMeta pages_meta, meta_of_txn(head, bytes, mdb_txn_id(begun)));
    const PageTree pages(map->data, pages_meta);
    LAPSE_TRY_ASSIGN(const std::optional<std::string_view> row, pages.get(kMetaRowKey));
    if (!row) return Status(StatusCode::kInvalidArgument, "an LMDB file, but not a Lapse store");
    LAPSE_TRY_ASSIGN(const StoreMeta meta, StoreMeta::decode(*row));
    if (meta.txnid != pages_meta.txnid)
      return Status(StatusCode::kCorrupt, "the meta page is of commit " + std::to_string(pages_meta.txnid) +
                                              ", the row that describes the store of " +
                                              std::to_string(meta.txnid));
    meta_page_.assign(map->data + meta.txnid % 2 * pages_meta.page_bytes, pages_meta.page_bytes);
    auto made = std::make_shared<const Generation>(environment_, map, begun, pages, pages_meta, meta);
    (void)pin.release();  // it has the pin now
    return made;
  };
  Result<std::shared_ptr<const Generation>> generation = make();
  if (generation.ok()) {
    current_ = std::move(*generation);
    behind_ = false;
    return {};
  }
  return {generation.status().code(), path_ + ": " + std::string(generation.status().message())};
}

Status Tree::write(const Fill& fill) {
  while (true) {
    bool map_full = false;
    Status status = try_write(fill, &map_full);
    if (!map_full) return status;
    LAPSE_TRY(environment_->resize_map(2 * environment_->map_bytes()));
  }
}

Status Tree::sync() {
  if (mode_ == Mode::kTemporary) return {};
  const int code = mdb_env_sync(environment_->get(), 1);
  if (code == 0) return {};
  const Status status = environment_->error("cannot sync", code);
  // That there may be room again later does not make up for what this sync has lost.
  return status.code() == StatusCode::kNoSpace ? Status(StatusCode::kIoError, std::string(status.message()))
                                               : status;
}

Status Tree::try_write(const Fill& fill, bool* map_full) {
  if (behind_) LAPSE_TRY(advance());  // memory ran out behind the last commit
  if (in_doubt_) LAPSE_TRY(settle());
  // For each commit anew, since each changes it; that is 8 bytes a free page.
  LAPSE_TRY_ASSIGN(const FreePages free, current_->check_free_list());
  WriteTransaction transaction(environment_.get());
  LAPSE_TRY(transaction.begin());
  TreeBatch batch(environment_.get(), transaction.cursor(), PathChecker(&current_->pages(), &free.pages),
                  current_->meta());
  Result<StoreMeta> meta = fill(&batch);
  Status status = meta.status();
  if (status.ok()) {
    batch.tally(&*meta);
    status = batch.put_meta(*meta);
  }
  *map_full = batch.map_full_;
  LAPSE_TRY(status);
  test_hooks::crash_point("tree-commit");
  status = transaction.commit();
  *map_full = transaction.map_full();
  in_doubt_ = !status.ok() && mode_ != Mode::kTemporary;  // it may have been the sync that failed
  LAPSE_TRY(status);
  behind_ = true;
  test_hooks::crash_point("tree-committed");
  return advance();
}

}  // namespace lapse::engine
