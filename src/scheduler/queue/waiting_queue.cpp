#include "scheduler/queue/waiting_queue.h"

#include <algorithm>
#include <utility>

namespace inferflux::scheduler {

void WaitingQueue::Push(RequestPtr request) {
  std::vector<RequestPtr>& queue = queues_[request->spec.account];
  queue.push_back(std::move(request));
  ++size_;
}

WaitingQueue::Rank WaitingQueue::RankOf(const Request& request, TimePoint now) const {
  const auto waited = (now - request.submitted) / aging_;
  return {!request.was_admitted, -(request.spec.priority + waited), request.number};
}

Request* WaitingQueue::First(const std::vector<RequestPtr>& queue, TimePoint now,
                             FunctionRef<bool(const Request&)> ready) const {
  Request* first = nullptr;
  for (const auto& request : queue) {
    if (first != nullptr && RankOf(*first, now) < RankOf(*request, now)) continue;
    if (ready(*request)) first = request.get();
  }
  return first;
}

Request* WaitingQueue::Next(TimePoint now, const TokenShares& shares, FunctionRef<bool(const Request&)> ready) const {
  Request* next = nullptr;
  int64_t least = 0;
  for (const auto& [account, queue] : queues_) {
    const int64_t served = shares.served(account);
    if (next != nullptr && served > least) continue;
    Request* first = First(queue, now, ready);
    if (first == nullptr) continue;
    if (next != nullptr && served == least && RankOf(*next, now) < RankOf(*first, now)) continue;
    next = first;
    least = served;
  }
  return next;
}

RequestPtr WaitingQueue::Take(const Request* request) {
  const auto place = queues_.find(request->spec.account);
  std::vector<RequestPtr>& queue = place->second;
  const auto found = std::ranges::find(queue, request, &RequestPtr::get);
  RequestPtr taken = std::move(*found);
  queue.erase(found);
  if (queue.empty()) queues_.erase(place);
  --size_;
  return taken;
}

std::vector<std::pair<std::string, int32_t>> WaitingQueue::sizes() const {
  std::vector<std::pair<std::string, int32_t>> out;
  for (const auto& [account, queue] : queues_) out.emplace_back(account, static_cast<int32_t>(queue.size()));
  return out;
}

void WaitingQueue::ForFirst(FunctionRef<void(const Request&)> visit) const {
  for (const auto& [account, queue] : queues_) visit(*queue.front());
}

std::vector<Request*> WaitingQueue::all() const {
  std::vector<Request*> out;
  out.reserve(size_);
  for (const auto& [account, queue] : queues_) {
    for (const auto& request : queue) out.push_back(request.get());
  }
  return out;
}

}  // namespace inferflux::scheduler
