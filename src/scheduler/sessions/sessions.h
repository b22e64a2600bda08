// Conversations whose KV outlives their requests: in the engine, protected from eviction, until requests need the
// memory; then in host memory; then on disk, if there is a directory. The least recently used session moves first. A
// session that fits nowhere is dropped, which costs only a recomputation.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "scheduler/generation_service.h"
#include "scheduler/queue/request.h"
#include "scheduler/sessions/session_files.h"

namespace inferflux::scheduler {

class Sessions {
 public:
  // `engine` must outlive this object. Without `files` nothing goes to disk; with it, existing files are sessions from
  // the start.
  Sessions(engine::Engine& engine, int64_t memory_limit, std::optional<SessionFiles> files, TimePoint now);

  // Opens a sequence for the request. It begins with as much of `known`, a prefix of the request's tokens, as the
  // session or the prefix index still holds; at least the last token is left to compute. kResourceExhausted if there is
  // no room.
  Result<engine::PrefixMatch> Open(const Request& request, std::span<const TokenId> known, TimePoint now);

  // The request, which has a session and a sequence, has ended: the session takes the sequence.
  void Keep(const Request& request, TimePoint now);

  // Moves the least recently used session out of the engine. False if there is none.
  bool EvictLeastRecent();

  // Drops expired sessions.
  void Sweep(TimePoint now);
  std::optional<TimePoint> next_expiry() const;

  Result<std::vector<SessionInfo>> Do(const SessionCommand& command, TimePoint now);

 private:
  struct Session {
    std::vector<TokenId> tokens;
    std::optional<engine::SequenceId> sequence;  // in the engine
    std::vector<std::byte> kv;                   // in memory if it is not in the engine; otherwise empty
    bool on_disk = false;                        // a file has exactly these tokens
    std::chrono::seconds ttl{};
    TimePoint expires;
    uint64_t used = 0;  // increases with every use
  };
  using Entry = std::map<SessionKey, Session>::iterator;

  Result<engine::SequenceId> Reopen(Entry entry, std::span<const TokenId> tokens, uint64_t salt);
  Status LoadKv(Entry entry);
  Status SaveToDisk(Entry entry, TimePoint now);
  void LeaveEngine(Entry entry);
  void TrimMemory();
  void DropKv(Session& session);
  void Forget(Entry entry);
  Entry Oldest(bool (*held)(const Session&));
  SessionInfo Describe(const SessionKey& key, const Session& session, TimePoint now) const;
  Status Save(Entry entry, TimePoint now);
  Status Restore(Entry entry, uint64_t salt);

  engine::Engine& engine_;
  const int64_t memory_limit_;
  int64_t memory_used_ = 0;
  std::optional<SessionFiles> files_;
  uint64_t next_use_ = 0;
  TimePoint now_;  // when it was last reported
  std::map<SessionKey, Session> sessions_;
};

}  // namespace inferflux::scheduler
