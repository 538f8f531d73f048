// RocksDB: write-ahead log without sync, 64 MB memtables and block cache, Bloom filters, no
// compression; two background jobs, which is its default.
//
// Reads: Get() into a PinnableSlice, which does not copy out of the block cache; one snapshot for
// all gets, none for a single one.

#include <rocksdb/db.h>
#include <rocksdb/version.h>

#include "bench/rival.h"
#include "bench/rivals/rocksdb_common.h"

namespace lapse::bench {
namespace {

using namespace rocks;

class RocksdbReader final : public Reader {
 public:
  explicit RocksdbReader(rocksdb::DB* db) : db_(db) {}

  void begin() override { options_.snapshot = db_->GetSnapshot(); }
  void end() override {
    db_->ReleaseSnapshot(options_.snapshot);
    options_.snapshot = nullptr;
  }

  bool get(std::string_view key, uint64_t* value_sum) override {
    value_.Reset();
    const auto status = db_->Get(options_, db_->DefaultColumnFamily(), to_slice(key), &value_);
    if (status.IsNotFound()) return false;
    must(status);
    *value_sum = word_sum(to_view(value_));
    return true;
  }

  bool get_alone(std::string_view key, uint64_t* value_sum) override { return get(key, value_sum); }

  ScanTotals scan() override {
    ScanTotals totals;
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options_));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      totals.add(to_view(it->key()), to_view(it->value()));
    }
    must(it->status());
    return totals;
  }

 private:
  rocksdb::DB* db_;
  rocksdb::ReadOptions options_;
  rocksdb::PinnableSlice value_;
};

class RocksdbRival final : public Rival {
 public:
  std::string describe() const override {
    return "RocksDB " + rocksdb::GetRocksVersionAsString() +
           ", WAL without sync, 64 MB memtables and block cache, Bloom filters, no compression";
  }

  void open(const OpenOptions& options) override {
    rocksdb::DB* db;
    must(rocksdb::DB::Open(make_options(), options.folder + "/rocksdb", &db));
    db_.reset(db);
    write_options_.sync = options.sync_every_commit;
  }

  void close() override {
    must(db_->Close());
    db_.reset();
  }

  void commit(std::span<const Entry> entries) override {
    if (entries.size() == 1) {
      must(db_->Put(write_options_, to_slice(entries[0].key), to_slice(entries[0].value)));
      return;
    }
    rocksdb::WriteBatch batch;
    for (const Entry& entry : entries) must(batch.Put(to_slice(entry.key), to_slice(entry.value)));
    must(db_->Write(write_options_, &batch));
  }

  std::unique_ptr<Reader> reader() override { return std::make_unique<RocksdbReader>(db_.get()); }

  void flush() override { must(db_->Flush({})); }

  void settle() override { wait_for_compactions(db_.get()); }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::WriteOptions write_options_;
};

}  // namespace

std::unique_ptr<Rival> make_rocksdb() { return std::make_unique<RocksdbRival>(); }

}  // namespace lapse::bench
