#include "test_engines.h"

#include <mutex>

#include "base/try.h"
#include "engine/memory/memory_engine.h"

namespace lapse::engine {

namespace {

testing::AssertionResult wrong(std::string_view how, const std::string& found, const std::string& expected) {
  return testing::AssertionFailure() << std::string(how) << ": found " << found << ", expected " << expected;
}

template <typename Iterator>
std::string entry(Iterator at, Iterator end) {
  return at == end ? "end" : abbreviate(at->first) + "=" + abbreviate(at->second);
}

// Walks from the cursor's position to the end, beside `at`.
template <typename Iterator>
testing::AssertionResult same_walk(std::string_view how, Status moved, Cursor& cursor,
                                   Status (Cursor::*move)(), Iterator at, Iterator end) {
  for (;; ++at) {
    const bool same = moved.ok() && cursor.valid() == (at != end) &&
                      (at == end || (cursor.key() == at->first && cursor.value() == at->second));
    if (!same) return wrong(how, after(moved, cursor), entry(at, end));
    if (at == end) return testing::AssertionSuccess();
    moved = (cursor.*move)();
  }
}

}  // namespace

testing::AssertionResult holds(const Reader& reader, const Map& expected) {
  for (const auto& [key, value] : expected) {
    auto found = reader.get(key);
    if (!found.ok()) return wrong("get", found.status().to_string(), abbreviate(key));
    if (!*found) return wrong("get", "nothing", abbreviate(key));
    if (**found != value) {
      return wrong("get " + abbreviate(key), abbreviate(**found), abbreviate(value));
    }
  }
  auto cursor = reader.cursor();
  const Status first = cursor->first();
  auto forward = same_walk("forward", first, *cursor, &Cursor::next, expected.begin(), expected.end());
  if (!forward) return forward;
  const Status last = cursor->last();
  return same_walk("back", last, *cursor, &Cursor::prev, expected.rbegin(), expected.rend());
}

testing::AssertionResult holds(Engine& engine, const Map& expected) {
  auto snapshot = engine.snapshot();
  if (!snapshot.ok()) return is_ok(snapshot.status());
  return holds(**snapshot, expected);
}

Map entries_of(const Map& map, const Range& range) {
  Map within;
  for (auto at = map.lower_bound(range.from); at != map.end() && (!range.to || at->first < *range.to); ++at)
    within.insert(*at);
  return within;
}

std::string keys(const Reader& reader) {
  std::string all;
  auto cursor = reader.cursor();
  Status moved = cursor->first();
  for (; moved.ok() && cursor->valid(); moved = cursor->next()) {
    if (!all.empty()) all += ',';
    all += abbreviate(cursor->key());
    if (all.size() > 1 << 20) return "no end";
  }
  return moved.ok() ? all : all + " " + moved.to_string();
}

std::string keys(Engine& engine) { return keys(*must(engine.snapshot())); }

std::optional<std::string> get(const Reader& reader, std::string_view key) {
  auto value = must(reader.get(key));
  return value ? std::optional<std::string>(*value) : std::nullopt;
}

std::optional<std::string> get(Engine& engine, std::string_view key) {
  return get(*must(engine.snapshot()), key);
}

uint64_t put(Engine& engine, std::string_view key, std::string_view value) {
  auto transaction = must(engine.begin());
  must(transaction->put(key, value));
  return must(transaction->commit());
}

uint64_t erase(Engine& engine, std::string_view key) {
  auto transaction = must(engine.begin());
  must(transaction->erase(key));
  return must(transaction->commit());
}

uint64_t put_all(Engine& engine, const Map& entries) {
  auto transaction = must(engine.begin());
  for (const auto& [key, value] : entries) must(transaction->put(key, value));
  return must(transaction->commit());
}

std::string after(const Status& move, const Cursor& cursor) {
  if (!move.ok()) return move.to_string();
  if (!cursor.valid()) return "end";
  return abbreviate(cursor.key()) + "=" + abbreviate(cursor.value());
}

// -------------------------------------------------------------------------------- configurations

namespace {

Result<std::unique_ptr<Engine>> open_plain(const EngineConfig& config, const std::string& path) {
  if (!config.memory) return open_local(path, config.options);
  MemoryOptions options;
  options.buffer_bytes = config.options.buffer_bytes;
  options.max_transaction_bytes = config.options.max_transaction_bytes;
  options.drain_slice_rows = config.options.drain_slice_rows;
  options.drain_slice_bytes = config.options.drain_slice_bytes;
  options.background_drain = config.options.background_drain;
  options.clock = config.options.clock;
  return open_memory(options);
}

// What a SteppedEngine shares with the snapshots and transactions that came from it.
class Stepper {
 public:
  Stepper(std::unique_ptr<Engine> engine, EngineConfig config, std::string path)
      : config_(std::move(config)), path_(std::move(path)), engine_(std::move(engine)) {}

