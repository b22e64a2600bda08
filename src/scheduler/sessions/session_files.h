// Sessions on disk: a directory with one file for each session, limited in bytes. A file is written beside its place
// and renamed into it. It carries the model's fingerprint and a checksum; foreign or damaged files are refused.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/token_id.h"

namespace inferflux::scheduler {

struct SessionKey {
  uint64_t owner = 0;  // from the salt, which no file contains
  std::string id;

  auto operator<=>(const SessionKey&) const = default;
};

// Scrambles a salt, so that it cannot be read from a file.
uint64_t OwnerOf(uint64_t salt);

using WallTime = std::chrono::sys_seconds;

struct SessionFile {
  std::filesystem::path path;
  std::vector<TokenId> tokens;
  int64_t bytes = 0;  // of the file
  WallTime expires;
  std::chrono::seconds ttl{};
  uint64_t written = 0;  // increases from file to file
};

class SessionFiles {
 public:
  // Finds the files in `directory`/FINGERPRINT and deletes the expired ones. Creates the directory if it is missing.
  static Result<SessionFiles> Open(const std::string& directory, int64_t limit, uint64_t fingerprint, WallTime now);

  // Deletes the oldest files to make room. kResourceExhausted if the limit is too small for this one.
  Status Write(const SessionKey& key, std::span<const TokenId> tokens, std::span<const std::byte> kv, WallTime expires,
               std::chrono::seconds ttl);

  // The KV of the file's tokens. kDataLoss if it is not what was written; the file is then deleted.
  Result<std::vector<std::byte>> Read(const SessionKey& key);

  void Remove(const SessionKey& key);

  const SessionFile* Find(const SessionKey& key) const;
  const std::map<SessionKey, SessionFile>& all() const { return files_; }

 private:
  SessionFiles(std::filesystem::path directory, int64_t limit, uint64_t fingerprint)
      : directory_(std::move(directory)), limit_(limit), fingerprint_(fingerprint) {}

  void Scan(WallTime now);
  bool Adopt(const std::filesystem::path& path, WallTime now);
  void MakeRoom(int64_t bytes);

  std::filesystem::path directory_;
  int64_t limit_;
  uint64_t fingerprint_;
  int64_t used_ = 0;
  uint64_t next_ = 0;
  std::map<SessionKey, SessionFile> files_;
};

}  // namespace inferflux::scheduler
