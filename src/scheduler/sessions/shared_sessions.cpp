#include "scheduler/sessions/shared_sessions.h"

#include <span>
#include <utility>

#include "base/log.h"

namespace inferflux::scheduler {

// Unlike a file's name it holds the whole key: a store keeps it from others' eyes by its own means.
std::string SharedSessions::NameOf(const SessionKey& key) const {
  return fmt::format("{:016x}/{:016x}/{}", fingerprint_, key.owner, key.id);
}

void SharedSessions::LeaveOut(const SessionKey& key) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) return;
  found->second->store(true);
  waiting_.erase(found);
}

void SharedSessions::Publish(const SessionKey& key, const std::vector<TokenId>& tokens, SharedKv kv, WallTime expires,
                             std::chrono::seconds ttl, Published done) {
  LeaveOut(key);
  const auto replaced = std::make_shared<std::atomic<bool>>(false);
  waiting_.emplace(key, replaced);
  const auto bytes = static_cast<int64_t>(kv->size());
  waiting_bytes_ += bytes;
  SessionHead head{.fingerprint = fingerprint_, .key = key, .tokens = tokens, .expires = expires, .ttl = ttl};
  writer_->Post([this, store = store_, name = NameOf(key), head = std::move(head), kv = std::move(kv), replaced, bytes,
                 done = std::move(done)]() -> Disk::Done {
    Status result;
    if (!replaced->load()) result = store->Put(name, EncodeSession(head, *kv), head.expires);
    return [this, key = head.key, replaced, bytes, result = std::move(result), done] {
      waiting_bytes_ -= bytes;
      const auto found = waiting_.find(key);
      if (found != waiting_.end() && found->second == replaced) waiting_.erase(found);
      done(result);
    };
  });
}

void SharedSessions::Fetch(const SessionKey& key, WallTime now, Fetched done) {
  reader_->Post([store = store_, name = NameOf(key), key, now, fingerprint = fingerprint_, most = most_bytes_,
                 done = std::move(done)]() -> Disk::Done {
    const auto fetch = [&]() -> Result<DecodedSession> {
      // The tokens and the head are small beside the KV.
      auto blob = store->Get(name, static_cast<size_t>(most) + static_cast<size_t>(most) / 4);
      if (!blob) return Forward(blob);
      auto session = DecodeSession(std::as_bytes(std::span(*blob)), fingerprint);
      if (!session) return session;
      if (session->head.key != key) return Fail(ErrorCode::kDataLoss, "the session is another one");
      if (session->head.expires <= now) return Fail(ErrorCode::kNotFound, "the session has expired");
      return session;
    };
    auto fetched = std::make_shared<Result<DecodedSession>>(fetch());
    return [fetched, done] { done(std::move(*fetched)); };
  });
}

void SharedSessions::Remove(const SessionKey& key) {
  LeaveOut(key);
  writer_->Post([store = store_, name = NameOf(key)]() -> Disk::Done {
    if (Status removed = store->Remove(name); !removed) {
      log::Warning("session store: {}", removed.error().message);
    }
    return [] {};
  });
}

void SharedSessions::Collect() {
  writer_->Collect();
  reader_->Collect();
}

}  // namespace inferflux::scheduler
