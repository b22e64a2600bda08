#include "server/request/object_store.h"

#include <sqlite3.h>

#include <ctime>
#include <utility>

namespace inferflux::server {
namespace {

// WAL: a crash loses at most the last transactions, never the file.
constexpr const char* kSchemaSql = R"(
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS objects (
    kind TEXT NOT NULL, owner TEXT NOT NULL, id TEXT NOT NULL, expires INTEGER NOT NULL, bytes INTEGER NOT NULL,
    body TEXT NOT NULL, history TEXT NOT NULL, PRIMARY KEY (kind, owner, id));
  CREATE INDEX IF NOT EXISTS by_owner ON objects (owner, expires);
)";

}  // namespace

// A prepared statement with its values.
class ObjectStore::Statement {
 public:
  Statement(sqlite3* database, const char* sql) { sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr); }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& Bind(std::string_view text) {
    sqlite3_bind_text64(statement_, ++bound_, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
    return *this;
  }
  Statement& Bind(int64_t number) {
    sqlite3_bind_int64(statement_, ++bound_, number);
    return *this;
  }
  int Step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
  std::string Text(int column) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return text == nullptr ? std::string()
                           : std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
  }
  int64_t Number(int column) const { return sqlite3_column_int64(statement_, column); }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

Result<std::unique_ptr<ObjectStore>> ObjectStore::Open(const std::string& path, StoreLimits limits) {
  sqlite3* database = nullptr;
  const std::string name = path.empty() ? ":memory:" : path;
  if (sqlite3_open(name.c_str(), &database) != SQLITE_OK) {
    const std::string why = database == nullptr ? "out of memory" : sqlite3_errmsg(database);
    sqlite3_close(database);
    return Fail(ErrorCode::kIo, "cannot open the file of stored responses, {}: {}", name, why);
  }
  sqlite3_busy_timeout(database, 5000);
  std::unique_ptr<ObjectStore> out(new ObjectStore(database, limits));
  if (Status made = out->Run(kSchemaSql); !made) return Forward(made, name);
  return out;
}

ObjectStore::~ObjectStore() { sqlite3_close(database_); }

Status ObjectStore::Run(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return Fail(ErrorCode::kIo, "the store of responses: {}", sqlite3_errmsg(database_));
}

Status ObjectStore::Put(std::string_view kind, std::string_view owner, const StoredObject& object) {
  const std::lock_guard lock(mutex_);
  const auto bytes = static_cast<int64_t>(object.body.size() + object.history.size());
  if (bytes > limits_.bytes) {
    return Fail(ErrorCode::kResourceExhausted, "it has {} bytes, and at most {} are stored for a key", bytes,
                limits_.bytes);
  }
  Statement put(database_, "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?, ?, ?)");
  put.Bind(kind).Bind(owner).Bind(object.id).Bind(std::time(nullptr) + limits_.lifetime.count()).Bind(bytes);
  if (put.Bind(object.body).Bind(object.history).Step() != SQLITE_DONE) {
    return Fail(ErrorCode::kIo, "the store of responses: {}", sqlite3_errmsg(database_));
  }
  Trim(owner);
  return {};
}

// Removes what has expired, and the owner's oldest objects until the others fit.
void ObjectStore::Trim(std::string_view owner) {
  Statement(database_, "DELETE FROM objects WHERE expires < ?").Bind(std::time(nullptr)).Step();
  while (true) {
    Statement sum(database_, "SELECT count(*), sum(bytes) FROM objects WHERE owner = ?");
    if (sum.Bind(owner).Step() != SQLITE_ROW) return;
    if (sum.Number(0) <= limits_.objects && sum.Number(1) <= limits_.bytes) return;
    Statement drop(
        database_,
        "DELETE FROM objects WHERE rowid = (SELECT rowid FROM objects WHERE owner = ? ORDER BY expires, rowid "
        "LIMIT 1)");
    if (drop.Bind(owner).Step() != SQLITE_DONE || sqlite3_changes(database_) == 0) return;
  }
}

std::optional<StoredObject> ObjectStore::Get(std::string_view kind, std::string_view owner, std::string_view id) {
  const std::lock_guard lock(mutex_);
  Statement get(database_,
                "SELECT body, history FROM objects WHERE kind = ? AND owner = ? AND id = ? AND expires >= ?");
  if (get.Bind(kind).Bind(owner).Bind(id).Bind(std::time(nullptr)).Step() != SQLITE_ROW) return std::nullopt;
  return StoredObject{.id = std::string(id), .body = get.Text(0), .history = get.Text(1)};
}

bool ObjectStore::Delete(std::string_view kind, std::string_view owner, std::string_view id) {
  const std::lock_guard lock(mutex_);
  Statement erase(database_, "DELETE FROM objects WHERE kind = ? AND owner = ? AND id = ?");
  return erase.Bind(kind).Bind(owner).Bind(id).Step() == SQLITE_DONE && sqlite3_changes(database_) > 0;
}

}  // namespace inferflux::server
