// The worker's side of its registration with a pool: heartbeats from the start, the ready callback once the model
// serves, and the deregistration. Without a pool a worker needs none of it.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "net/client.h"
#include "worker/service/worker_status.h"
#include "worker/token.h"

namespace inferflux::worker {

struct PoolLinkOptions {
  net::ServerAddress callback;
  Token token;
  std::chrono::milliseconds heartbeat{15'000};
  // The waits before the tries of the ready callback.
  std::vector<std::chrono::milliseconds> tries = {std::chrono::milliseconds(0), std::chrono::milliseconds(1'000),
                                                  std::chrono::milliseconds(2'000), std::chrono::milliseconds(4'000),
                                                  std::chrono::milliseconds(8'000)};
  // How long a worker whose heartbeats are refused goes on trying to register again.
  std::chrono::milliseconds orphan_time{60'000};
};

class PoolLink {
 public:
  // Starts the thread that talks to the pool. `on_lost` is called on it, once, when the pool does not take the worker:
  // it is to end the process. `status` must outlive the link.
  PoolLink(const WorkerStatus& status, PoolLinkOptions options, std::function<void()> on_lost);
  ~PoolLink();  // tells the pool that the worker goes

 private:
  enum class Answer { kTaken, kRefused, kNone };

  void Main();
  bool Register();
  bool RegisterAgain();
  Answer Post(const std::string& path, const std::string& body) const;
  bool Sleep(std::chrono::milliseconds time);

  const WorkerStatus& status_;
  const PoolLinkOptions options_;
  const std::function<void()> on_lost_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace inferflux::worker
