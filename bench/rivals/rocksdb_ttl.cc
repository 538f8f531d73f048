// RocksDB's DBWithTTL, set up as in rocksdb.cc. It has one TTL for a whole store, counted in seconds from
// each put, and drops what is due when it compacts; until then every read sees it. So a purge is a
// CompactRange over everything, and there is nothing to compare where keys with and without a lifetime
// are mixed, where expired keys are to be hidden, and in the past.

#include <rocksdb/env.h>
#include <rocksdb/system_clock.h>
#include <rocksdb/utilities/db_ttl.h>
#include <rocksdb/version.h>

#include "bench/rivals/rocksdb_common.h"
#include "bench/store_rival.h"

namespace lapse::bench {
namespace {

using namespace rocks;

// The system's clock, but for the time of day.
class ClockOfDay final : public rocksdb::SystemClockWrapper {
 public:
  explicit ClockOfDay(Clock* clock) : SystemClockWrapper(rocksdb::SystemClock::Default()), clock_(clock) {}
  const char* Name() const override { return "ClockOfDay"; }
  rocksdb::Status GetCurrentTime(int64_t* unix_time) override {
    *unix_time = clock_->now_ms() / kSecondMs;
    return rocksdb::Status::OK();
  }

 private:
  Clock* clock_;
};

class EnvWithClock final : public rocksdb::EnvWrapper {
 public:
  explicit EnvWithClock(Clock* clock) : EnvWrapper(rocksdb::Env::Default()) {
    system_clock_ = std::make_shared<ClockOfDay>(clock);
  }
  const char* Name() const override { return "EnvWithClock"; }
};

class RocksdbTtl final : public StoreRival {
 public:
  std::string describe() const override {
    return "RocksDB " + rocksdb::GetRocksVersionAsString() +
           ", DBWithTTL, WAL without sync, 64 MB memtables and block cache, Bloom filters, no compression";
  }
  bool can(Skill /*skill*/) const override { return false; }

  void open(const StoreOpenOptions& options) override {
    rocksdb::Options rocksdb_options = make_options();
    if (options.clock != nullptr) {
      env_ = std::make_unique<EnvWithClock>(options.clock);
      rocksdb_options.env = env_.get();
    }
    rocksdb::DBWithTTL* db;
    must(rocksdb::DBWithTTL::Open(rocksdb_options, options.folder + "/rocksdb", &db,
                                  static_cast<int32_t>(options.store_ttl_ms / kSecondMs)));
    db_.reset(db);
  }

  void close() override {
    value_.Reset();  // which may hold a block of the cache
    must(db_->Close());
    db_.reset();
  }

  void commit(std::span<const Entry> entries, const Lifetimes& /*the store's own*/) override {
    if (entries.size() == 1) {
      must(db_->Put({}, to_slice(entries[0].key), to_slice(entries[0].value)));
      return;
    }
    rocksdb::WriteBatch batch;
    for (const Entry& entry : entries) must(batch.Put(to_slice(entry.key), to_slice(entry.value)));
    must(db_->Write({}, &batch));
  }

  bool get(std::string_view key, uint64_t* value_sum) override {
    value_.Reset();
    const auto status = db_->Get({}, db_->DefaultColumnFamily(), to_slice(key), &value_);
    if (status.IsNotFound()) return false;
    must(status);
    *value_sum = word_sum(to_view(value_));
    return true;
  }

  ScanTotals scan() override { throw std::logic_error("a scan would show what has expired"); }
  bool get_at(std::string_view, int64_t, uint64_t*) override { throw std::logic_error("no history"); }

  std::optional<uint64_t> purge() override {
    must(db_->CompactRange({}, nullptr, nullptr));
    return std::nullopt;
  }

  void flush() override { must(db_->Flush({})); }
  void settle() override { wait_for_compactions(db_.get()); }

 private:
  std::unique_ptr<EnvWithClock> env_;
  std::unique_ptr<rocksdb::DBWithTTL> db_;
  rocksdb::PinnableSlice value_;
};

}  // namespace

std::unique_ptr<StoreRival> make_rocksdb_ttl() { return std::make_unique<RocksdbTtl>(); }

}  // namespace lapse::bench
