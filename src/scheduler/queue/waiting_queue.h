// The requests that wait for admission: a queue for each account. The account that was served least comes next, and of
// its requests first the preempted ones, then the higher priority, then the earlier arrival. Waiting raises a request's
// priority, so that no request waits forever. The same order decides between accounts that were served equally.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "scheduler/queue/request.h"
#include "scheduler/queue/token_shares.h"

namespace inferflux::scheduler {

class WaitingQueue {
 public:
  // Each full interval of waiting raises the priority by one.
  explicit WaitingQueue(std::chrono::nanoseconds aging) : aging_(aging) {}

  void Push(RequestPtr request);

  // The next request, of those for which `ready` returns true; null if there is none.
  Request* Next(TimePoint now, const TokenShares& shares, FunctionRef<bool(const Request&)> ready) const;
  RequestPtr Take(const Request* request);

  size_t size() const { return size_; }
  // The number of waiting requests of each account that has any.
  std::vector<std::pair<std::string, int32_t>> sizes() const;
  // Calls `visit` with one waiting request of each account that has any.
  void ForFirst(FunctionRef<void(const Request&)> visit) const;
  // In no particular order.
  std::vector<Request*> all() const;

 private:
  using Rank = std::tuple<bool, int64_t, uint64_t>;  // the lowest goes first
  Rank RankOf(const Request& request, TimePoint now) const;
  Request* First(const std::vector<RequestPtr>& queue, TimePoint now, FunctionRef<bool(const Request&)> ready) const;

  std::chrono::nanoseconds aging_;
  std::map<std::string, std::vector<RequestPtr>> queues_;  // by account; none is empty
  size_t size_ = 0;
};

}  // namespace inferflux::scheduler
