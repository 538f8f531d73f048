// Lapse's local engine, as it comes: durability normal, checksums verified at each read.
//
// Reads: a snapshot for all gets, or one for each single get. Values are views into the snapshot.

#include "bench/rival.h"
#include "engine/local/local_engine.h"

namespace lapse::bench {
namespace {

using engine::Engine;
using engine::Snapshot;

void must(const Status& status) {
  if (!status.ok()) throw std::runtime_error("lapse: " + status.to_string());
}

template <typename T>
T must(Result<T> result) {
  must(result.status());
  return std::move(result).value();
}

bool sum_value(const Snapshot& snapshot, std::string_view key, uint64_t* value_sum) {
  const std::optional<std::string_view> value = must(snapshot.get(key));
  if (value) *value_sum = word_sum(*value);
  return value.has_value();
}

class LapseReader final : public Reader {
 public:
  explicit LapseReader(Engine* engine) : engine_(engine) {}

  void begin() override { snapshot_ = must(engine_->snapshot()); }
  void end() override { snapshot_.reset(); }

  bool get(std::string_view key, uint64_t* value_sum) override {
    return sum_value(*snapshot_, key, value_sum);
  }

  bool get_alone(std::string_view key, uint64_t* value_sum) override {
    return sum_value(*must(engine_->snapshot()), key, value_sum);
  }

  ScanTotals scan() override {
    ScanTotals totals;
    const auto cursor = snapshot_->cursor();
    for (must(cursor->first()); cursor->valid(); must(cursor->next())) {
      totals.add(cursor->key(), cursor->value());
    }
    return totals;
  }

 private:
  Engine* engine_;
  std::unique_ptr<Snapshot> snapshot_;
};

class LapseRival final : public Rival {
 public:
  explicit LapseRival(bool background_drain) { options_.background_drain = background_drain; }

  std::string describe() const override {
    return std::string("local engine, durability normal, 64 MB write buffer, checksums verified") +
           (options_.background_drain ? ", drained by a background thread" : "");
  }

  void open(const OpenOptions& options) override {
    options_.durability = options.sync_every_commit ? Durability::kFull : Durability::kNormal;
    options_.buffer_bytes = options.drain_constantly ? 8 << 20 : kWriteBufferBytes;
    options_.drain_slice_rows = options.drain_constantly ? 512 : 8192;
    engine_ = must(engine::open_local(options.folder + "/lapse.db", options_));
  }

  void close() override {
    must(engine_->close());
    engine_.reset();
  }

  void commit(std::span<const Entry> entries) override {
    const auto transaction = must(engine_->begin());
    for (const Entry& entry : entries) must(transaction->put(entry.key, entry.value));
    must(transaction->commit());
  }

  std::unique_ptr<Reader> reader() override { return std::make_unique<LapseReader>(engine_.get()); }

  void flush() override { must(engine_->checkpoint()); }

  double buffer_fill(uint64_t /*written_bytes*/) override {
    return static_cast<double>(engine_->stats().buffer_bytes) / static_cast<double>(options_.buffer_bytes);
  }

 private:
  engine::LocalOptions options_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace

std::unique_ptr<Rival> make_lapse(bool background_drain) {
  return std::make_unique<LapseRival>(background_drain);
}

}  // namespace lapse::bench
