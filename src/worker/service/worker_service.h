// The worker's endpoints, and what they share.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "net/router.h"
#include "scheduler/output/token_stream.h"
#include "worker/service/worker_status.h"
#include "worker/token.h"

namespace inferflux::worker {

// The generations that are being answered, by request id. Any thread.
class RunningRequests {
 public:
  // False if the id is taken.
  bool Add(const std::string& id, std::weak_ptr<scheduler::TokenStream> stream);
  void Remove(const std::string& id);
  // Ends it within a step. An unknown id is no error.
  void Cancel(const std::string& id);

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<scheduler::TokenStream>> streams_;
};

struct WorkerService {
  WorkerStatus& status;
  Token token;
  std::function<void()> shut_down;  // drains, then ends the process
  RunningRequests running = {};
  // Compiles grammars and tokenises, so that a huge one does not block a socket.
  boost::asio::thread_pool preparation{1};
};

// GET /healthz, /readyz and /info, POST /execute, /cancel, /sessions and /shutdown.
net::Router MakeWorkerRoutes(WorkerService& service);

}  // namespace inferflux::worker
