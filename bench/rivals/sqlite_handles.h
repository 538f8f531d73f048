// SQLite's handles, with their errors as exceptions.

#pragma once

#include <sqlite3.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include "bench/rival.h"

namespace lapse::bench::sqlite {

inline void must(sqlite3* db, int code) {
  if (code != SQLITE_OK) throw std::runtime_error(std::string("sqlite: ") + sqlite3_errmsg(db));
}

// WAL, and a page cache of kReadCacheBytes. `schema` makes what is not there yet.
class Connection {
 public:
  Connection(const std::string& path, const char* synchronous, const char* schema) {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    must(db_, sqlite3_open_v2(path.c_str(), &db_, flags, nullptr));
    execute("PRAGMA journal_mode=WAL");
    execute(std::string("PRAGMA synchronous=") + synchronous);
    execute("PRAGMA cache_size=-" + std::to_string(kReadCacheBytes >> 10));
    execute(schema);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { sqlite3_close(db_); }

  void execute(const std::string& sql) {
    must(db_, sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr));
  }
  sqlite3* db() const { return db_; }

 private:
  sqlite3* db_ = nullptr;
};

class Statement {
 public:
  Statement(const Connection& connection, const char* sql) : db_(connection.db()) {
    must(db_, sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr));
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  void bind(int parameter, std::string_view bytes) {
    must(db_, sqlite3_bind_blob(statement_, parameter, bytes.data(), static_cast<int>(bytes.size()),
                                SQLITE_STATIC));
  }
  void bind(int parameter, int64_t number) { must(db_, sqlite3_bind_int64(statement_, parameter, number)); }
  void bind_null(int parameter) { must(db_, sqlite3_bind_null(statement_, parameter)); }
  // Whether there is a row.
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_DONE && code != SQLITE_ROW) must(db_, code);
    return code == SQLITE_ROW;
  }
  std::string_view column(int column) const {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return {bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
  }
  void reset() { sqlite3_reset(statement_); }
  void run() {
    step();
    reset();
  }

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace lapse::bench::sqlite
