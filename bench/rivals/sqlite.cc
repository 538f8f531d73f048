// SQLite: one table WITHOUT ROWID, WAL, synchronous=NORMAL (FULL where each commit is to be
// synced), 64 MB page cache, checkpoints as it does them by itself, prepared statements throughout.
//
// Writes go through one connection behind a mutex: threads with a connection each would spend their
// time in SQLite's busy handler. Each reader has a connection of its own.
//
// Reads: a prepared SELECT, in one read transaction for all gets, or each in its own implicit one.
// Values are views into SQLite's row, before the statement is reset.

#include <mutex>

#include "bench/rival.h"
#include "bench/rivals/sqlite_handles.h"

namespace lapse::bench {
namespace {

using sqlite::Connection;
using sqlite::Statement;

constexpr const char* kTable =
    "CREATE TABLE IF NOT EXISTS kv (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID";

class SqliteReader final : public Reader {
 public:
  explicit SqliteReader(const std::string& path) : connection_(path, "NORMAL", kTable) {}

  void begin() override { begin_.run(); }
  void end() override { end_.run(); }

  bool get(std::string_view key, uint64_t* value_sum) override {
    select_.bind(1, key);
    const bool found = select_.step();
    if (found) *value_sum = word_sum(select_.column(0));
    select_.reset();
    return found;
  }

  bool get_alone(std::string_view key, uint64_t* value_sum) override { return get(key, value_sum); }

  ScanTotals scan() override {
    ScanTotals totals;
    while (scan_.step()) totals.add(scan_.column(0), scan_.column(1));
    scan_.reset();
    return totals;
  }

 private:
  Connection connection_;
  Statement begin_{connection_, "BEGIN"};
  Statement end_{connection_, "COMMIT"};
  Statement select_{connection_, "SELECT v FROM kv WHERE k = ?"};
  Statement scan_{connection_, "SELECT k, v FROM kv ORDER BY k"};
};

class SqliteWriter {
 public:
  SqliteWriter(const std::string& path, const char* synchronous) : connection_(path, synchronous, kTable) {}

  void commit(std::span<const Entry> entries) {
    const std::lock_guard lock(mutex_);
    if (entries.size() > 1) begin_.run();
    for (const Entry& entry : entries) {
      put_.bind(1, entry.key);
      put_.bind(2, entry.value);
      put_.run();
    }
    if (entries.size() > 1) commit_.run();
  }

  void checkpoint() { connection_.execute("PRAGMA wal_checkpoint(TRUNCATE)"); }

 private:
  std::mutex mutex_;
  Connection connection_;
  Statement begin_{connection_, "BEGIN IMMEDIATE"};
  Statement commit_{connection_, "COMMIT"};
  Statement put_{connection_, "REPLACE INTO kv (k, v) VALUES (?, ?)"};
};

class SqliteRival final : public Rival {
 public:
  std::string describe() const override {
    return std::string("SQLite ") + sqlite3_libversion() +
           ", WITHOUT ROWID, WAL, synchronous=NORMAL, 64 MB page cache";
  }

  void open(const OpenOptions& options) override {
    path_ = options.folder + "/sqlite.db";
    const char* synchronous = options.sync_every_commit ? "FULL" : "NORMAL";
    writer_ = std::make_unique<SqliteWriter>(path_, synchronous);
  }
  void close() override { writer_.reset(); }

  void commit(std::span<const Entry> entries) override { writer_->commit(entries); }
  std::unique_ptr<Reader> reader() override { return std::make_unique<SqliteReader>(path_); }
  void flush() override { writer_->checkpoint(); }

 private:
  std::string path_;
  std::unique_ptr<SqliteWriter> writer_;
};

}  // namespace

std::unique_ptr<Rival> make_sqlite() { return std::make_unique<SqliteRival>(); }

}  // namespace lapse::bench
