// LevelDB: log without sync, 64 MB write buffer and block cache, Bloom filters, no compression.
//
// Reads: Get() copies into a string, which is the only way there is; one snapshot for all gets,
// none for a single one.

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include "bench/rival.h"

namespace lapse::bench {
namespace {

void must(const leveldb::Status& status) {
  if (!status.ok()) throw std::runtime_error("leveldb: " + status.ToString());
}

leveldb::Slice to_slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view to_view(const leveldb::Slice& slice) { return {slice.data(), slice.size()}; }

class LeveldbReader final : public Reader {
 public:
  explicit LeveldbReader(leveldb::DB* db) : db_(db) {}

  void begin() override { options_.snapshot = db_->GetSnapshot(); }
  void end() override {
    db_->ReleaseSnapshot(options_.snapshot);
    options_.snapshot = nullptr;
  }

  bool get(std::string_view key, uint64_t* value_sum) override {
    const leveldb::Status status = db_->Get(options_, to_slice(key), &value_);
    if (status.IsNotFound()) return false;
    must(status);
    *value_sum = word_sum(value_);
    return true;
  }

  bool get_alone(std::string_view key, uint64_t* value_sum) override { return get(key, value_sum); }

  ScanTotals scan() override {
    ScanTotals totals;
    const std::unique_ptr<leveldb::Iterator> it(db_->NewIterator(options_));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      totals.add(to_view(it->key()), to_view(it->value()));
    }
    must(it->status());
    return totals;
  }

 private:
  leveldb::DB* db_;
  leveldb::ReadOptions options_;
  std::string value_;
};

class LeveldbRival final : public Rival {
 public:
  std::string describe() const override {
    return "LevelDB " + std::to_string(leveldb::kMajorVersion) + "." +
           std::to_string(leveldb::kMinorVersion) +
           ", log without sync, 64 MB write buffer and block cache, Bloom filters, no compression";
  }

  void open(const OpenOptions& options) override {
    leveldb::Options opened;
    opened.create_if_missing = true;
    opened.write_buffer_size = kWriteBufferBytes;
    opened.compression = leveldb::kNoCompression;
    opened.block_cache = cache_.get();
    opened.filter_policy = bloom_.get();
    leveldb::DB* db;
    must(leveldb::DB::Open(opened, options.folder + "/leveldb", &db));
    db_.reset(db);
    write_options_.sync = options.sync_every_commit;
  }

  void close() override { db_.reset(); }

  void commit(std::span<const Entry> entries) override {
    if (entries.size() == 1) {
      must(db_->Put(write_options_, to_slice(entries[0].key), to_slice(entries[0].value)));
      return;
    }
    leveldb::WriteBatch batch;
    for (const Entry& entry : entries) batch.Put(to_slice(entry.key), to_slice(entry.value));
    must(db_->Write(write_options_, &batch));
  }

  std::unique_ptr<Reader> reader() override { return std::make_unique<LeveldbReader>(db_.get()); }

  // LevelDB offers no flush. CompactRange() begins with one, and over a range without keys that is
  // all it does; unlike RocksDB's it does not sync the directory of tables any further.
  void flush() override {
    const std::string beyond_all_keys(kKeyBytes + 1, '\xff');
    const leveldb::Slice nowhere = beyond_all_keys;
    db_->CompactRange(&nowhere, &nowhere);
  }

  // Nor does it say whether it is compacting. Compacting everything is the only way to be sure, and
  // shows its reads from their best side.
  void settle() override { db_->CompactRange(nullptr, nullptr); }

 private:
  std::unique_ptr<leveldb::Cache> cache_{leveldb::NewLRUCache(kReadCacheBytes)};
  std::unique_ptr<const leveldb::FilterPolicy> bloom_{leveldb::NewBloomFilterPolicy(10)};
  std::unique_ptr<leveldb::DB> db_;
  leveldb::WriteOptions write_options_;
};

}  // namespace

std::unique_ptr<Rival> make_leveldb() { return std::make_unique<LeveldbRival>(); }

}  // namespace lapse::bench
