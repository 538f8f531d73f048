#include "counting_engine.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/try.h"

namespace lapse {

EngineCalls EngineCalls::operator-(const EngineCalls& before) const {
  return {gets - before.gets,           puts - before.puts,           erases - before.erases,
          cursors - before.cursors,     moves - before.moves,         walked_erased - before.walked_erased,
          estimates - before.estimates, snapshots - before.snapshots, transactions - before.transactions,
          commits - before.commits};
}

std::ostream& operator<<(std::ostream& out, const EngineCalls& calls) {
  return out << calls.gets << " gets, " << calls.puts << " puts, " << calls.erases << " erases, "
             << calls.cursors << " cursors, " << calls.moves << " moves past " << calls.walked_erased
             << " erased, " << calls.estimates << " estimates, " << calls.snapshots << " snapshots, "
             << calls.transactions << " transactions, " << calls.commits << " commits";
}

namespace {

// Where the counts go, and which keys were erased and not put again. It does not know of rollbacks and drains: so there may
// be less to walk over than it says.
struct Counts {
  EngineCalls* calls;
  std::set<std::string> erased;
};

class Cursor final : public engine::Cursor {
 public:
  Cursor(const engine::Reader& reader, engine::Range range, std::shared_ptr<Counts> counts)
      : range_(std::move(range)), inner_(reader.cursor(range_)), counts_(std::move(counts)) {
    ++counts_->calls->cursors;
  }
  Status seek(std::string_view key) override {
    const std::string from = std::max(std::string(key), range_.from);
    return forward(inner_->seek(key), from);
  }
  Status first() override { return forward(inner_->first(), range_.from); }
  Status last() override { return backward(inner_->last(), range_.to); }
  Status next() override {
    const std::string from = std::string(key()) + '\0';
    return forward(inner_->next(), from);
  }
  Status prev() override {
    const std::string before(key());
    return backward(inner_->prev(), before);
  }
  bool valid() const override { return inner_->valid(); }
  std::string_view key() const override { return inner_->key(); }
  std::string_view value() const override { return inner_->value(); }

 private:
  // A move has come from a key, or before one, to where the cursor stands.
  Status forward(Status status, const std::string& from) {
    return count(std::move(status), from, valid() ? std::optional(std::string(key())) : range_.to);
  }
  Status backward(Status status, const std::optional<std::string>& before) {
    return count(std::move(status), valid() ? std::string(key()) : range_.from, before);
  }
  Status count(Status status, const std::string& from, const std::optional<std::string>& to) {
    ++counts_->calls->moves;
    const auto& erased = counts_->erased;
    for (auto at = erased.lower_bound(from); at != erased.end() && (!to || *at < *to); ++at)
      ++counts_->calls->walked_erased;
    return status;
  }

  const engine::Range range_;
  std::unique_ptr<engine::Cursor> inner_;
  std::shared_ptr<Counts> counts_;
};

class Snapshot final : public engine::Snapshot {
 public:
  Snapshot(std::unique_ptr<engine::Snapshot> inner, std::shared_ptr<Counts> counts)
      : inner_(std::move(inner)), counts_(std::move(counts)) {
    ++counts_->calls->snapshots;
  }
  Result<std::optional<std::string_view>> get(std::string_view key) const override {
    ++counts_->calls->gets;
    return inner_->get(key);
  }
  std::unique_ptr<engine::Cursor> cursor(engine::Range range) const override {
    return std::make_unique<Cursor>(*inner_, std::move(range), counts_);
  }
  Result<uint64_t> estimate_entries(std::string_view from, std::string_view to) const override {
    ++counts_->calls->estimates;
    return inner_->estimate_entries(from, to);
  }
  uint64_t sequence() const override { return inner_->sequence(); }

 private:
  std::unique_ptr<engine::Snapshot> inner_;
  std::shared_ptr<Counts> counts_;
};

class Transaction final : public engine::Transaction {
 public:
  Transaction(std::unique_ptr<engine::Transaction> inner, std::shared_ptr<Counts> counts)
      : inner_(std::move(inner)), counts_(std::move(counts)) {
    ++counts_->calls->transactions;
  }
  Result<std::optional<std::string_view>> get(std::string_view key) const override {
    ++counts_->calls->gets;
    return inner_->get(key);
  }
  Result<std::optional<std::string_view>> get_committed(std::string_view key) const override {
    ++counts_->calls->gets;
    return inner_->get_committed(key);
  }
  std::unique_ptr<engine::Cursor> cursor(engine::Range range) const override {
    return std::make_unique<Cursor>(*inner_, std::move(range), counts_);
  }
  Result<uint64_t> estimate_entries(std::string_view from, std::string_view to) const override {
    ++counts_->calls->estimates;
    return inner_->estimate_entries(from, to);
  }
  Status put(std::string_view key, std::string_view value) override {
    ++counts_->calls->puts;
    counts_->erased.erase(std::string(key));
    return inner_->put(key, value);
  }
  Status erase(std::string_view key) override {
    ++counts_->calls->erases;
    counts_->erased.emplace(key);
    return inner_->erase(key);
  }
  Status put_reserved(std::string_view key, std::string_view value) override {
    ++counts_->calls->puts;
    return inner_->put_reserved(key, value);
  }
  engine::Savepoint savepoint() const override { return inner_->savepoint(); }
  Status rollback_to(engine::Savepoint savepoint) override { return inner_->rollback_to(savepoint); }
  uint64_t sequence() const override { return inner_->sequence(); }
  Result<uint64_t> commit() override {
    ++counts_->calls->commits;
    return inner_->commit();
  }
  Result<uint64_t> commit_unsynced() override {
    ++counts_->calls->commits;
    return inner_->commit_unsynced();
  }
  Result<uint64_t> commit_without_waiting() override {
    ++counts_->calls->commits;
    return inner_->commit_without_waiting();
  }

 private:
  std::unique_ptr<engine::Transaction> inner_;
  std::shared_ptr<Counts> counts_;
};

class Counting final : public engine::Engine {
 public:
  Counting(std::unique_ptr<engine::Engine> inner, std::shared_ptr<Counts> counts)
      : inner_(std::move(inner)), counts_(std::move(counts)) {}

  Result<std::unique_ptr<engine::Snapshot>> snapshot() override {
    LAPSE_TRY_ASSIGN(auto snapshot, inner_->snapshot());
    return std::unique_ptr<engine::Snapshot>(new Snapshot(std::move(snapshot), counts_));
  }
  Result<std::unique_ptr<engine::Transaction>> begin(std::chrono::milliseconds timeout) override {
    LAPSE_TRY_ASSIGN(auto transaction, inner_->begin(timeout));
    return std::unique_ptr<engine::Transaction>(new Transaction(std::move(transaction), counts_));
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
  std::shared_ptr<Counts> counts_;
};

}  // namespace

std::unique_ptr<engine::Engine> counting_engine(std::unique_ptr<engine::Engine> engine, EngineCalls* calls) {
  return std::make_unique<Counting>(std::move(engine), std::make_shared<Counts>(Counts{calls, {}}));
}

}  // namespace lapse
