#include "server/store/sqlite.h"

#include <sqlite3.h>

namespace inferflux::server {

SqliteStatement::SqliteStatement(sqlite3* database, const char* sql) {
  sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
}
SqliteStatement::~SqliteStatement() { sqlite3_finalize(statement_); }

SqliteStatement& SqliteStatement::Bind(std::string_view text) {
  // A null pointer would bind NULL.
  sqlite3_bind_text64(statement_, ++bound_, text.empty() ? "" : text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

SqliteStatement& SqliteStatement::Bind(int64_t number) {
  sqlite3_bind_int64(statement_, ++bound_, number);
  return *this;
}

int SqliteStatement::Step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
bool SqliteStatement::HasRow() { return Step() == SQLITE_ROW; }
bool SqliteStatement::Runs() { return Step() == SQLITE_DONE; }

SqliteStatement& SqliteStatement::Reset() {
  sqlite3_reset(statement_);
  bound_ = 0;
  return *this;
}

std::string SqliteStatement::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text == nullptr ? std::string()
                         : std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

int64_t SqliteStatement::Number(int column) const { return sqlite3_column_int64(statement_, column); }
bool SqliteStatement::IsNull(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

Result<std::shared_ptr<SqliteDatabase>> SqliteDatabase::Open(const std::string& path, const char* schema,
                                                             std::string_view what) {
  sqlite3* database = nullptr;
  const std::string name = path.empty() ? ":memory:" : path;
  if (sqlite3_open(name.c_str(), &database) != SQLITE_OK) {
    const std::string why = database == nullptr ? "out of memory" : sqlite3_errmsg(database);
    sqlite3_close(database);
    return Fail(ErrorCode::kIo, "cannot open the file of {}, {}: {}", what, name, why);
  }
  sqlite3_busy_timeout(database, 5000);
  std::shared_ptr<SqliteDatabase> out(new SqliteDatabase(database, what));
  // WAL: a crash loses at most the last transactions, never the file.
  if (Status set = out->Run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"); !set) return Forward(set, name);
  if (Status made = out->Run(schema); !made) return Forward(made, name);
  return out;
}

SqliteDatabase::~SqliteDatabase() { sqlite3_close(database_); }

Status SqliteDatabase::Run(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return Failure();
}

int SqliteDatabase::changes() const { return sqlite3_changes(database_); }

tl::unexpected<Error> SqliteDatabase::Failure() const {
  return Fail(ErrorCode::kIo, "the store of {}: {}", what_, sqlite3_errmsg(database_));
}

}  // namespace inferflux::server
