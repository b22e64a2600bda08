// Runs generations on one loaded model: admission, continuous batching, chunked prefill, cancellation. It drives any
// engine::Engine and never asks which one it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "scheduler/generation.h"
#include "scheduler/output/token_stream.h"
#include "scheduler/timeline/request_history.h"

namespace inferflux::scheduler {

struct SchedulerStats {
  int32_t queued = 0;
  int32_t running = 0;
  int64_t kv_blocks_used = 0;
  int64_t kv_blocks_free = 0;    // includes blocks kept only for their prefix,
  int64_t kv_blocks_cached = 0;  // which are these
  int64_t preemptions = 0;       // since the start: requests that lost their KV and are recomputed
  int64_t drafted_tokens = 0;    // since the start: draft tokens, and the accepted ones of them
  int64_t accepted_tokens = 0;
  int64_t graphs = 0;               // captured decode steps
  int64_t graph_replays = 0;        // steps that replayed one
  int64_t graph_refusals = 0;       // captures that failed
  int32_t retry_after_seconds = 1;  // when a rejected client should retry
};

// A session as its owner sees it.
struct SessionInfo {
  enum class Tier { kEngine, kMemory, kDisk };  // where its KV is

  std::string id;
  Tier tier = Tier::kEngine;
  int32_t tokens = 0;
  int64_t bytes = 0;       // of its saved KV; 0 in the engine
  bool on_disk = false;    // a file holds it too
  int64_t expires_in = 0;  // seconds
};

struct SessionCommand {
  enum class Action {
    kList,     // all sessions of the salt
    kSave,     // writes the KV to disk; it also stays where it is
    kRestore,  // loads the KV into the engine
    kDelete,
  };

  Action action = Action::kList;
  std::string id;
  uint64_t salt = 0;
};

// Receives the state of a command's session. Called on the scheduler thread, or at once if that thread has ended.
using SessionReply = std::function<void(Result<std::vector<SessionInfo>>)>;

class GenerationService {
 public:
  virtual ~GenerationService() = default;

  // Any thread. Queues the request; its events arrive in its stream. Errors: kInvalidArgument if it can never fit (the
  // message names the limit), kResourceExhausted if the queue is full, kUnavailable while stopping.
  virtual Result<std::shared_ptr<TokenStream>> Submit(GenerationRequest request) = 0;

  // Any thread. Runs between two steps.
  virtual void Session(SessionCommand, SessionReply reply) {
    reply(Fail(ErrorCode::kUnsupported, "this model keeps no sessions"));
  }

  // Any thread. The last requests that ended; null if the service remembers none.
  virtual const RequestHistory* history() const { return nullptr; }

  // Any thread. From now on Submit refuses, and the requests that have no token yet and wait for their turn end with
  // kUnavailable; with `running`, all end so.
  virtual void Drain(bool running) = 0;

  // Ends every request with kCancelled, unloads the engine and ends the thread. Any thread, any number of times.
  virtual void Stop() = 0;

  // Any thread. A snapshot of the last step.
  virtual SchedulerStats stats() const = 0;

  // Any thread. Seconds after which a rejected client of the account should retry.
  virtual int32_t RetryAfter(const std::string&) const { return stats().retry_after_seconds; }
};

}  // namespace inferflux::scheduler
