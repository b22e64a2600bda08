// A SQLite database: what the stores of this room share.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace inferflux::server {

// A prepared statement with its values. Bound texts must outlive the steps.
class SqliteStatement {
 public:
  SqliteStatement(sqlite3* database, const char* sql);
  ~SqliteStatement();
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;

  // The next parameter.
  SqliteStatement& Bind(std::string_view text);
  SqliteStatement& Bind(int64_t number);
  // SQLITE_ROW, SQLITE_DONE, or an error.
  int Step();
  bool HasRow();  // Step() == SQLITE_ROW
  bool Runs();    // Step() == SQLITE_DONE
  // Makes the statement ready for other values.
  SqliteStatement& Reset();

  std::string Text(int column) const;
  int64_t Number(int column) const;
  bool IsNull(int column) const;

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

// Any thread, under the lock.
class SqliteDatabase {
 public:
  // `path`: a file, created if it is missing; empty: memory. Runs `schema`. kIo names the file and `what`.
  static Result<std::shared_ptr<SqliteDatabase>> Open(const std::string& path, const char* schema,
                                                      std::string_view what);
  ~SqliteDatabase();

  [[nodiscard]] std::unique_lock<std::mutex> Lock() { return std::unique_lock(mutex_); }
  SqliteStatement Prepare(const char* sql) { return {database_, sql}; }
  Status Run(const char* sql);
  // Rows that the last statement changed.
  int changes() const;
  // The last error of the database.
  tl::unexpected<Error> Failure() const;

 private:
  SqliteDatabase(sqlite3* database, std::string_view what) : database_(database), what_(what) {}

  std::mutex mutex_;
  sqlite3* database_;
  const std::string what_;
};

// Everything until Commit, or nothing.
class SqliteTransaction {
 public:
  explicit SqliteTransaction(SqliteDatabase& database)
      : database_(database), begun_(database.Run("BEGIN IMMEDIATE")), open_(begun_.has_value()) {}
  ~SqliteTransaction() {
    if (open_) (void)database_.Run("ROLLBACK");
  }
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;

  const Status& begun() const { return begun_; }
  Status Commit() {
    Status done = database_.Run("COMMIT");
    if (done) open_ = false;
    return done;
  }

 private:
  SqliteDatabase& database_;
  Status begun_;
  bool open_;
};

}  // namespace inferflux::server
