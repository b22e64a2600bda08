// The last requests that ended, with their timelines: no text of any request.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/generation.h"
#include "scheduler/timeline/timeline.h"

namespace inferflux::scheduler {

struct FinishedRequest {
  std::string request_id;  // of the client's request; several generations may have the same
  std::string account;
  std::chrono::system_clock::time_point ended = std::chrono::system_clock::now();
  double seconds = 0;  // from its arrival to its end
  FinishReason reason = FinishReason::kStop;
  Usage usage;
  std::vector<TimelinePhase> phases;
};

// Any thread.
class RequestHistory {
 public:
  static constexpr size_t kMostRequests = 256;
  // Of one id: a long list of texts to embed does not push out everything else.
  static constexpr size_t kMostOfOneId = 16;

  void Add(FinishedRequest request);

  std::vector<FinishedRequest> All() const;  // the last that ended first
  std::vector<FinishedRequest> Find(std::string_view request_id) const;

 private:
  mutable std::mutex mutex_;  // guards requests_
  std::deque<FinishedRequest> requests_;
};

}  // namespace inferflux::scheduler
