// The sessions that the workers of a fleet share: a worker publishes each session that it keeps, and fetches one that
// another worker has carried further. No call waits for the store.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "scheduler/sessions/disk.h"
#include "scheduler/sessions/session_format.h"
#include "scheduler/sessions/session_store.h"

namespace inferflux::scheduler {

class SharedSessions {
 public:
  using Published = std::function<void(Status)>;
  using Fetched = std::function<void(Result<DecodedSession>)>;

  // `most_bytes`: of one session, and of all that wait to be published. Publishing and fetching have a thread each, so
  // that a fetch never waits behind a large session that is being written.
  SharedSessions(std::shared_ptr<SessionStore> store, uint64_t fingerprint, int64_t most_bytes,
                 std::unique_ptr<Disk> writer, std::unique_ptr<Disk> reader)
      : store_(std::move(store)),
        fingerprint_(fingerprint),
        most_bytes_(most_bytes),
        writer_(std::move(writer)),
        reader_(std::move(reader)) {}

  // Whether a session of so many bytes of KV may be published now.
  bool MayPublish(size_t kv_bytes) const { return waiting_bytes_ + static_cast<int64_t>(kv_bytes) <= most_bytes_; }
  // Begins to publish. An older state of the same session that is not written yet is left out. `done`, in Collect.
  void Publish(const SessionKey& key, const std::vector<TokenId>& tokens, SharedKv kv, WallTime expires,
               std::chrono::seconds ttl, Published done);
  // Begins to fetch. `done` gets the session in Collect: kNotFound if the store has none, or if it has expired at
  // `now`.
  void Fetch(const SessionKey& key, WallTime now, Fetched done);
  // Begins to remove, after what was published before.
  void Remove(const SessionKey& key);

  // Ends what the store has done.
  void Collect();

 private:
  std::string NameOf(const SessionKey& key) const;
  void LeaveOut(const SessionKey& key);

  const std::shared_ptr<SessionStore> store_;
  const uint64_t fingerprint_;
  const int64_t most_bytes_;
  int64_t waiting_bytes_ = 0;
  // The newest state of each session that is not written yet; true: a newer one has come.
  std::map<SessionKey, std::shared_ptr<std::atomic<bool>>> waiting_;
  std::unique_ptr<Disk> writer_, reader_;  // their jobs hold nothing of this object
};

}  // namespace inferflux::scheduler
