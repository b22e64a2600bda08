// Uploaded files and the results of batches, by owner, in SQLite. They expire, and the number and bytes of each owner
// are bounded: what does not fit is refused, because a batch may still need the older ones. Any thread.
#pragma once

#include <chrono>
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

struct StoredFile {
  std::string id;
  std::string filename;
  std::string purpose;
  int64_t bytes = 0;
  int64_t created = 0;  // seconds since 1970
  int64_t expires = 0;
};

struct FileLimits {
  std::chrono::seconds lifetime{30 * 24 * 3600};  // of a file that names none
  int64_t files = 1000;                           // of one owner
  int64_t bytes = 1ll << 30;                      // of one owner: its files, and the lines of its batches
};

// Which files a list has.
struct FileQuery {
  std::string purpose;  // empty: any
  std::string after;    // an id; empty: from the first
  int64_t limit = 10'000;
  bool newest_first = true;
};

struct FilePage {
  std::vector<StoredFile> files;
  bool has_more = false;
};

// Opens the file of uploads and batches with its tables. `path` as for SqliteDatabase::Open.
Result<std::shared_ptr<SqliteDatabase>> OpenBatchDatabase(const std::string& path);

class FileStore {
 public:
  explicit FileStore(std::shared_ptr<SqliteDatabase> database, FileLimits limits = {})
      : database_(std::move(database)), limits_(limits) {}

  // Adds the file, or replaces the one of this id. `lifetime`: none: the limits' own. kResourceExhausted names the
  // limit that the owner would pass.
  Result<StoredFile> Put(std::string_view owner, StoredFile file, std::string_view content,
                         std::optional<std::chrono::seconds> lifetime = {});
  // The same for the results of a batch. They count already, as lines of the batch, so there is room for them.
  Result<StoredFile> PutResult(std::string_view owner, StoredFile file, std::string_view content,
                               std::optional<std::chrono::seconds> lifetime = {});
  // None if the owner has no such file, or if it has expired.
  std::optional<StoredFile> Get(std::string_view owner, std::string_view id);
  std::optional<std::string> Content(std::string_view owner, std::string_view id);
  // False if there was none.
  bool Delete(std::string_view owner, std::string_view id);
  // None if `after` names no file of the owner.
  std::optional<FilePage> List(std::string_view owner, const FileQuery& query);

  // Whether the owner may store so many bytes more.
  Status CheckRoom(std::string_view owner, int64_t more);

  const FileLimits& limits() const { return limits_; }

 private:
  Status CheckRoomLocked(std::string_view owner, int64_t more, bool one_more_file);
  Result<StoredFile> PutLocked(std::string_view owner, StoredFile file, std::string_view content,
                               std::optional<std::chrono::seconds> lifetime);

  std::shared_ptr<SqliteDatabase> database_;
  const FileLimits limits_;
};

}  // namespace inferflux::server
