#include "scheduler/timeline/request_history.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace inferflux::scheduler {

void RequestHistory::Add(FinishedRequest request) {
  const std::lock_guard lock(mutex_);
  const auto same = std::ranges::count(requests_, request.request_id, &FinishedRequest::request_id);
  if (same >= static_cast<std::ptrdiff_t>(kMostOfOneId)) return;
  requests_.push_front(std::move(request));
  if (requests_.size() > kMostRequests) requests_.pop_back();
}

std::vector<FinishedRequest> RequestHistory::All() const {
  const std::lock_guard lock(mutex_);
  return {requests_.begin(), requests_.end()};
}

std::vector<FinishedRequest> RequestHistory::Find(std::string_view request_id) const {
  const std::lock_guard lock(mutex_);
  std::vector<FinishedRequest> out;
  std::ranges::copy_if(requests_, std::back_inserter(out),
                       [&](const FinishedRequest& each) { return each.request_id == request_id; });
  return out;
}

}  // namespace inferflux::scheduler
