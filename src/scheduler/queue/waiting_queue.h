// The requests that wait for admission. Preempted ones come first, then higher priority, then the account that was
// served least, then earlier arrival. Waiting raises a request's priority, so that no request waits forever.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "base/function_ref.h"
#include "scheduler/queue/request.h"
#include "scheduler/queue/token_shares.h"

namespace inferflux::scheduler {

class WaitingQueue {
 public:
  // Each full interval of waiting raises the priority by one.
  explicit WaitingQueue(std::chrono::nanoseconds aging) : aging_(aging) {}

  void Push(RequestPtr request) { requests_.push_back(std::move(request)); }

  // The next request, of those for which `ready` returns true; null if there is none.
  Request* Next(TimePoint now, const TokenShares& shares, FunctionRef<bool(const Request&)> ready) const;
  RequestPtr Take(const Request* request);

  size_t size() const { return requests_.size(); }
  const std::vector<RequestPtr>& all() const { return requests_; }

 private:
  std::chrono::nanoseconds aging_;
  std::vector<RequestPtr> requests_;
};

}  // namespace inferflux::scheduler
