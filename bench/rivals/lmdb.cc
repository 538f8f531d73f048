// LMDB: one file, one unnamed database, either with its default two syncs a commit or with
// MDB_NOSYNC (unsafe on power loss).
//
// Reads: one read transaction for all gets, or, for each single get, a transaction that is renewed
// and reset, as LMDB's manual advises. Values are views into the map.

#include <lmdb.h>

#include "bench/rival.h"

namespace lapse::bench {
namespace {

constexpr size_t kMapBytes = 64UL << 30;  // address space only: the file grows as it is written

void must(int code) {
  if (code != MDB_SUCCESS) throw std::runtime_error(std::string("lmdb: ") + mdb_strerror(code));
}

MDB_val to_val(std::string_view bytes) { return {bytes.size(), const_cast<char*>(bytes.data())}; }

std::string_view to_view(const MDB_val& val) { return {static_cast<const char*>(val.mv_data), val.mv_size}; }

class LmdbReader final : public Reader {
 public:
  LmdbReader(MDB_env* env, MDB_dbi dbi) : dbi_(dbi) {
    must(mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn_));
    mdb_txn_reset(txn_);
  }
  ~LmdbReader() override { mdb_txn_abort(txn_); }

  void begin() override { must(mdb_txn_renew(txn_)); }
  void end() override { mdb_txn_reset(txn_); }

  bool get(std::string_view key, uint64_t* value_sum) override {
    MDB_val key_val = to_val(key);
    MDB_val value;
    const int code = mdb_get(txn_, dbi_, &key_val, &value);
    if (code == MDB_NOTFOUND) return false;
    must(code);
    *value_sum = word_sum(to_view(value));
    return true;
  }

  bool get_alone(std::string_view key, uint64_t* value_sum) override {
    begin();
    const bool found = get(key, value_sum);
    end();
    return found;
  }

  ScanTotals scan() override {
    MDB_cursor* cursor;
    must(mdb_cursor_open(txn_, dbi_, &cursor));
    ScanTotals totals;
    MDB_val key;
    MDB_val value;
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == MDB_SUCCESS) {
      totals.add(to_view(key), to_view(value));
    }
    mdb_cursor_close(cursor);
    return totals;
  }

 private:
  MDB_dbi dbi_;
  MDB_txn* txn_;
};

class LmdbRival final : public Rival {
 public:
  explicit LmdbRival(bool sync) : sync_(sync) {}
  ~LmdbRival() override { LmdbRival::close(); }

  std::string describe() const override {
    return std::string(mdb_version(nullptr, nullptr, nullptr)) +
           (sync_ ? ", synced at each commit" : ", MDB_NOSYNC");
  }

  void open(const OpenOptions& options) override {
    must(mdb_env_create(&env_));
    must(mdb_env_set_mapsize(env_, kMapBytes));
    const unsigned flags = MDB_NOSUBDIR | (sync_ ? 0U : MDB_NOSYNC);
    must(mdb_env_open(env_, (options.folder + "/lmdb.db").c_str(), flags, 0644));
    MDB_txn* txn = begin();
    must(mdb_dbi_open(txn, nullptr, 0, &dbi_));
    must(mdb_txn_commit(txn));
  }

  void close() override {
    if (env_ != nullptr) mdb_env_close(env_);
    env_ = nullptr;
  }

  void commit(std::span<const Entry> entries) override {
    MDB_txn* txn = begin();
    for (const Entry& entry : entries) {
      MDB_val key = to_val(entry.key);
      MDB_val value = to_val(entry.value);
      must(mdb_put(txn, dbi_, &key, &value, 0));
    }
    must(mdb_txn_commit(txn));
  }

  std::unique_ptr<Reader> reader() override { return std::make_unique<LmdbReader>(env_, dbi_); }

  void flush() override { must(mdb_env_sync(env_, /*force=*/1)); }

  bool always_syncs() const override { return sync_; }
  bool can_sync() const override { return sync_; }

 private:
  MDB_txn* begin() {
    MDB_txn* txn;
    must(mdb_txn_begin(env_, nullptr, 0, &txn));
    return txn;
  }

  bool sync_;
  MDB_env* env_ = nullptr;
  MDB_dbi dbi_ = 0;
};

}  // namespace

std::unique_ptr<Rival> make_lmdb(bool sync) { return std::make_unique<LmdbRival>(sync); }

}  // namespace lapse::bench
