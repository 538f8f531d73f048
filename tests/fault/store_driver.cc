#include "store_driver.h"

#include <algorithm>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

#include "base/try.h"
#include "file_image.h"
#include "io_hooks.h"

namespace lapse::fault {

using engine::JournalIo;
using engine::LocalOptions;

LocalOptions odd_options(Random& random) {
  static constexpr size_t kBufferBytes[] = {1 << 10, 4 << 10, 32 << 10};
  static constexpr size_t kJournalBytes[] = {4 << 10, 8 << 10, 16 << 10};
  static constexpr size_t kSliceRows[] = {1, 4, 8192};
  static constexpr Durability kDurability[] = {Durability::kFull, Durability::kFull, Durability::kNormal,
                                               Durability::kNone};
  static constexpr JournalIo kIo[] = {JournalIo::kMapped, JournalIo::kMapped, JournalIo::kPwrite,
                                      JournalIo::kAuto};
  LocalOptions options;
  options.durability = random.pick(kDurability);
  options.sync_interval_ms = 10;
  options.background_drain = random.one_in(3);
  options.buffer_bytes = random.pick(kBufferBytes);
  options.journal_file_bytes = random.pick(kJournalBytes);
  options.drain_slice_rows = random.pick(kSliceRows);
  options.drain_slice_bytes = random.one_in(2) ? 512 : 8 << 20;
  options.journal_io = random.pick(kIo);
  return options;
}

std::string name_of(JournalIo io) {
  static constexpr const char* kNames[] = {"Auto", "Mapped", "Pwrite"};
  return kNames[static_cast<int>(io)];
}

std::string describe(const LocalOptions& options) {
  static constexpr const char* kDurability[] = {"full", "normal", "none"};
  return std::string(kDurability[static_cast<int>(options.durability)]) + ", " + name_of(options.journal_io) +
         (options.background_drain ? ", background drain" : "") + ", buffer " +
         std::to_string(options.buffer_bytes) + ", journal " + std::to_string(options.journal_file_bytes) +
         ", slices of " + std::to_string(options.drain_slice_rows) + " rows, " +
         std::to_string(options.drain_slice_bytes) + " bytes";
}

namespace {

std::string random_token(Random& random) {
  char text[kTokenBytes + 1];
  std::snprintf(text, sizeof text, "%s%016llx", kTokenPrefix.data(),
                static_cast<unsigned long long>(random.next()));
  return text;
}

std::string random_key(Random& random) {
  const std::string number = std::to_string(random.below(40));
  if (!random.one_in(6)) return "key" + number;
  // Longer than LMDB takes, with long common beginnings.
  return "long" + std::string(random.one_in(4) ? 2500 : 600, 'x') + number;
}

std::string random_value(Random& random) {
  if (random.one_in(40)) return random.bytes(random.between(10'000, 40'000));  // over any journal
  if (random.one_in(6)) return random.bytes(random.between(500, 5000));
  return random.bytes(random.below(120));
}

}  // namespace

Commit random_commit(Random& random) {
  Commit commit;
  commit.push_back({random_token(random), ""});
  for (uint64_t left = random.below(6); left > 0; --left) {
    if (random.one_in(4)) {
      commit.push_back({random_key(random), std::nullopt});
    } else {
      commit.push_back({random_key(random), random_value(random)});
    }
  }
  return commit;
}

StoreDriver::StoreDriver(std::string path, uint64_t seed, History history)
    : path_(std::move(path)), random_(seed), history_(std::move(history)) {}

StoreDriver::~StoreDriver() { kept_.reset(); }

Status StoreDriver::open(const LocalOptions& options) {
  options_ = options;
  options_.clock = &clock_;
  LAPSE_TRY_ASSIGN(engine_, engine::open_local(path_, options_));
  const uint64_t last = engine_->stats().last_sequence;
  if (last > history_.size()) {
    return {StatusCode::kCorrupt,
            "opened at commit " + std::to_string(last) + " of " + std::to_string(history_.size())};
  }
  history_.cut_back_to(last);
  io_mark(Mark::kOpened, last);
  return check_state();
}

Status StoreDriver::close() {
  kept_.reset();
  const Status status = engine_->close();
  engine_.reset();
  if (status.ok()) io_mark(Mark::kClosed, history_.size());
  return status;
}

Status StoreDriver::commit(const Commit& writes, Synced synced) {
  LAPSE_TRY_ASSIGN(const auto transaction, engine_->begin());
  return commit_with(*transaction, writes, synced);
}

Status StoreDriver::commit_some_unsynced() {
  Status status;
  for (uint64_t left = 1 + random_.below(kMostCommitsAStep); left > 0 && status.ok(); --left)
    status = commit(random_commit(random_), Synced::kLater);
  LAPSE_TRY(wait_durable());  // also if one has failed: those before it are to be seen
  return status;
}

Status StoreDriver::wait_durable() {
  LAPSE_TRY(engine_->wait_durable(history_.size()));
  io_mark(Mark::kDurable, history_.size());
  return {};
}

Status StoreDriver::commit_with(engine::Transaction& transaction, const Commit& writes, Synced synced) {
  for (const KeyWrite& write : writes) {
    LAPSE_TRY(write.value ? transaction.put(write.key, *write.value) : transaction.erase(write.key));
  }
  const uint64_t sequence = transaction.sequence();
  {
    const std::lock_guard lock(history_mutex_);
    history_.add(writes);
    if (history_.size() != sequence) {
      return {StatusCode::kCorrupt,
              "commit " + std::to_string(history_.size()) + " is numbered " + std::to_string(sequence)};
    }
  }
  io_mark(Mark::kCommitBegin, sequence);
  const Result<uint64_t> done = synced == Synced::kNow ? transaction.commit() : transaction.commit_unsynced();
  if (done.ok()) {
    io_mark(Mark::kAcknowledged, sequence,
            options_.durability == Durability::kFull && synced == Synced::kNow);
    return {};
  }
  if (done.status().code() != StatusCode::kUnknown) {
    const std::lock_guard lock(history_mutex_);
    history_.refuse_last();
    io_mark(Mark::kRefused, sequence);
  }
  return done.status();
}

Status StoreDriver::random_step() {
  switch (random_.below(24)) {
    case 0:
      LAPSE_TRY(engine_->sync());
      io_mark(Mark::kDurable, history_.size());
      return {};
    case 1: return wait_durable();
    case 2:
      LAPSE_TRY(engine_->checkpoint());
      io_mark(Mark::kDurable, history_.size());
      return {};
    case 3: {
      LAPSE_TRY_ASSIGN(kept_, engine_->snapshot());
      return {};
    }
    case 4: kept_.reset(); return {};
    case 5: clock_.advance(static_cast<int64_t>(random_.below(30))); return {};
    case 6: capture_lock_file(); return {};
    case 7: return commit_some_unsynced();
    default: return commit_random();
  }
}

// The close below drops this process's locks on the file. Nobody else wants them here.
void StoreDriver::capture_lock_file() { lock_file_bytes_ = read_whole_file(path_ + "-lock"); }

Status StoreDriver::commit_from_threads(int threads, int commits_each) {
  std::vector<std::thread> running;
  std::vector<Status> results(static_cast<size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i, random = Random(random_.next())]() mutable {
      Status& result = results[static_cast<size_t>(i)];
      for (int left = commits_each; left > 0 && result.ok(); --left) {
        result = commit(random_commit(random));
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  for (Status& result : results) LAPSE_TRY(std::move(result));
  return {};
}

Status StoreDriver::check_state() {
  LAPSE_TRY_ASSIGN(const uint64_t digest, digest_of(*engine_));
  if (digest == history_.digest_after(history_.size())) return {};
  LAPSE_TRY_ASSIGN(const State found, read_all(*engine_));
  return {StatusCode::kCorrupt, "not the state after commit " + std::to_string(history_.size()) + ":\n" +
                                    difference(history_.state_after(history_.size()), found)};
}

Result<uint64_t> digest_of(engine::Engine& engine) {
  LAPSE_TRY_ASSIGN(const std::unique_ptr<engine::Snapshot> snapshot, engine.snapshot());
  const std::unique_ptr<engine::Cursor> cursor = snapshot->cursor();
  uint64_t digest = kEmptyDigest;
  LAPSE_TRY(cursor->first());
  while (cursor->valid()) {
    digest = add_to_digest(digest, cursor->key(), cursor->value());
    LAPSE_TRY(cursor->next());
  }
  return digest;
}

}  // namespace lapse::fault
