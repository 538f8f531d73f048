#include "engine/local/core.h"

#include <algorithm>
#include <cassert>
#include <system_error>

#include "base/memory.h"
#include "base/test_hooks.h"
#include "base/try.h"

namespace lapse::engine {

namespace {

constexpr int64_t kRetryDrainMs = 100;    // after a full disk
constexpr size_t kFirstSliceRows = 1024;  // then as many as take a good while, and no longer
constexpr size_t kRowsAhead = 16;
constexpr uint64_t kSlowSliceUs = 100'000;
constexpr uint64_t kQuickSliceUs = 30'000;
constexpr size_t kSmallJournalBytes = 1 << 20;  // left behind at close rather than drained
constexpr uint64_t kSmallJournalFiles = 4;
constexpr size_t kKeptRecordBytes = 1 << 20;
// How far, in buffers, writers may run ahead of the drain before they help: not at all if nobody else drains.
constexpr double kArrearsAllowed = 0;
constexpr double kArrearsAllowedWithThread = 0.5;
constexpr std::chrono::milliseconds kBackgroundTick{50};

Status as_unknown(const Status& status) {
  return {StatusCode::kUnknown,
          "the commit may or may not survive a power cut: " + std::string(status.message())};
}

Status must_wait() { return {StatusCode::kBusy, "the commit would have had to wait"}; }

template <typename T>
void raise_to(std::atomic<T>* what, T value) {
  T seen = what->load(std::memory_order_relaxed);
  while (seen < value && !what->compare_exchange_weak(seen, value, std::memory_order_acq_rel)) {
  }
}

}  // namespace

Core::Core(std::string path, const LocalOptions& options, Contents contents, OwnerLock lock)
    : path_(std::move(path)),
      options_(options),
      lock_(std::move(lock)),
      tree_(std::move(contents.tree)),
      appended_(contents.end.sequence),
      visible_(contents.end.sequence),
      last_sync_ms_(options.clock->now_ms()),
      slice_rows_(std::min(kFirstSliceRows, options.drain_slice_rows)),
      drained_(tree_->current()->meta().drained_sequence) {
  drain_.end = contents.end;
  active_ = contents.buffer;
  active_bytes_.store(active_->used_bytes(), std::memory_order_relaxed);
  view_ = std::make_shared<const View>(View{std::move(contents.buffer), nullptr, tree_->current()});
}

Core::~Core() {
  assert(!forked());
  quietly([this] { (void)close(); });
}

Status Core::check_usable() const {
  if (forked())
    return {StatusCode::kUnavailable, path_ + ": this handle was inherited over fork(); open the store anew"};
  if (closed()) return {StatusCode::kUnavailable, path_ + ": the store has been closed"};
  return {};
}

// ------------------------------------------------------------------------------------------- reading

std::shared_ptr<const View> Core::view() const {
  std::lock_guard lock(view_mutex_);
  return view_;
}

ReadPoint Core::read_point() {
  ReadPoint point;
  point.verify_checksums = options_.verify_checksums;
  std::lock_guard lock(view_mutex_);
  point.view = view_;
  // Inside the lock: no other view can be published between the two.
  point.sequence = visible_.load(std::memory_order_acquire);
  return point;
}

ReadPoint Core::write_point() {
  ReadPoint point;
  point.verify_checksums = options_.verify_checksums;
  point.view = view();
  point.sequence = appended_.load(std::memory_order_relaxed);
  return point;
}

void Core::publish(View next) {
  auto view = std::make_shared<const View>(std::move(next));
  std::shared_ptr<const View> old;  // destroyed outside the lock
  const int64_t now_ms = options_.clock->now_ms();
  std::lock_guard lock(view_mutex_);
  old = std::exchange(view_, std::move(view));
  if (old->generation == view_->generation) return;
  std::erase_if(overtaken_, [](const auto& overtaken) { return overtaken.generation.expired(); });
  overtaken_.push_back({old->generation, now_ms});
}

// What is synced, or need not be, and in the buffer, is there for all to see.
void Core::advance_visible() {
  const uint64_t appended = appended_.load(std::memory_order_acquire);
  const bool wait_for_sync = journal_ && options_.durability == Durability::kFull;
  raise_to(&visible_, wait_for_sync ? std::min(appended, journal_->synced_sequence()) : appended);
}

// ------------------------------------------------------------------------------------------- writing

Status Core::begin_write(std::chrono::milliseconds timeout) {
  LAPSE_TRY(check_usable());
  if (options_.read_only) return {StatusCode::kReadOnly, path_ + ": opened read-only"};
  LAPSE_TRY(token_.acquire(timeout));
  try {
    Status status = check_usable();
    if (status.ok()) status = stopped();
    if (!status.ok()) token_.release();
    return status;
  } catch (const std::bad_alloc&) {  // there was no memory to say why
    token_.release();
    throw;
  }
}

void Core::end_write() {
  if (!own_writes_.empty()) own_writes_.reset();
  token_.release();
}

Status Core::stopped() const {
  if (journal_) LAPSE_TRY(journal_->failure());
  if (!is_stopped_.load(std::memory_order_acquire)) return {};
  std::lock_guard lock(stopped_mutex_);
  return stopped_.ok() ? Status(StatusCode::kUnknown, "no memory") : stopped_;
}

std::shared_ptr<WriteBuffer> Core::new_buffer(const LocalOptions& options, bool iterated) {
  const auto ordered_by = options.background_drain && !options.read_only ? WriteBuffer::OrderedBy::kThread
                                                                         : WriteBuffer::OrderedBy::kWriter;
  return std::make_shared<WriteBuffer>(options.buffer_bytes, ordered_by, iterated);
}

Result<uint64_t> Core::append_commit(Patience patience) {
  std::unique_lock lock(commit_mutex_, std::defer_lock);
  if (patience == Patience::kWait) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return must_wait();
  }
  LAPSE_TRY(check_usable());
  if (patience == Patience::kNone && active_->used_bytes() >= options_.buffer_bytes) return must_wait();
  LAPSE_TRY(make_room());
  const uint64_t sequence = next_sequence();
  const auto for_each_write = [this](auto&& visit) {
    own_writes_.for_each([&](std::string_view key, const WriteBuffer::Version& version) {
      visit(key, version.erased ? std::nullopt : std::optional(version.value()));
    });
  };
  if (journal_) {
    record_.assign(kRecordHeaderBytes, '\0');
    for_each_write([&](std::string_view key, std::optional<std::string_view> value) {
      append_write(&record_, {key, value});
      active_->expect(key);
    });
    if (patience == Patience::kNone && !journal_->fits(record_)) return must_wait();
    LAPSE_TRY(journal_->append(&record_, sequence));
    if (record_.capacity() > kKeptRecordBytes) std::string().swap(record_);
  }
  try {
    for_each_write([&](std::string_view key, std::optional<std::string_view> value) {
      active_->insert(key, sequence, value);
    });
  } catch (const std::bad_alloc&) {
    // The journal has the commit and the buffer has not: a reopen finds it there, and nothing may be written before.
    is_stopped_.store(true, std::memory_order_release);  // whether or not there is memory to say why
    stop(Status(StatusCode::kUnknown, "no memory for a commit that the journal already holds"));
    return stopped();
  }
  appended_.store(sequence, std::memory_order_release);
  active_bytes_.store(active_->used_bytes(), std::memory_order_relaxed);
  commits_.store(commits_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (options_.durability != Durability::kFull || !journal_) advance_visible();
  return sequence;
}

std::shared_ptr<void> Core::shared_state(const std::function<std::shared_ptr<void>()>& make) {
  std::lock_guard lock(shared_state_mutex_);
  if (!shared_state_) shared_state_ = make();
  return shared_state_;
}

Status Core::finish_commit(uint64_t sequence, Confirmation confirmation) {
  if (journal_) {
    if (Status status = confirm(sequence, confirmation); !status.ok()) return as_unknown(status);
  }
  help_draining();
  return {};
}

Status Core::confirm(uint64_t sequence, Confirmation confirmation) {
  if (options_.durability == Durability::kFull) {
    if (confirmation == Confirmation::kNow) return sync_to(sequence);
    note_unsynced();
    journal_->start_sync();
    return {};
  }
  // Where there is a thread, it syncs; a writer does it only if the disk has kept the thread waiting for too long.
  const int64_t patience = has_background_.load(std::memory_order_relaxed) ? 2 : 1;
  return sync_if_due(sequence, patience);
}

Status Core::sync_to(uint64_t sequence) {
  if (!journal_) return {};
  LAPSE_TRY(journal_->wait_synced(sequence));
  advance_visible();
  last_sync_ms_.store(options_.clock->now_ms(), std::memory_order_relaxed);
  if (journal_->synced_sequence() >= appended_.load(std::memory_order_acquire))
    unsynced_since_ms_.store(-1, std::memory_order_relaxed);
  return {};
}

// Since when a power cut may take something. Returns what time it is.
int64_t Core::note_unsynced() {
  const int64_t now_ms = options_.clock->now_ms();
  int64_t nobody = -1;
  unsynced_since_ms_.compare_exchange_strong(nobody, now_ms, std::memory_order_relaxed);
  return now_ms;
}

Status Core::sync_if_due(uint64_t sequence, int64_t patience) {
  const int64_t now_ms = note_unsynced();
  if (options_.durability != Durability::kNormal) return {};
  int64_t last_ms = last_sync_ms_.load(std::memory_order_relaxed);
  if ((now_ms - last_ms) / patience < options_.sync_interval_ms) return {};  // a product could be too large
  // One committer does it; the others go on.
  if (!last_sync_ms_.compare_exchange_strong(last_ms, now_ms)) return {};
  return sync_to(sequence);
}

Status Core::wait_durable(uint64_t sequence) {
  LAPSE_TRY(check_usable());
  if (sequence > appended_sequence())
    return {StatusCode::kInvalidArgument, "commit " + std::to_string(sequence) +
                                              " has not happened; the newest is " +
                                              std::to_string(appended_sequence())};
  return sync_to(sequence);
}

// ------------------------------------------------------------------------------------------ draining

// Sees to it that the active buffer can take a commit. On error nothing has happened. REQUIRES: commit_mutex_
Status Core::make_room() {
  LAPSE_TRY(stopped());
  if (active_->used_bytes() < options_.buffer_bytes) return {};
  LAPSE_TRY(drain_until(drain_.target));
  freeze();
  return {};
}

// REQUIRES: commit_mutex_, and no frozen buffer
void Core::freeze() {
  std::lock_guard lock(drain_mutex_);
  const std::shared_ptr<const View> now = view();
  assert(!now->frozen);
  // What needs memory comes first: a drain whose buffer is not frozen would drain nothing, and call it done.
  auto fresh = new_buffer(options_, now->active->was_iterated());
  publish({fresh, now->active, now->generation});
  active_ = std::move(fresh);
  drain_ = Drain();
  drain_.target = appended_.load(std::memory_order_relaxed);
  if (journal_) drain_.end = journal_->seal();
  drained_rows_.store(0, std::memory_order_relaxed);
  frozen_rows_.store(now->active->keys(), std::memory_order_relaxed);
  active_bytes_.store(0, std::memory_order_relaxed);
  has_frozen_.store(true, std::memory_order_release);
  test_hooks::crash_point("frozen");
  if (has_background_.load(std::memory_order_relaxed)) background_wakeup_.notify_one();
}

double Core::drain_arrears() const {
  if (!has_frozen_.load(std::memory_order_acquire)) return -1;
  const auto part = [](const std::atomic<size_t>& some, size_t all) {
    return static_cast<double>(some.load(std::memory_order_relaxed)) / static_cast<double>(all);
  };
  return part(active_bytes_, options_.buffer_bytes) -
         part(drained_rows_, frozen_rows_.load(std::memory_order_relaxed) + 1);
}

// Slows a writer down in proportion, so that the frozen buffer is gone when the active one is full.
void Core::help_draining() {
  const bool background = has_background_.load(std::memory_order_relaxed);
  const double allowed = background ? kArrearsAllowedWithThread : kArrearsAllowed;
  if (drain_arrears() <= allowed) return;
  if (options_.clock->now_ms() < retry_drain_at_ms_.load(std::memory_order_relaxed)) return;
  // The commit that helps has been made, whatever becomes of this; errors are remembered.
  quietly([&] {
    std::lock_guard lock(drain_mutex_);
    if (drain_arrears() > allowed && stopped().ok()) (void)drain_step();
  });
}

Status Core::drain_until(uint64_t sequence) {
  while (drained_.load(std::memory_order_acquire) < sequence) {
    std::lock_guard lock(drain_mutex_);
    if (drained_.load(std::memory_order_acquire) >= sequence) break;
    LAPSE_TRY(stopped());
    LAPSE_TRY(drain_step());
  }
  return {};
}

Status Core::drain_frozen() {
  while (has_frozen_.load(std::memory_order_acquire)) {
    std::lock_guard lock(drain_mutex_);
    if (!has_frozen_.load(std::memory_order_acquire)) break;
    LAPSE_TRY(stopped());
    LAPSE_TRY(drain_step());
  }
  return {};
}

// Brings the frozen buffer a step further into the tree. REQUIRES: drain_mutex_, and a frozen buffer
Status Core::drain_step() {
  const Stopwatch stopwatch;
  Status status = [&] {
    switch (drain_.stage) {
      case Drain::Stage::kSyncJournal: return sync_journal_to_drain();
      case Drain::Stage::kMark: return mark_drain();
      case Drain::Stage::kRows: return drain_slice();
      case Drain::Stage::kSyncTree: break;
    }
    return finish_drain();
  }();
  remember_drain_result(status);
  slices_us_.fetch_add(stopwatch.elapsed_us(), std::memory_order_relaxed);
  raise_to(&longest_slice_us_, stopwatch.elapsed_us());
  return status;
}

Status Core::sync_journal_to_drain() {
  test_hooks::crash_point("drain-begin");
  LAPSE_TRY(sync_to(drain_.target));
  drain_.stage = Drain::Stage::kMark;
  return {};
}

// A commit of its own, so that the one before a drain's last is never a state that looks complete: if a damaged meta page
// makes the tree fall back to it, the missing journal tells.
Status Core::mark_drain() {
  LAPSE_TRY(tree_->write([this](TreeBatch*) -> Result<StoreMeta> {
    StoreMeta meta = tree_->current()->meta();
    meta.target_sequence = drain_.target;
    return meta;
  }));
  test_hooks::crash_point("drain-marked");
  const WriteBuffer* frozen = view()->frozen.get();
  frozen->order_in_one();
  drain_.next = WriteBuffer::Iterator(frozen, drain_.target);
  drain_.next.first();
  drain_.stage = Drain::Stage::kRows;
  return {};
}

Status Core::drain_slice() {
  const Stopwatch stopwatch;
  WriteBuffer::Iterator next;
  size_t rows = 0;
  LAPSE_TRY(tree_->write([&](TreeBatch* batch) { return write_slice(batch, &next, &rows); }));
  drain_.next = next;
  if (!next.valid()) drain_.stage = Drain::Stage::kSyncTree;
  drained_rows_.fetch_add(rows, std::memory_order_relaxed);
  slices_.fetch_add(1, std::memory_order_relaxed);
  // Rows cost more the larger the tree: what counts is how long a writer may be held up.
  const uint64_t us = stopwatch.elapsed_us();
  if (us > kSlowSliceUs) slice_rows_ = std::max<size_t>(slice_rows_ / 2, 1);
  if (us < kQuickSliceUs) slice_rows_ = std::min(slice_rows_ * 2, options_.drain_slice_rows);

  const std::shared_ptr<const View> now = view();
  publish({now->active, now->frozen, tree_->current()});
  test_hooks::crash_point("drain-slice");
  return {};
}

Result<StoreMeta> Core::write_slice(TreeBatch* batch, WriteBuffer::Iterator* next, size_t* rows) {
  *next = drain_.next;
  *rows = 0;
  size_t bytes = 0;
  while (next->valid() && *rows < slice_rows_ && bytes < options_.drain_slice_bytes) {
    if (*rows % kRowsAhead == 0) next->expect(kRowsAhead);
    const WriteBuffer::Version& version = next->version();
    LAPSE_TRY(version.erased ? batch->erase(next->key()) : batch->put(next->key(), version.value()));
    bytes += next->key().size() + version.value_bytes;
    ++*rows;
    next->next();
  }
  StoreMeta meta = tree_->current()->meta();
  meta.target_sequence = drain_.target;
  if (!next->valid()) {
    meta.drained_sequence = drain_.target;
    meta.first_file = drain_.end.next_file;
    meta.chain = drain_.end.chain;
  }
  return meta;
}

// From here on the tree has it all, and the journal is not needed for it any more.
Status Core::finish_drain() {
  LAPSE_TRY(tree_->sync());
  publish({view()->active, nullptr, tree_->current()});
  test_hooks::crash_point("drain-last-slice");
  drain_.next = {};  // or it would keep the order of a buffer that is gone
  has_frozen_.store(false, std::memory_order_release);
  drained_.store(drain_.target, std::memory_order_release);
  drains_.fetch_add(1, std::memory_order_relaxed);
  if (journal_) journal_->release_before(drain_.end.next_file);
  test_hooks::crash_point("journal-released");
  return {};
}

// A full disk may have room again; whatever else goes wrong with the tree does not mend itself.
void Core::remember_drain_result(const Status& status) {
  if (status.ok() && retry_drain_at_ms_.load(std::memory_order_relaxed) == 0) return;
  std::lock_guard lock(stopped_mutex_);
  no_space_ = Status();
  retry_drain_at_ms_.store(0, std::memory_order_relaxed);
  if (status.code() == StatusCode::kNoSpace) {
    no_space_ = status;
    retry_drain_at_ms_.store(options_.clock->now_ms() + kRetryDrainMs, std::memory_order_relaxed);
  } else if (!status.ok()) {
    stop_locked(status);
  }
}

void Core::stop(const Status& status) {
  std::lock_guard lock(stopped_mutex_);
  stop_locked(status);
}

// REQUIRES: stopped_mutex_
void Core::stop_locked(const Status& status) {
  is_stopped_.store(true, std::memory_order_release);  // also if there is no memory to say why
  stopped_ = Status(status.code(),
                    std::string(status.message()) + "; nothing more is written until the store is reopened");
}

Status Core::checkpoint() {
  LAPSE_TRY(check_usable());
  LAPSE_TRY(drain_frozen());  // before any writer has to wait for it
  LAPSE_TRY(begin_write(kForever));
  uint64_t target = 0;
  {
    struct Writing {
      Core* core;
      ~Writing() { core->end_write(); }  // also if memory runs out: the next writer would wait for ever
    };
    const Writing writing{this};
    std::lock_guard lock(commit_mutex_);
    LAPSE_TRY(drain_until(drain_.target));
    target = appended_.load(std::memory_order_relaxed);
    if (!active_->empty()) freeze();
  }
  return drain_until(target);
}

Status Core::drain_recovered() {
  const Journal::Position end = drain_.end;
  freeze();
  drain_.end = end;
  std::lock_guard lock(drain_mutex_);
  while (view()->frozen) LAPSE_TRY(drain_step());
  return {};
}

// --------------------------------------------------------------------------------- background thread

Status Core::start_background_thread() {
  try {
    background_ = std::thread([this] { background_loop(); });
  } catch (const std::system_error& error) {
    return {StatusCode::kIoError, path_ + ": no thread to drain by: " + error.what()};
  }
  has_background_.store(true);
  return {};
}

void Core::background_loop() {
  std::unique_lock lock(background_mutex_);
  while (!background_stop_) {
    background_wakeup_.wait_for(lock, kBackgroundTick);
    if (background_stop_) return;
    lock.unlock();
    const auto may_drain = [&] {
      return has_frozen_.load(std::memory_order_acquire) && stopped().ok() &&
             options_.clock->now_ms() >= retry_drain_at_ms_.load(std::memory_order_relaxed);
    };
    const auto sync = [&] {
      if (journal_ && appended_sequence() > journal_->synced_sequence())
        (void)sync_if_due(appended_sequence(), 1);  // an error is the journal's for good
    };
    const auto keep_up = [&] {
      view()->active->order_if_many();
      sync();
    };
    // Without memory, it is tried again at the next tick.
    quietly([&] {
      while (may_drain()) {
        {
          std::lock_guard drain_lock(drain_mutex_);
          if (may_drain()) (void)drain_step();  // its errors are remembered
        }
        keep_up();
      }
      keep_up();
    });
    lock.lock();
  }
}

// ------------------------------------------------------------------------------- whole-store matters

Status Core::verify() {
  LAPSE_TRY(check_usable());
  if (journal_) {
    std::lock_guard lock(drain_mutex_);  // keeps files from being used again meanwhile
    LAPSE_TRY(journal_->verify());
  }
  return view()->generation->verify();
}

EngineStats Core::stats() {
  EngineStats stats;
  const int64_t now_ms = options_.clock->now_ms();
  // First, while this call holds none itself.
  {
    std::lock_guard lock(view_mutex_);
    for (const OvertakenGeneration& overtaken : overtaken_) {
      if (overtaken.generation.expired()) continue;
      ++stats.held_snapshots;
      stats.oldest_snapshot_ms = std::max(stats.oldest_snapshot_ms, now_ms - overtaken.since_ms);
    }
  }
  const std::shared_ptr<const View> now = view();
  // Each of these runs behind the next: read in this order, they do so here, too.
  stats.drained_sequence = drained_.load(std::memory_order_acquire);
  stats.durable_sequence = journal_ ? std::max(journal_->synced_sequence(), stats.drained_sequence) : 0;
  stats.visible_sequence = visible_.load(std::memory_order_acquire);
  stats.last_sequence = appended_sequence();
  if (options_.read_only) stats.durable_sequence = stats.last_sequence;
  stats.entries_in_tree = now->generation->meta().rows;
  stats.tree_file_bytes = now->generation->file_bytes();
  if (const Result<uint64_t> free_bytes = now->generation->free_bytes(); free_bytes.ok())
    stats.tree_free_bytes = *free_bytes;
  for (const auto& buffer : {now->active, now->frozen}) {
    if (!buffer) continue;
    stats.buffer_bytes += buffer->used_bytes();
    stats.buffer_entries += buffer->keys();
  }
  stats.commits = commits_.load(std::memory_order_relaxed);
  stats.drains = drains_.load(std::memory_order_relaxed);
  stats.drain_slices = slices_.load(std::memory_order_relaxed);
  stats.longest_slice_us = longest_slice_us_.load(std::memory_order_relaxed);
  stats.drain_us = slices_us_.load(std::memory_order_relaxed);
  if (journal_) {
    const Journal::Sizes sizes = journal_->sizes();
    stats.journal_bytes = sizes.bytes;
    stats.journal_files = sizes.files;
    stats.syncs = journal_->syncs();
    const int64_t since_ms = unsynced_since_ms_.load(std::memory_order_relaxed);
    if (since_ms >= 0 && stats.durable_sequence < stats.last_sequence)
      stats.unsynced_age_ms = now_ms - since_ms;
  }
  stats.background_error = stopped();
  if (stats.background_error.ok()) {
    std::lock_guard lock(stopped_mutex_);
    stats.background_error = no_space_;
  }
  return stats;
}

bool Core::worth_draining() {
  const std::shared_ptr<const View> now = view();
  size_t bytes = now->active->used_bytes();
  if (now->frozen) bytes += now->frozen->used_bytes();
  return now->frozen || bytes >= std::min(kSmallJournalBytes, options_.buffer_bytes) ||
         journal_->sizes().live_files >= kSmallJournalFiles;
}

Status Core::close() {
  {
    std::lock_guard lock(commit_mutex_);
    if (closed_.exchange(true)) return {};
  }
  if (background_.joinable()) {
    {
      std::lock_guard lock(background_mutex_);
      background_stop_ = true;
    }
    background_wakeup_.notify_one();
    background_.join();
    has_background_.store(false);
  }
  if (!journal_) return {};
  std::lock_guard lock(commit_mutex_);
  LAPSE_TRY(stopped());
  const uint64_t end = appended_sequence();
  // If it cannot be drained now, the journal has it: that is no loss.
  quietly([this] {
    if (!worth_draining()) return;
    const Status status = drain_until(drain_.target);
    if (!status.ok() || active_->empty()) return;
    freeze();
    (void)drain_until(drain_.target);
  });
  std::lock_guard drain_lock(drain_mutex_);  // a writer that helped may just be releasing journal files
  return journal_->close(drained_.load() == end);
}

}  // namespace lapse::engine
