// Objects that outlive their requests, such as stored responses: JSON by kind, owner and id, in SQLite. They expire,
// and each owner's number and bytes are bounded: the oldest ones go first. Any thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "server/store/sqlite.h"

namespace inferflux::server {

struct StoredObject {
  std::string id;
  std::string body;     // JSON: what a client gets back
  std::string history;  // JSON: what a later request continues; may be empty
};

struct StoreLimits {
  std::chrono::seconds lifetime{30 * 24 * 3600};
  int64_t objects = 10'000;     // of one owner
  int64_t bytes = 256ll << 20;  // of one owner
};

class ObjectStore {
 public:
  // `path`: a file, created if it is missing; empty: memory. kIo names the file.
  static Result<std::unique_ptr<ObjectStore>> Open(const std::string& path, StoreLimits limits = {});

  // Adds the object, or replaces it.
  Status Put(std::string_view kind, std::string_view owner, const StoredObject& object);
  // None if there is no such object of this owner, or if it has expired.
  std::optional<StoredObject> Get(std::string_view kind, std::string_view owner, std::string_view id);
  // False if there was none.
  bool Delete(std::string_view kind, std::string_view owner, std::string_view id);

 private:
  ObjectStore(std::shared_ptr<SqliteDatabase> database, StoreLimits limits)
      : database_(std::move(database)), limits_(limits) {}
  void Trim(std::string_view owner);

  std::shared_ptr<SqliteDatabase> database_;
  const StoreLimits limits_;
};

}  // namespace inferflux::server
