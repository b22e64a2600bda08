#include "scheduler/queue/waiting_queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace inferflux::scheduler {

Request* WaitingQueue::Next(TimePoint now, const TokenShares& shares, FunctionRef<bool(const Request&)> ready) const {
  const auto rank = [&](const Request& request) {  // the lowest goes first
    const auto waited = (now - request.submitted) / aging_;
    return std::tuple(!request.was_admitted, -(request.spec.priority + waited), shares.served(request.spec.account),
                      request.number);
  };
  Request* next = nullptr;
  for (const auto& request : requests_) {
    if (!ready(*request)) continue;
    if (next == nullptr || rank(*request) < rank(*next)) next = request.get();
  }
  return next;
}

RequestPtr WaitingQueue::Take(const Request* request) {
  const auto found = std::ranges::find(requests_, request, &RequestPtr::get);
  RequestPtr taken = std::move(*found);
  requests_.erase(found);
  return taken;
}

}  // namespace inferflux::scheduler