  // Restarts the store, if that is due and nobody uses it. REQUIRES: leave() follows, if it is ok.
  Status enter() {
    std::lock_guard lock(mutex_);
    if (users_ == 0 && !closed_ && config_.between == EngineConfig::Between::kRestart) {
      if (engine_) LAPSE_TRY(engine_->close());
      engine_.reset();
      LAPSE_TRY_ASSIGN(engine_, open_plain(config_, path_));
    }
    ++users_;
    return Status();
  }
  void leave() {
    std::lock_guard lock(mutex_);
    --users_;
  }
  Status close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    return engine_ ? engine_->close() : Status();
  }
  EngineStats stats() {
    std::lock_guard lock(mutex_);
    return engine_ ? engine_->stats() : EngineStats();
  }
  Status after_commit() {
    if (config_.between == EngineConfig::Between::kCheckpoint) return engine_->checkpoint();
    return Status();
  }
  // REQUIRES: inside enter() … leave()
  Engine* engine() { return engine_.get(); }

 private:
  const EngineConfig config_;
  const std::string path_;
  std::mutex mutex_;
  std::unique_ptr<Engine> engine_;
  int users_ = 0;
  bool closed_ = false;
};

// One use of the store, during which it is not restarted.
class Use {
 public:
  explicit Use(std::shared_ptr<Stepper> stepper) : stepper_(std::move(stepper)), status_(stepper_->enter()) {}
  ~Use() {
    if (stepper_ && status_.ok()) stepper_->leave();
  }
  Use(Use&&) = default;
  Use& operator=(Use&&) = delete;

  const Status& status() const { return status_; }
  Stepper* operator->() const { return stepper_.get(); }

 private:
  std::shared_ptr<Stepper> stepper_;
  Status status_;
};

class SteppedSnapshot final : public Snapshot {
 public:
  SteppedSnapshot(Use use, std::unique_ptr<Snapshot> inner)
      : use_(std::move(use)), inner_(std::move(inner)) {}

  Result<std::optional<std::string_view>> get(std::string_view key) const override {
    return inner_->get(key);
  }
  std::unique_ptr<Cursor> cursor(Range range) const override { return inner_->cursor(std::move(range)); }
  Result<uint64_t> estimate_entries(std::string_view from, std::string_view to) const override {
    return inner_->estimate_entries(from, to);
  }
  uint64_t sequence() const override { return inner_->sequence(); }

 private:
  Use use_;  // ends after the snapshot
  std::unique_ptr<Snapshot> inner_;
};

class SteppedTransaction final : public Transaction {
 public:
  SteppedTransaction(Use use, std::unique_ptr<Transaction> inner)
      : use_(std::move(use)), inner_(std::move(inner)) {}

  Result<std::optional<std::string_view>> get(std::string_view key) const override {
    return inner_->get(key);
  }
  Result<std::optional<std::string_view>> get_committed(std::string_view key) const override {
    return inner_->get_committed(key);
  }
  std::unique_ptr<Cursor> cursor(Range range) const override { return inner_->cursor(std::move(range)); }
  Result<uint64_t> estimate_entries(std::string_view from, std::string_view to) const override {
    return inner_->estimate_entries(from, to);
  }
  Status put(std::string_view key, std::string_view value) override { return inner_->put(key, value); }
  Status erase(std::string_view key) override { return inner_->erase(key); }
  Status put_reserved(std::string_view key, std::string_view value) override {
    return inner_->put_reserved(key, value);
  }
  Savepoint savepoint() const override { return inner_->savepoint(); }
  Status rollback_to(Savepoint savepoint) override { return inner_->rollback_to(savepoint); }
  uint64_t sequence() const override { return inner_->sequence(); }
  Result<uint64_t> commit() override { return after(inner_->commit()); }
  Result<uint64_t> commit_unsynced() override { return after(inner_->commit_unsynced()); }
  Result<uint64_t> commit_without_waiting() override { return after(inner_->commit_without_waiting()); }

 private:
  Result<uint64_t> after(Result<uint64_t> sequence) {
    if (sequence.ok()) LAPSE_TRY(use_->after_commit());
    return sequence;
  }

