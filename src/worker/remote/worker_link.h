// How a RemoteScheduler finds and reaches workers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/client/async_client.h"
#include "scheduler/generation_service.h"

namespace inferflux::worker {

// A worker that serves. A worker that has restarted is another link.
struct WorkerLink {
  std::string worker_id;
  std::shared_ptr<net::AsyncClient> client;  // but for SendNow only on the thread of its io_context
  std::vector<net::Header> headers;          // the token
  std::atomic<int32_t> in_flight{0};         // requests that the pool has sent and that have not ended
};

// The workers of one model. Any thread.
class WorkerDirectory {
 public:
  virtual ~WorkerDirectory() = default;

  // The worker for a request, not `except` (null: any). kUnavailable if none serves.
  virtual Result<std::shared_ptr<WorkerLink>> Route(const scheduler::GenerationRequest& request,
                                                    const WorkerLink* except) = 0;
  virtual std::vector<std::shared_ptr<WorkerLink>> Links() const = 0;
  virtual scheduler::SchedulerStats stats() const = 0;

  // The worker that computes the request's prompt before the worker of Route, which is asked for afterwards; null: that
  // one does both.
  virtual std::shared_ptr<WorkerLink> RoutePrefill(const scheduler::GenerationRequest&) { return nullptr; }
  virtual void CountPrefill() {}

  // A connection failed, and its request goes to another worker.
  virtual void CountRetry() {}
  // The model is being unloaded: ends the workers, and returns when they have ended.
  virtual void Stop() {}
};

}  // namespace inferflux::worker
