#include "server/store/batch_store.h"

#include <ctime>

namespace inferflux::server {
namespace {

constexpr const char* kBatchColumns = "id, owner, input, expires, unfinished, body";

StoredBatch ReadBatch(const SqliteStatement& row) {
  return {.id = row.Text(0),
          .owner = row.Text(1),
          .input = row.Text(2),
          .expires = row.Number(3),
          .unfinished = row.Number(4) != 0,
          .body = row.Text(5)};
}

}  // namespace

Status BatchStore::Add(const StoredBatch& batch) {
  const auto lock = database_->Lock();
  database_->Prepare("DELETE FROM batches WHERE expires < ? AND unfinished = 0").Bind(std::time(nullptr)).Step();
  SqliteStatement add = database_->Prepare(
      "INSERT INTO batches (owner, id, expires, unfinished, input, bytes, body) VALUES (?, ?, ?, ?, ?, 0, ?)");
  add.Bind(batch.owner).Bind(batch.id).Bind(batch.expires).Bind(int64_t{batch.unfinished});
  if (!add.Bind(batch.input).Bind(batch.body).Runs()) return database_->Failure();
  return {};
}

Status BatchStore::Update(const StoredBatch& batch) {
  const auto lock = database_->Lock();
  SqliteStatement update = database_->Prepare("UPDATE batches SET body = ?, unfinished = ? WHERE id = ?");
  if (!update.Bind(batch.body).Bind(int64_t{batch.unfinished}).Bind(batch.id).Runs()) return database_->Failure();
  return {};
}

std::optional<StoredBatch> BatchStore::Get(std::string_view owner, std::string_view id) {
  const auto lock = database_->Lock();
  const std::string sql = fmt::format("SELECT {} FROM batches WHERE owner = ? AND id = ?", kBatchColumns);
  SqliteStatement get = database_->Prepare(sql.c_str());
  if (!get.Bind(owner).Bind(id).HasRow()) return std::nullopt;
  return ReadBatch(get);
}

std::optional<BatchPage> BatchStore::List(std::string_view owner, const std::string& after, int64_t limit) {
  const auto lock = database_->Lock();
  int64_t from = INT64_MAX;
  if (!after.empty()) {
    SqliteStatement place = database_->Prepare("SELECT number FROM batches WHERE owner = ? AND id = ?");
    if (!place.Bind(owner).Bind(after).HasRow()) return std::nullopt;
    from = place.Number(0);
  }
  const std::string sql =
      fmt::format("SELECT {} FROM batches WHERE owner = ? AND number < ? ORDER BY number DESC LIMIT ?", kBatchColumns);
  SqliteStatement rows = database_->Prepare(sql.c_str());
  rows.Bind(owner).Bind(from).Bind(limit + 1);
  BatchPage out;
  while (rows.HasRow()) out.batches.push_back(ReadBatch(rows));
  out.has_more = static_cast<int64_t>(out.batches.size()) > limit;
  if (out.has_more) out.batches.pop_back();
  return out;
}

std::vector<StoredBatch> BatchStore::Unfinished() {
  const auto lock = database_->Lock();
  const std::string sql = fmt::format("SELECT {} FROM batches WHERE unfinished = 1 ORDER BY number", kBatchColumns);
  SqliteStatement rows = database_->Prepare(sql.c_str());
  std::vector<StoredBatch> out;
  while (rows.HasRow()) out.push_back(ReadBatch(rows));
  return out;
}

int64_t BatchStore::CountUnfinished(std::string_view owner) {
  const auto lock = database_->Lock();
  SqliteStatement count = database_->Prepare("SELECT count(*) FROM batches WHERE owner = ? AND unfinished = 1");
  return count.Bind(owner).HasRow() ? count.Number(0) : 0;
}

bool BatchStore::IsInput(std::string_view owner, std::string_view file) {
  const auto lock = database_->Lock();
  SqliteStatement find = database_->Prepare("SELECT 1 FROM batches WHERE owner = ? AND input = ? AND unfinished = 1");
  return find.Bind(owner).Bind(file).HasRow();
}

Status BatchStore::SetLines(const std::string& batch, const std::vector<BatchLine>& lines) {
  const auto lock = database_->Lock();
  SqliteTransaction all(*database_);
  if (!all.begun()) return all.begun();
  if (!database_->Prepare("DELETE FROM lines WHERE batch = ?").Bind(batch).Runs()) return database_->Failure();
  int64_t bytes = 0;
  {
    SqliteStatement add = database_->Prepare("INSERT INTO lines (batch, line, custom_id, request) VALUES (?, ?, ?, ?)");
    for (const BatchLine& line : lines) {
      add.Reset().Bind(batch).Bind(line.number).Bind(line.custom_id).Bind(line.request);
      if (!add.Runs()) return database_->Failure();
      bytes += static_cast<int64_t>(line.request.size());
    }
  }
  if (!database_->Prepare("UPDATE batches SET bytes = ? WHERE id = ?").Bind(bytes).Bind(batch).Runs()) {
    return database_->Failure();
  }
  return all.Commit();
}

std::optional<BatchLine> BatchStore::NextLine(const std::string& batch, int64_t after) {
  const auto lock = database_->Lock();
  SqliteStatement next = database_->Prepare(
      "SELECT line, custom_id, request FROM lines WHERE batch = ? AND line > ? AND result IS NULL ORDER BY line LIMIT "
      "1");
  if (!next.Bind(batch).Bind(after).HasRow()) return std::nullopt;
  return BatchLine{.number = next.Number(0), .custom_id = next.Text(1), .request = next.Text(2)};
}

Status BatchStore::SetResult(const std::string& batch, int64_t line, bool ok, const std::string& result) {
  const auto lock = database_->Lock();
  SqliteTransaction all(*database_);
  if (!all.begun()) return all.begun();
  SqliteStatement set =
      database_->Prepare("UPDATE lines SET ok = ?, result = ? WHERE batch = ? AND line = ? AND result IS NULL");
  if (!set.Bind(int64_t{ok}).Bind(result).Bind(batch).Bind(line).Runs()) return database_->Failure();
  if (database_->changes() > 0) {
    SqliteStatement grow = database_->Prepare("UPDATE batches SET bytes = bytes + ? WHERE id = ?");
    if (!grow.Bind(static_cast<int64_t>(result.size())).Bind(batch).Runs()) return database_->Failure();
  }
  return all.Commit();
}

BatchCounts BatchStore::Counts(const std::string& batch) {
  const auto lock = database_->Lock();
  SqliteStatement count = database_->Prepare(
      "SELECT count(*), coalesce(sum(ok = 1), 0), coalesce(sum(ok = 0), 0) FROM lines WHERE batch = ?");
  if (!count.Bind(batch).HasRow()) return {};
  return {.total = count.Number(0), .completed = count.Number(1), .failed = count.Number(2)};
}

std::string BatchStore::Results(const std::string& batch, bool ok) {
  const auto lock = database_->Lock();
  SqliteStatement rows =
      database_->Prepare("SELECT result FROM lines WHERE batch = ? AND ok = ? AND result IS NOT NULL ORDER BY line");
  rows.Bind(batch).Bind(int64_t{ok});
  std::string out;
  while (rows.HasRow()) {
    out += rows.Text(0);
    out += '\n';
  }
  return out;
}

Status BatchStore::DropLines(const std::string& batch) {
  const auto lock = database_->Lock();
  if (!database_->Prepare("DELETE FROM lines WHERE batch = ?").Bind(batch).Runs()) return database_->Failure();
  if (!database_->Prepare("UPDATE batches SET bytes = 0 WHERE id = ?").Bind(batch).Runs()) return database_->Failure();
  return {};
}

}  // namespace inferflux::server
