// Batches and the lines that they still have to answer, in the database of file_store.h: a batch goes on where it was
// when the server starts again. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "server/store/sqlite.h"

namespace inferflux::server {

struct StoredBatch {
  std::string id;
  std::string owner;
  std::string input;    // the id of its file
  int64_t expires = 0;  // when it is forgotten, seconds since 1970
  bool unfinished = true;
  std::string body;  // JSON: what a client gets back, but for the counts while it is unfinished
};

struct BatchLine {
  int64_t number = 0;  // of the line in the file, from 1
  std::string custom_id;
  std::string request;  // JSON: its body
};

struct BatchCounts {
  int64_t total = 0, completed = 0, failed = 0;
};

struct BatchPage {
  std::vector<StoredBatch> batches;
  bool has_more = false;
};

class BatchStore {
 public:
  explicit BatchStore(std::shared_ptr<SqliteDatabase> database) : database_(std::move(database)) {}

  // Forgets expired batches first.
  Status Add(const StoredBatch& batch);
  // Replaces the body, and whether it is unfinished.
  Status Update(const StoredBatch& batch);
  // None if the owner has no such batch.
  std::optional<StoredBatch> Get(std::string_view owner, std::string_view id);
  // The newest first. None if `after` names no batch of the owner.
  std::optional<BatchPage> List(std::string_view owner, const std::string& after, int64_t limit);
  // Of all owners, the oldest first.
  std::vector<StoredBatch> Unfinished();
  int64_t CountUnfinished(std::string_view owner);
  // Whether an unfinished batch reads this file.
  bool IsInput(std::string_view owner, std::string_view file);

  // --- lines of a batch ---

  // Replaces all lines.
  Status SetLines(const std::string& batch, const std::vector<BatchLine>& lines);
  // The first line behind `after` that has no result.
  std::optional<BatchLine> NextLine(const std::string& batch, int64_t after);
  // Stores the JSON of a line's result, unless it has one.
  Status SetResult(const std::string& batch, int64_t line, bool ok, const std::string& result);
  BatchCounts Counts(const std::string& batch);
  // The results, each in a line, in the order of the requests.
  std::string Results(const std::string& batch, bool ok);
  Status DropLines(const std::string& batch);

 private:
  std::shared_ptr<SqliteDatabase> database_;
};

}  // namespace inferflux::server