  Use use_;  // ends after the transaction
  std::unique_ptr<Transaction> inner_;
};

// Does what its configuration wants between the steps, and passes everything on.
class SteppedEngine final : public Engine {
 public:
  SteppedEngine(std::unique_ptr<Engine> engine, const EngineConfig& config, const std::string& path)
      : stepper_(std::make_shared<Stepper>(std::move(engine), config, path)) {}

  Result<std::unique_ptr<Snapshot>> snapshot() override {
    Use use(stepper_);
    LAPSE_TRY(use.status());
    LAPSE_TRY_ASSIGN(auto inner, use->engine()->snapshot());
    return std::unique_ptr<Snapshot>(new SteppedSnapshot(std::move(use), std::move(inner)));
  }
  Result<std::unique_ptr<Transaction>> begin(std::chrono::milliseconds timeout) override {
    Use use(stepper_);
    LAPSE_TRY(use.status());
    LAPSE_TRY_ASSIGN(auto inner, use->engine()->begin(timeout));
    return std::unique_ptr<Transaction>(new SteppedTransaction(std::move(use), std::move(inner)));
  }
  Status wait_durable(uint64_t sequence) override {
    return pass([&](Engine* engine) { return engine->wait_durable(sequence); });
  }
  Status sync() override {
    return pass([](Engine* engine) { return engine->sync(); });
  }
  Status checkpoint() override {
    return pass([](Engine* engine) { return engine->checkpoint(); });
  }
  Status compact_to(const std::string& path) override {
    return pass([&](Engine* engine) { return engine->compact_to(path); });
  }
  Status verify() override {
    return pass([](Engine* engine) { return engine->verify(); });
  }
  EngineStats stats() override { return stepper_->stats(); }
  double backlog() override { return 0; }
  std::shared_ptr<void> shared_state(const std::function<std::shared_ptr<void>()>& make) override {
    if (!shared_state_) shared_state_ = make();
    return shared_state_;
  }
  Status close() override { return stepper_->close(); }

 private:
  template <typename Call>
  Status pass(Call call) {
    Use use(stepper_);
    LAPSE_TRY(use.status());
    return call(use->engine());
  }

  std::shared_ptr<Stepper> stepper_;
  std::shared_ptr<void> shared_state_;  // the engine that the stepper has changes
};

}  // namespace

LocalOptions small_options() {
  LocalOptions options;
  options.buffer_bytes = 2 << 10;
  options.journal_file_bytes = 4 << 10;
  options.drain_slice_rows = 7;
  options.drain_slice_bytes = 1 << 10;
  options.map_bytes = 1 << 20;
  return options;
}

std::vector<EngineConfig> engine_configs() {
  using Between = EngineConfig::Between;
  std::vector<EngineConfig> configs;
  auto add = [&](const char* name, const LocalOptions& options) -> EngineConfig& {
    return configs.emplace_back(EngineConfig{name, false, Between::kNothing, options});
  };
  LocalOptions background = small_options();
  background.background_drain = true;
  LocalOptions full;
  full.durability = Durability::kFull;
  LocalOptions full_background = background;
  full_background.durability = Durability::kFull;
  LocalOptions none;
  none.durability = Durability::kNone;
  LocalOptions pwrite;
  pwrite.journal_io = JournalIo::kPwrite;
  LocalOptions pwrite_small = small_options();
  pwrite_small.journal_io = JournalIo::kPwrite;

  add("Memory", {}).memory = true;
  add("MemorySmall", small_options()).memory = true;
  add("Local", {});
  add("LocalSmall", small_options());
  add("LocalSmallBackground", background);
  add("LocalFull", full);
  add("LocalFullSmallBackground", full_background);
  add("LocalNone", none);
  add("LocalPwrite", pwrite);
  add("LocalPwriteSmall", pwrite_small);
  add("LocalRestart", {}).between = Between::kRestart;
  add("LocalCheckpoint", {}).between = Between::kCheckpoint;
  return configs;
}

Result<std::unique_ptr<Engine>> open_engine(const EngineConfig& config, const std::string& path) {
  LAPSE_TRY_ASSIGN(auto engine, open_plain(config, path));
  if (config.between == EngineConfig::Between::kNothing) return engine;
  return std::unique_ptr<Engine>(new SteppedEngine(std::move(engine), config, path));
}

void EngineTest::reopen() {
  must(engine_->close());
  engine_.reset();
  open();
}

}  // namespace lapse::engine
