#include "scheduler/sessions/session_files.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "base/mix64.h"

namespace inferflux::scheduler {
namespace fs = std::filesystem;

uint64_t OwnerOf(uint64_t salt) { return Mix64(Mix64(salt + 0x9e3779b97f4a7c15u)); }

Result<std::unique_ptr<SessionFiles>> SessionFiles::Open(const std::string& directory, int64_t limit,
                                                         uint64_t fingerprint, WallTime now,
                                                         std::unique_ptr<Disk> disk) {
  std::unique_ptr<SessionFiles> out(
      new SessionFiles(fs::path(directory) / fmt::format("{:016x}", fingerprint), limit, fingerprint, std::move(disk)));
  std::error_code error;
  fs::create_directories(out->directory_, error);
  if (error) {
    return Fail(ErrorCode::kIo, "cannot create the session directory {}: {}", out->directory_.string(),
                error.message());
  }
  fs::permissions(out->directory_, fs::perms::owner_all, error);
  out->Scan(now);
  return out;
}

void SessionFiles::Scan(WallTime now) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;  // the oldest first
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    const fs::path extension = entry.path().extension();
    if (extension == ".session") found.emplace_back(entry.last_write_time(error), entry.path());
    if (extension == ".partial") fs::remove(entry.path(), error);  // an interrupted write
  }
  std::ranges::sort(found);
  for (const auto& [time, path] : found) {
    if (!Adopt(path, now)) fs::remove(path, error);
  }
  MakeRoom(0);
}

// False if the file is damaged or expired.
bool SessionFiles::Adopt(const fs::path& path, WallTime now) {
  auto head = ReadSessionHead(path, fingerprint_);
  if (!head || head->expires <= now) return false;
  std::error_code error;
  const auto size = static_cast<int64_t>(fs::file_size(path, error));
  const SessionKey key = head->key;
  List(key, {.head = std::move(*head), .bytes = size, .written = next_++});
  return true;
}

void SessionFiles::List(const SessionKey& key, StoredSession stored) {
  Unlist(key);
  used_ += stored.bytes;
  by_age_.emplace(stored.written, key);
  files_.emplace(key, std::move(stored));
}

void SessionFiles::Unlist(const SessionKey& key) {
  const auto found = files_.find(key);
  if (found == files_.end()) return;
  used_ -= found->second.bytes;
  by_age_.erase(found->second.written);
  files_.erase(found);
}

std::vector<SessionKey> SessionFiles::MakeRoom(int64_t bytes) {
  std::vector<SessionKey> out;
  while (!by_age_.empty() && used_ + bytes > limit_) {
    out.push_back(by_age_.begin()->second);
    Remove(out.back());
  }
  return out;
}

Result<std::vector<SessionKey>> SessionFiles::Write(const SessionKey& key, const std::vector<TokenId>& tokens,
                                                    SharedKv kv, WallTime expires, std::chrono::seconds ttl,
                                                    Written done) {
  StoredSession stored{
      .head = {.fingerprint = fingerprint_, .key = key, .tokens = tokens, .expires = expires, .ttl = ttl},
      .written = next_++};
  stored.bytes = static_cast<int64_t>(SessionFileBytes(stored.head, kv->size()));
  if (stored.bytes > limit_) {
    return Fail(ErrorCode::kResourceExhausted,
                "the session takes {} bytes on disk, and runtime.session_disk allows {} for all of them", stored.bytes,
                limit_);
  }
  std::optional<StoredSession> before;  // its file will be replaced, and is not to be removed
  if (const StoredSession* found = Find(key)) before = *found;
  Unlist(key);
  std::vector<SessionKey> gone = MakeRoom(stored.bytes);
  const uint64_t written = stored.written;
  disk_->Post([this, path = PathOf(key), head = stored.head, kv = std::move(kv), written, before = std::move(before),
               done = std::move(done)]() -> Disk::Done {
    Status result = WriteSessionFile(path, head, *kv);
    return [this, key = head.key, written, before, result = std::move(result), done]() mutable {
      const StoredSession* now = Find(key);
      const bool current = now != nullptr && now->written == written;
      if (!result && current) Unlist(key);
      if (!result && current && before) List(key, std::move(*before));  // its file is still there
      if (result && !current) result = Fail(ErrorCode::kCancelled, "the session was replaced or gave way");
      done(std::move(result));
    };
  });
  List(key, std::move(stored));
  return gone;
}

void SessionFiles::Read(const SessionKey& key, Loaded done) {
  const StoredSession* found = Find(key);
  if (found == nullptr) return done(Fail(ErrorCode::kNotFound, "there is no file for the session '{}'", key.id));
  disk_->Post(
      [this, path = PathOf(key), head = found->head, written = found->written, done = std::move(done)]() -> Disk::Done {
        auto kv = std::make_shared<Result<std::vector<std::byte>>>(ReadSessionKv(path, head));
        return [this, key = head.key, written, kv = std::move(kv), done] {
          const StoredSession* now = Find(key);
          if (!*kv && now != nullptr && now->written == written) Remove(key);
          done(std::move(*kv));
        };
      });
}

void SessionFiles::Remove(const SessionKey& key) {
  if (Find(key) == nullptr) return;
  disk_->Post([path = PathOf(key)]() -> Disk::Done {
    std::error_code ignored;
    fs::remove(path, ignored);
    return [] {};
  });
  Unlist(key);
}

const StoredSession* SessionFiles::Find(const SessionKey& key) const {
  const auto found = files_.find(key);
  return found == files_.end() ? nullptr : &found->second;
}

}  // namespace inferflux::scheduler
