// Lapse, through its public API, as it comes: durability normal, the guarded clock, checksums verified at
// each read.
//
// Reads: get(), which copies the value into a string. Writes: put() for one, a Transaction for many.

#include <chrono>

#include "bench/rival.h"
#include "bench/store_rival.h"
#include "lapse/store.h"

namespace lapse::bench {
namespace {

void must(const Status& status) {
  if (!status.ok()) throw std::runtime_error("lapse: " + status.to_string());
}

template <typename T>
T must(Result<T> result) {
  must(result.status());
  return std::move(result).value();
}

Lifetime lifetime_of(const Lifetimes& lifetimes, std::string_view key) {
  if (lifetimes.forever()) return {};
  return std::chrono::milliseconds(lifetimes.ttl_ms(key));
}

bool sum_of(const std::optional<std::string>& value, uint64_t* value_sum) {
  if (value) *value_sum = word_sum(*value);
  return value.has_value();
}

class LapseStore final : public StoreRival {
 public:
  std::string describe() const override {
    return "public API, durability normal, 64 MB write buffer, checksums verified";
  }
  bool can(Skill /*skill*/) const override { return true; }

  void open(const StoreOpenOptions& options) override {
    Options lapse_options;
    lapse_options.buffer_bytes = kWriteBufferBytes;
    lapse_options.clock = options.clock;
    if (options.keeps_history) lapse_options.default_family.history = HistoryPolicy{};
    store_.emplace(must(Store::open(options.folder + "/lapse.db", lapse_options)));
  }

  void close() override {
    must(store_->close());
    store_.reset();
  }

  void commit(std::span<const Entry> entries, const Lifetimes& lifetimes) override {
    if (entries.size() == 1) {
      const Entry& entry = entries[0];
      must(store_->put(entry.key, entry.value, lifetime_of(lifetimes, entry.key)));
      return;
    }
    Transaction transaction = must(store_->begin());
    for (const Entry& entry : entries) {
      must(transaction.put(entry.key, entry.value, lifetime_of(lifetimes, entry.key)));
    }
    must(transaction.commit());
  }

  bool get(std::string_view key, uint64_t* value_sum) override {
    return sum_of(must(store_->get(key)), value_sum);
  }

  ScanTotals scan() override {
    ScanTotals totals;
    Iterator it = must(store_->iterate());
    for (; it.valid(); it.next()) totals.add(it.key(), it.value());
    must(it.status());
    return totals;
  }

  bool get_at(std::string_view key, int64_t at_ms, uint64_t* value_sum) override {
    return sum_of(must(store_->get_at(key, at_ms)), value_sum);
  }

  std::optional<uint64_t> purge() override { return must(store_->purge_expired()).removed; }

  void flush() override { must(store_->checkpoint()); }

 private:
  std::optional<Store> store_;
};

}  // namespace

std::unique_ptr<StoreRival> make_lapse_store() { return std::make_unique<LapseStore>(); }

}  // namespace lapse::bench
