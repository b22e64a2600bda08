#include "server/store/object_store.h"

#include <ctime>
#include <utility>

namespace inferflux::server {
namespace {

constexpr const char* kObjectsSql = R"(
  CREATE TABLE IF NOT EXISTS objects (
    kind TEXT NOT NULL, owner TEXT NOT NULL, id TEXT NOT NULL, expires INTEGER NOT NULL, bytes INTEGER NOT NULL,
    body TEXT NOT NULL, history TEXT NOT NULL, PRIMARY KEY (kind, owner, id));
  CREATE INDEX IF NOT EXISTS by_owner ON objects (owner, expires);
)";

}  // namespace

Result<std::unique_ptr<ObjectStore>> ObjectStore::Open(const std::string& path, StoreLimits limits) {
  auto database = SqliteDatabase::Open(path, kObjectsSql, "stored responses");
  if (!database) return Forward(database);
  return std::unique_ptr<ObjectStore>(new ObjectStore(std::move(*database), limits));
}

Status ObjectStore::Put(std::string_view kind, std::string_view owner, const StoredObject& object) {
  const auto lock = database_->Lock();
  const auto bytes = static_cast<int64_t>(object.body.size() + object.history.size());
  if (bytes > limits_.bytes) {
    return Fail(ErrorCode::kResourceExhausted, "it has {} bytes, and at most {} are stored for a key", bytes,
                limits_.bytes);
  }
  SqliteStatement put = database_->Prepare("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?, ?, ?)");
  put.Bind(kind).Bind(owner).Bind(object.id).Bind(std::time(nullptr) + limits_.lifetime.count()).Bind(bytes);
  if (!put.Bind(object.body).Bind(object.history).Runs()) return database_->Failure();
  Trim(owner);
  return {};
}

// Removes what has expired, and the owner's oldest objects until the others fit.
void ObjectStore::Trim(std::string_view owner) {
  database_->Prepare("DELETE FROM objects WHERE expires < ?").Bind(std::time(nullptr)).Step();
  while (true) {
    SqliteStatement sum = database_->Prepare("SELECT count(*), sum(bytes) FROM objects WHERE owner = ?");
    if (!sum.Bind(owner).HasRow()) return;
    if (sum.Number(0) <= limits_.objects && sum.Number(1) <= limits_.bytes) return;
    SqliteStatement drop = database_->Prepare(
        "DELETE FROM objects WHERE rowid = (SELECT rowid FROM objects WHERE owner = ? ORDER BY expires, rowid "
        "LIMIT 1)");
    if (!drop.Bind(owner).Runs() || database_->changes() == 0) return;
  }
}

std::optional<StoredObject> ObjectStore::Get(std::string_view kind, std::string_view owner, std::string_view id) {
  const auto lock = database_->Lock();
  SqliteStatement get =
      database_->Prepare("SELECT body, history FROM objects WHERE kind = ? AND owner = ? AND id = ? AND expires >= ?");
  if (!get.Bind(kind).Bind(owner).Bind(id).Bind(std::time(nullptr)).HasRow()) return std::nullopt;
  return StoredObject{.id = std::string(id), .body = get.Text(0), .history = get.Text(1)};
}

bool ObjectStore::Delete(std::string_view kind, std::string_view owner, std::string_view id) {
  const auto lock = database_->Lock();
  SqliteStatement erase = database_->Prepare("DELETE FROM objects WHERE kind = ? AND owner = ? AND id = ?");
  return erase.Bind(kind).Bind(owner).Bind(id).Runs() && database_->changes() > 0;
}

}  // namespace inferflux::server
