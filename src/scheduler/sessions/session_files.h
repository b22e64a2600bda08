// The sessions on disk: a directory with one file for each session, limited in bytes. What is known of the files is in
// memory, and whatever waits for the disk runs on a thread of its own, in the order of the calls.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "scheduler/sessions/disk.h"
#include "scheduler/sessions/session_file.h"

namespace inferflux::scheduler {

// Scrambles a salt, so that it cannot be read from a file.
uint64_t OwnerOf(uint64_t salt);

struct StoredSession {
  SessionHead head;
  int64_t bytes = 0;     // of the file
  uint64_t written = 0;  // increases from file to file
};

class SessionFiles {
 public:
  using Written = std::function<void(Status)>;
  using Loaded = std::function<void(Result<std::vector<std::byte>>)>;

  // Finds the files in `directory`/FINGERPRINT and deletes the expired ones. Creates the directory if it is missing.
  // Waits for the disk.
  static Result<std::unique_ptr<SessionFiles>> Open(const std::string& directory, int64_t limit, uint64_t fingerprint,
                                                    WallTime now, std::unique_ptr<Disk> disk);

  // Begins to write a file; `done` learns how that ended, in Collect. A file of that session stays until the new one is
  // safe, so for this time the disk holds both. Other files give way, the oldest first, and their sessions are
  // returned. kResourceExhausted if the limit is too small for this one; then nothing is begun.
  Result<std::vector<SessionKey>> Write(const SessionKey& key, const std::vector<TokenId>& tokens, SharedKv kv,
                                        WallTime expires, std::chrono::seconds ttl, Written done);

  // Begins to read the KV of a file, as the writes before leave it. `done` gets it in Collect; kDataLoss if it is not
  // what was written; the file is then deleted. kNotFound if there is none, at once.
  void Read(const SessionKey& key, Loaded done);

  void Remove(const SessionKey& key);

  // Ends what the disk has done.
  void Collect() { disk_->Collect(); }

  // A file that is still being written counts as there.
  const StoredSession* Find(const SessionKey& key) const;
  const std::map<SessionKey, StoredSession>& all() const { return files_; }

 private:
  SessionFiles(std::filesystem::path directory, int64_t limit, uint64_t fingerprint, std::unique_ptr<Disk> disk)
      : directory_(std::move(directory)), limit_(limit), fingerprint_(fingerprint), disk_(std::move(disk)) {}

  void Scan(WallTime now);
  bool Adopt(const std::filesystem::path& path, WallTime now);
  void List(const SessionKey& key, StoredSession stored);
  void Unlist(const SessionKey& key);
  std::vector<SessionKey> MakeRoom(int64_t bytes);
  std::filesystem::path PathOf(const SessionKey& key) const { return directory_ / SessionFileName(key); }

  const std::filesystem::path directory_;
  const int64_t limit_;
  const uint64_t fingerprint_;
  int64_t used_ = 0;
  uint64_t next_ = 0;
  std::map<SessionKey, StoredSession> files_;
  std::map<uint64_t, SessionKey> by_age_;  // by StoredSession::written
  std::unique_ptr<Disk> disk_;             // its jobs hold nothing of this object
};

}  // namespace inferflux::scheduler
