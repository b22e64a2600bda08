#include "server/store/file_store.h"

#include <ctime>

namespace inferflux::server {
namespace {

// `lines` are the work of the batches that have not ended: `result` is NULL until a line was answered.
constexpr const char* kBatchTablesSql = R"(
  CREATE TABLE IF NOT EXISTS files (
    number INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, id TEXT NOT NULL UNIQUE, filename TEXT NOT NULL,
    purpose TEXT NOT NULL, bytes INTEGER NOT NULL, created INTEGER NOT NULL, expires INTEGER NOT NULL,
    content TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS files_by_owner ON files (owner, number);
  CREATE TABLE IF NOT EXISTS batches (
    number INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, id TEXT NOT NULL UNIQUE, expires INTEGER NOT NULL,
    unfinished INTEGER NOT NULL, input TEXT NOT NULL, bytes INTEGER NOT NULL, body TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS batches_by_owner ON batches (owner, number);
  CREATE TABLE IF NOT EXISTS lines (
    batch TEXT NOT NULL, line INTEGER NOT NULL, custom_id TEXT NOT NULL, request TEXT NOT NULL, ok INTEGER,
    result TEXT, PRIMARY KEY (batch, line)) WITHOUT ROWID;
)";

constexpr const char* kFileColumns = "id, filename, purpose, bytes, created, expires";

StoredFile ReadFile(const SqliteStatement& row) {
  return {.id = row.Text(0),
          .filename = row.Text(1),
          .purpose = row.Text(2),
          .bytes = row.Number(3),
          .created = row.Number(4),
          .expires = row.Number(5)};
}

}  // namespace

Result<std::shared_ptr<SqliteDatabase>> OpenBatchDatabase(const std::string& path) {
  return SqliteDatabase::Open(path, kBatchTablesSql, "uploaded files and batches");
}

Status FileStore::CheckRoomLocked(std::string_view owner, int64_t more, bool one_more_file) {
  SqliteStatement files = database_->Prepare("SELECT count(*), coalesce(sum(bytes), 0) FROM files WHERE owner = ?");
  SqliteStatement batches = database_->Prepare("SELECT coalesce(sum(bytes), 0) FROM batches WHERE owner = ?");
  if (!files.Bind(owner).HasRow() || !batches.Bind(owner).HasRow()) return database_->Failure();
  if (one_more_file && files.Number(0) >= limits_.files) {
    return Fail(ErrorCode::kResourceExhausted, "a key may store {} files, and has them: delete some", limits_.files);
  }
  const int64_t used = files.Number(1) + batches.Number(0);
  if (more <= limits_.bytes - used) return {};
  return Fail(ErrorCode::kResourceExhausted,
              "it takes {} bytes, and the key's files and batches hold {} of the {} that they may: delete some files",
              more, used, limits_.bytes);
}

Status FileStore::CheckRoom(std::string_view owner, int64_t more) {
  const auto lock = database_->Lock();
  return CheckRoomLocked(owner, more, false);
}

Result<StoredFile> FileStore::Put(std::string_view owner, StoredFile file, std::string_view content,
                                  std::optional<std::chrono::seconds> lifetime) {
  const auto lock = database_->Lock();
  database_->Prepare("DELETE FROM files WHERE expires < ?").Bind(std::time(nullptr)).Step();
  if (Status room = CheckRoomLocked(owner, static_cast<int64_t>(content.size()), true); !room) return Forward(room);
  return PutLocked(owner, std::move(file), content, lifetime);
}

Result<StoredFile> FileStore::PutResult(std::string_view owner, StoredFile file, std::string_view content,
                                        std::optional<std::chrono::seconds> lifetime) {
  const auto lock = database_->Lock();
  return PutLocked(owner, std::move(file), content, lifetime);
}

Result<StoredFile> FileStore::PutLocked(std::string_view owner, StoredFile file, std::string_view content,
                                        std::optional<std::chrono::seconds> lifetime) {
  const int64_t now = std::time(nullptr);
  database_->Prepare("DELETE FROM files WHERE owner = ? AND id = ?").Bind(owner).Bind(file.id).Step();
  file.bytes = static_cast<int64_t>(content.size());
  file.created = now;
  file.expires = now + lifetime.value_or(limits_.lifetime).count();
  SqliteStatement put = database_->Prepare(
      "INSERT INTO files (owner, id, filename, purpose, bytes, created, expires, content) VALUES (?, ?, ?, ?, ?, ?, ?, "
      "?)");
  put.Bind(owner).Bind(file.id).Bind(file.filename).Bind(file.purpose);
  if (!put.Bind(file.bytes).Bind(file.created).Bind(file.expires).Bind(content).Runs()) return database_->Failure();
  return file;
}

std::optional<StoredFile> FileStore::Get(std::string_view owner, std::string_view id) {
  const auto lock = database_->Lock();
  const std::string sql = fmt::format("SELECT {} FROM files WHERE owner = ? AND id = ? AND expires >= ?", kFileColumns);
  SqliteStatement get = database_->Prepare(sql.c_str());
  if (!get.Bind(owner).Bind(id).Bind(std::time(nullptr)).HasRow()) return std::nullopt;
  return ReadFile(get);
}

std::optional<std::string> FileStore::Content(std::string_view owner, std::string_view id) {
  const auto lock = database_->Lock();
  SqliteStatement get = database_->Prepare("SELECT content FROM files WHERE owner = ? AND id = ? AND expires >= ?");
  if (!get.Bind(owner).Bind(id).Bind(std::time(nullptr)).HasRow()) return std::nullopt;
  return get.Text(0);
}

bool FileStore::Delete(std::string_view owner, std::string_view id) {
  const auto lock = database_->Lock();
  SqliteStatement erase = database_->Prepare("DELETE FROM files WHERE owner = ? AND id = ?");
  return erase.Bind(owner).Bind(id).Runs() && database_->changes() > 0;
}

std::optional<FilePage> FileStore::List(std::string_view owner, const FileQuery& query) {
  const auto lock = database_->Lock();
  int64_t from = query.newest_first ? INT64_MAX : 0;
  if (!query.after.empty()) {
    SqliteStatement place = database_->Prepare("SELECT number FROM files WHERE owner = ? AND id = ?");
    if (!place.Bind(owner).Bind(query.after).HasRow()) return std::nullopt;
    from = place.Number(0);
  }
  const std::string sql = fmt::format(
      "SELECT {} FROM files WHERE owner = ? AND expires >= ? AND (? = '' OR purpose = ?) AND number {} ? ORDER BY "
      "number {} LIMIT ?",
      kFileColumns, query.newest_first ? "<" : ">", query.newest_first ? "DESC" : "ASC");
  SqliteStatement rows = database_->Prepare(sql.c_str());
  rows.Bind(owner).Bind(std::time(nullptr)).Bind(query.purpose).Bind(query.purpose).Bind(from).Bind(query.limit + 1);
  FilePage out;
  while (rows.HasRow()) out.files.push_back(ReadFile(rows));
  out.has_more = static_cast<int64_t>(out.files.size()) > query.limit;
  if (out.has_more) out.files.pop_back();
  return out;
}

}  // namespace inferflux::server
