// The generations of one call, which its caller waits for on its own thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "embedded/call_error.h"
#include "embedded/loaded_model_state.h"
#include "serving/generation/generation_group.h"

namespace inferflux::embedded {

struct CallLimits {
  std::stop_token cancel;
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

CallLimits LimitsOf(const GenerateOptions& options);

// One thread at a time. What has not ended is cancelled with it.
class CallEvents {
 public:
  static Result<CallEvents> Submit(const serving::ServedModel& model,
                                   std::vector<scheduler::GenerationRequest> requests, CallLimits limits);

  // Waits for events and hands them out. kCancelled and kTimeout end the generations; an event that says how a
  // generation failed is handed out, and is the error.
  Status Next(serving::GenerationGroup::OnEvent on_event);
  bool finished() const { return group_.finished(); }

 private:
  class Arrival;

  CallEvents(serving::GenerationGroup group, std::shared_ptr<Arrival> arrival, CallLimits limits)
      : arrival_(std::move(arrival)), limits_(std::move(limits)), group_(std::move(group)) {}

  std::shared_ptr<Arrival> arrival_;
  CallLimits limits_;
  serving::GenerationGroup group_;
};

}  // namespace inferflux::embedded
