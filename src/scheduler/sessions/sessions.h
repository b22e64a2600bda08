// Conversations whose KV outlives their requests: in the engine, protected from eviction, until requests need the
// memory; then in host memory; then on disk, if there is a directory. The least recently used session moves first. A
// session that fits nowhere is dropped, which costs only a recomputation. No call waits for the disk: a request whose
// session is on disk waits for its KV while others run.
//
// With a store that machines share, each session is also published at the end of its request, and a request whose
// session is unknown here, or known with fewer of its tokens, waits a moment until the store has been asked.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "metrics/registry.h"
#include "scheduler/generation_service.h"
#include "scheduler/queue/request.h"
#include "scheduler/sessions/session_files.h"
#include "scheduler/sessions/shared_sessions.h"

namespace inferflux::scheduler {

class Sessions {
 public:
  // Beyond the memory limit: KV that is being written, this many bytes or as many as the memory limit (one session
  // always may), and the KV that was read for requests that are not admitted yet, of this many.
  static constexpr int64_t kUnwrittenBytes = int64_t{256} << 20;
  static constexpr int32_t kMostReads = 2;
  // The store is asked if a request has at least so many tokens that are not here; for at most so many requests at a
  // time; and a request waits no longer than this. A store that fails is left alone for a while.
  static constexpr size_t kWorthFetching = 32;
  static constexpr int32_t kMostFetches = 4;
  static constexpr std::chrono::seconds kPatience{3};
  static constexpr std::chrono::seconds kStoreRest{10};

  // `engine` must outlive this object. Without `files` nothing goes to disk; with it, existing files are sessions from
  // the start. `shared` may be null. `file_errors` counts sessions that could not be written or read, on disk or in the
  // store.
  Sessions(engine::Engine& engine, int64_t memory_limit, std::unique_ptr<SessionFiles> files,
           std::unique_ptr<SharedSessions> shared, metrics::Counter file_errors, TimePoint now);
  // Ends the commands that still wait, with kUnavailable.
  ~Sessions();
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;

  // Whether the request has to wait until KV of its session is read from disk or from the store; begins to read it.
  // `known` as in Open.
  bool AwaitsKv(const Request& request, std::span<const TokenId> known, TimePoint now);

  // Opens a sequence for the request. It begins with as much of `known`, a prefix of the request's tokens, as the
  // session or the prefix index still holds; at least the last token is left to compute. kResourceExhausted if there is
  // no room; kUnavailable if the request has to wait for the disk first.
  Result<engine::PrefixMatch> Open(const Request& request, std::span<const TokenId> known, TimePoint now);

  // The request, which has a session and a sequence, has ended: the session takes the sequence.
  void Keep(const Request& request, TimePoint now);

  // The request, which has a session, has ended or given up its turn: KV that was read for it may go.
  void Release(const Request& request);

  // Moves the least recently used session out of the engine. False if there is none.
  bool EvictLeastRecent();

  // Takes what the disk has done, and drops expired sessions.
  void Sweep(TimePoint now);
  std::optional<TimePoint> next_expiry() const;

  // Replies at once, or, if the disk has to do something first, in a later Sweep.
  void Do(const SessionCommand& command, TimePoint now, SessionReply reply);

 private:
  struct Waiting {
    SessionCommand command;
    SessionReply reply;
  };
  struct Session {
    std::vector<TokenId> tokens;
    uint64_t version = 0;                        // of the tokens
    std::optional<engine::SequenceId> sequence;  // in the engine
    SharedKv kv;                                 // in memory if it is not in the engine; otherwise null
    bool on_disk = false;                        // a file has exactly these tokens
    bool saving = false;                         // they are being written
    bool reading = false;                        // they are being read
    bool in_store = false;                       // the store has exactly these tokens
    bool publishing = false;                     // they are on the way to it
    std::optional<uint64_t> reader;              // the number of the request that they are or were read for
    std::vector<Waiting> waiting;                // commands, for the disk
    std::chrono::seconds ttl{};
    TimePoint expires;
    uint64_t used = 0;  // increases with every use
    // Where the lists have it.
    std::optional<uint64_t> in_engine_at, in_memory_at;
    int64_t listed_bytes = 0;
  };
  using Entry = std::map<SessionKey, Session>::iterator;
  struct Fetch {  // for a request
    TimePoint began;
    bool ended = false;
  };

  bool AwaitsDisk(const Request& request, std::span<const TokenId> known);
  bool AwaitsStore(const Request& request, std::span<const TokenId> known);
  void TakeFetched(uint64_t number, const SessionKey& key, std::span<const TokenId> known,
                   Result<DecodedSession> fetched);
  Entry Adopt(const SessionKey& key, DecodedSession session);
  bool Publish(Entry entry);
  void TakePublished(const SessionKey& key, uint64_t version, const Status& result);
  void NoteStore(const Status& result, const SessionKey& key);
  void Unread(const Request& request);
  void DoKnown(Entry entry, const SessionCommand& command, SessionReply reply);
  Result<engine::SequenceId> Reopen(Entry entry, std::span<const TokenId> tokens, uint64_t salt);
  bool OnlyOnDisk(const Session& session) const { return !session.sequence && !session.kv && session.on_disk; }
  void Read(Entry entry, std::optional<uint64_t> reader);
  void TakeRead(const SessionKey& key, uint64_t version, Result<std::vector<std::byte>> kv);
  bool MayWrite(const SharedKv& kv) const;
  Status Write(Entry entry, SharedKv kv, TimePoint now);
  void TakeWritten(const SessionKey& key, uint64_t version, int64_t bytes, Status result);
  void Resume(const SessionKey& key, const Status& result);
  void LeaveEngine(Entry entry);
  void TrimMemory();
  void Unpin(Session& session);
  void List(Entry entry);
  void Unlist(Session& session);
  void SetExpiry(Entry entry, TimePoint expires);
  void Forget(Entry entry, std::string_view why);
  SessionInfo Describe(const SessionKey& key, const Session& session) const;
  void Save(Entry entry, Waiting command);
  void SaveToStore(Entry entry, Waiting command);
  void Restore(Entry entry, Waiting command);
  Status RestoreNow(Entry entry, uint64_t salt);

  engine::Engine& engine_;
  const int64_t memory_limit_;
  metrics::Counter file_errors_;
  int64_t idle_bytes_ = 0;       // of the KV that in_memory_ lists
  int64_t unwritten_bytes_ = 0;  // of the KV that is being written
  int32_t reads_ = 0;            // sessions with a reader
  uint64_t next_use_ = 0;
  uint64_t next_version_ = 0;
  TimePoint now_;  // when it was last reported
  std::map<SessionKey, Session> sessions_;
  // By Session::used, the least recent first.
  std::map<uint64_t, Entry> in_engine_;
  std::map<uint64_t, Entry> in_memory_;                     // whose KV may leave it
  std::set<std::pair<TimePoint, const SessionKey*>> ends_;  // the next to expire first; the keys are those of sessions_
  std::unique_ptr<SessionFiles> files_;
  std::map<uint64_t, Fetch> fetches_;  // by the number of the request, until it ends
  int32_t fetching_ = 0;               // calls of the store without an answer
  TimePoint store_answered_{};         // last; or when the first of these calls began
  TimePoint store_rests_until_{};
  std::map<uint64_t, SessionReply> asked_;  // of commands for which the store was asked
  uint64_t next_asked_ = 0;
  std::unique_ptr<SharedSessions> shared_;
};

}  // namespace inferflux::scheduler
