// SQLite, as one would keep keys with lifetimes in it: a table WITHOUT ROWID with the deadline in a
// column, an index over it (only of the rows that have one, so that others do not pay for it), WAL,
// synchronous=NORMAL, 64 MB page cache, checkpoints as it does them by itself, prepared statements
// throughout. Expiry is judged in the query. A purge is one DELETE through the index.
//
// History is a table of revisions by key and time; what was visible is the last one before.

#include <chrono>

#include "bench/rival.h"
#include "bench/rivals/sqlite_handles.h"
#include "bench/store_rival.h"

namespace lapse::bench {
namespace {

using sqlite::Connection;
using sqlite::Statement;

constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS kv (k BLOB PRIMARY KEY, expires_at INTEGER, v BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS by_expiry ON kv (expires_at) WHERE expires_at IS NOT NULL;"
    "CREATE TABLE IF NOT EXISTS revisions (k BLOB, written_at INTEGER, expires_at INTEGER, v BLOB NOT NULL,"
    " PRIMARY KEY (k, written_at)) WITHOUT ROWID";

class SqliteTables {
 public:
  SqliteTables(const std::string& path, bool keeps_history)
      : connection_(path, "NORMAL", kSchema), keeps_history_(keeps_history) {}

  void commit(std::span<const Entry> entries, const Lifetimes& lifetimes, int64_t now_ms) {
    if (entries.size() > 1) begin_.run();
    for (const Entry& entry : entries) put(entry, lifetimes, now_ms);
    if (entries.size() > 1) commit_.run();
  }

  bool get(std::string_view key, int64_t now_ms, uint64_t* value_sum) {
    get_.bind(1, key);
    get_.bind(2, now_ms);
    return sum_of_row(&get_, value_sum);
  }

  bool get_at(std::string_view key, int64_t at_ms, uint64_t* value_sum) {
    get_at_.bind(1, key);
    get_at_.bind(2, at_ms);
    return sum_of_row(&get_at_, value_sum);
  }

  ScanTotals scan(int64_t now_ms) {
    ScanTotals totals;
    scan_.bind(1, now_ms);
    while (scan_.step()) totals.add(scan_.column(0), scan_.column(1));
    scan_.reset();
    return totals;
  }

  uint64_t purge(int64_t now_ms) {
    purge_.bind(1, now_ms);
    purge_.run();
    return static_cast<uint64_t>(sqlite3_changes64(connection_.db()));
  }

  void checkpoint() { connection_.execute("PRAGMA wal_checkpoint(TRUNCATE)"); }

 private:
  void put(const Entry& entry, const Lifetimes& lifetimes, int64_t now_ms) {
    Statement& statement = keeps_history_ ? put_revision_ : put_;
    statement.bind(1, entry.key);
    statement.bind(2, entry.value);
    if (lifetimes.forever()) {
      statement.bind_null(3);
    } else {
      statement.bind(3, now_ms + lifetimes.ttl_ms(entry.key));
    }
    if (keeps_history_) statement.bind(4, now_ms);
    statement.run();
  }

  static bool sum_of_row(Statement* statement, uint64_t* value_sum) {
    const bool found = statement->step();
    if (found) *value_sum = word_sum(statement->column(0));
    statement->reset();
    return found;
  }

  Connection connection_;
  const bool keeps_history_;
  Statement begin_{connection_, "BEGIN IMMEDIATE"};
  Statement commit_{connection_, "COMMIT"};
  Statement put_{connection_, "REPLACE INTO kv (k, v, expires_at) VALUES (?, ?, ?)"};
  Statement put_revision_{connection_,
                          "REPLACE INTO revisions (k, v, expires_at, written_at) VALUES (?, ?, ?, ?)"};
  Statement get_{connection_, "SELECT v FROM kv WHERE k = ? AND (expires_at IS NULL OR expires_at > ?)"};
  Statement scan_{connection_, "SELECT k, v FROM kv WHERE expires_at IS NULL OR +expires_at > ? ORDER BY k"};
  Statement purge_{connection_, "DELETE FROM kv WHERE expires_at <= ?"};
  Statement get_at_{connection_,
                    "SELECT v FROM (SELECT v, expires_at FROM revisions WHERE k = ?1 AND written_at <= ?2"
                    " ORDER BY written_at DESC LIMIT 1) WHERE expires_at IS NULL OR expires_at > ?2"};
};

class SqliteTtl final : public StoreRival {
 public:
  std::string describe() const override {
    return std::string("SQLite ") + sqlite3_libversion() +
           ", WITHOUT ROWID, deadlines in an indexed column, WAL, synchronous=NORMAL, 64 MB page cache";
  }
  bool can(Skill /*skill*/) const override { return true; }

  void open(const StoreOpenOptions& options) override {
    clock_ = options.clock;
    tables_ = std::make_unique<SqliteTables>(options.folder + "/sqlite.db", options.keeps_history);
  }
  void close() override { tables_.reset(); }

  void commit(std::span<const Entry> entries, const Lifetimes& lifetimes) override {
    tables_->commit(entries, lifetimes, now_ms());
  }
  bool get(std::string_view key, uint64_t* value_sum) override {
    return tables_->get(key, now_ms(), value_sum);
  }
  ScanTotals scan() override { return tables_->scan(now_ms()); }
  bool get_at(std::string_view key, int64_t at_ms, uint64_t* value_sum) override {
    return tables_->get_at(key, at_ms, value_sum);
  }
  std::optional<uint64_t> purge() override { return tables_->purge(now_ms()); }
  void flush() override { tables_->checkpoint(); }

 private:
  int64_t now_ms() const {
    using namespace std::chrono;
    if (clock_ != nullptr) return clock_->now_ms();
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  }

  Clock* clock_ = nullptr;
  std::unique_ptr<SqliteTables> tables_;
};

}  // namespace

std::unique_ptr<StoreRival> make_sqlite_ttl() { return std::make_unique<SqliteTtl>(); }

}  // namespace lapse::bench
