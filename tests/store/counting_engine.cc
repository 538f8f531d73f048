#include "counting_engine.h"

#include "base/try.h"

namespace lapse {

EngineCalls EngineCalls::operator-(const EngineCalls& before) const {
  return {gets - before.gets,           puts - before.puts,
          erases - before.erases,       cursors - before.cursors,
          moves - before.moves,         estimates - before.estimates,
          snapshots - before.snapshots, transactions - before.transactions,
          commits - before.commits};
}

std::ostream& operator<<(std::ostream& out, const EngineCalls& calls) {
  return out << calls.gets << " gets, " << calls.puts << " puts, " << calls.erases << " erases, "
             << calls.cursors << " cursors, " << calls.moves << " moves, " << calls.estimates
             << " estimates, " << calls.snapshots << " snapshots, " << calls.transactions << " transactions, "
             << calls.commits << " commits";
}

namespace {

class Cursor final : public engine::Cursor {
 public:
  Cursor(std::unique_ptr<engine::Cursor> inner, EngineCalls* calls)
      : inner_(std::move(inner)), calls_(calls) {
    ++calls_->cursors;
  }
  Status seek(std::string_view key) override { return counted().seek(key); }
  Status first() override { return counted().first(); }
  Status last() override { return counted().last(); }
  Status next() override { return counted().next(); }
  Status prev() override { return counted().prev(); }
  bool valid() const override { return inner_->valid(); }
  std::string_view key() const override { return inner_->key(); }
  std::string_view value() const override { return inner_->value(); }

 private:
  engine::Cursor& counted() {
    ++calls_->moves;
    return *inner_;
  }
  std::unique_ptr<engine::Cursor> inner_;
  EngineCalls* calls_;
};

class Snapshot final : public engine::Snapshot {
 public:
  Snapshot(std::unique_ptr<engine::Snapshot> inner, EngineCalls* calls)
      : inner_(std::move(inner)), calls_(calls) {
    ++calls_->snapshots;
  }
  Result<std::optional<std::string_view>> get(std::string_view key) const override {
    ++calls_->gets;
    return inner_->get(key);
  }
  std::unique_ptr<engine::Cursor> cursor() const override {
    return std::make_unique<Cursor>(inner_->cursor(), calls_);
  }
  Result<uint64_t> estimate_entries(std::string_view from, std::string_view to) const override {
    ++calls_->estimates;
    return inner_->estimate_entries(from, to);
  }
  uint64_t sequence() const override { return inner_->sequence(); }

 private:
  std::unique_ptr<engine::Snapshot> inner_;
  EngineCalls* calls_;
};

class Transaction final : public engine::Transaction {
 public:
  Transaction(std::unique_ptr<engine::Transaction> inner, EngineCalls* calls)
      : inner_(std::move(inner)), calls_(calls) {
    ++calls_->transactions;
  }
  Result<std::optional<std::string_view>> get(std::string_view key) const override {
    ++calls_->gets;
    return inner_->get(key);
  }
  std::unique_ptr<engine::Cursor> cursor() const override {
    return std::make_unique<Cursor>(inner_->cursor(), calls_);
  }
  Result<uint64_t> estimate_entries(std::string_view from, std::string_view to) const override {
    ++calls_->estimates;
    return inner_->estimate_entries(from, to);
  }
  Status put(std::string_view key, std::string_view value) override {
    ++calls_->puts;
    return inner_->put(key, value);
  }
  Status erase(std::string_view key) override {
    ++calls_->erases;
    return inner_->erase(key);
  }
  engine::Savepoint savepoint() const override { return inner_->savepoint(); }
  Status rollback_to(engine::Savepoint savepoint) override { return inner_->rollback_to(savepoint); }
  uint64_t sequence() const override { return inner_->sequence(); }
  Result<uint64_t> commit() override {
    ++calls_->commits;
    return inner_->commit();
  }
  Result<uint64_t> commit_unsynced() override {
    ++calls_->commits;
    return inner_->commit_unsynced();
  }
  Result<uint64_t> commit_without_waiting() override {
    ++calls_->commits;
    return inner_->commit_without_waiting();
  }

 private:
  std::unique_ptr<engine::Transaction> inner_;
  EngineCalls* calls_;
};

class Counting final : public engine::Engine {
 public:
  Counting(std::unique_ptr<engine::Engine> inner, EngineCalls* calls)
      : inner_(std::move(inner)), calls_(calls) {}

  Result<std::unique_ptr<engine::Snapshot>> snapshot() override {
    LAPSE_TRY_ASSIGN(auto snapshot, inner_->snapshot());
    return std::unique_ptr<engine::Snapshot>(new Snapshot(std::move(snapshot), calls_));
  }
  Result<std::unique_ptr<engine::Transaction>> begin(std::chrono::milliseconds timeout) override {
    LAPSE_TRY_ASSIGN(auto transaction, inner_->begin(timeout));
    return std::unique_ptr<engine::Transaction>(new Transaction(std::move(transaction), calls_));
  }
  Status wait_durable(uint64_t sequence) override { return inner_->wait_durable(sequence); }
  Status sync() override { return inner_->sync(); }
  Status checkpoint() override { return inner_->checkpoint(); }
  Status compact_to(const std::string& path) override { return inner_->compact_to(path); }
  Status verify() override { return inner_->verify(); }
  engine::EngineStats stats() override { return inner_->stats(); }
  double backlog() override { return inner_->backlog(); }
  std::shared_ptr<void> shared_state(const std::function<std::shared_ptr<void>()>& make) override {
    return inner_->shared_state(make);
  }
  Status close() override { return inner_->close(); }

 private:
  std::unique_ptr<engine::Engine> inner_;
  EngineCalls* calls_;
};

}  // namespace

std::unique_ptr<engine::Engine> counting_engine(std::unique_ptr<engine::Engine> engine, EngineCalls* calls) {
  return std::make_unique<Counting>(std::move(engine), calls);
}

}  // namespace lapse
