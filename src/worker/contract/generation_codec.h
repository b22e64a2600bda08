// The scheduler's requests and events as messages of the contract, and back.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "scheduler/generation.h"
#include "scheduler/generation_service.h"
#include "serving/models/served_model.h"
#include "worker/contract/codec.h"
#include "worker/contract/generation_messages.h"

namespace inferflux::worker {

using SteadyTime = std::chrono::steady_clock::time_point;

// --- the pool's side ---

// A deadline becomes the time that is left.
ExecuteRequest ToMessage(const scheduler::GenerationRequest& request, std::string request_id, SteadyTime now);

// Collects the events of one answer.
class EventReader {
 public:
  // The data of one event. kDataLoss if it breaks the contract: then the answer is of no use.
  Result<std::optional<scheduler::StreamEvent>> Read(std::string_view data);
  // A token has arrived: the request can no longer be repeated elsewhere.
  bool delivered() const { return delivered_; }
  bool finished() const { return finished_; }

 private:
  bool delivered_ = false;
  bool finished_ = false;
  scheduler::Usage usage_;
  std::vector<scheduler::TimelinePhase> phases_;
};

// --- the worker's side ---

// Compiles the grammar and tokenises a raw prompt for the model. The errors are those of the fields.
std::optional<scheduler::GenerationRequest> FromMessage(const ExecuteRequest& message,
                                                        const serving::ServedModel& model, SteadyTime now,
                                                        FieldErrors& errors);

// Writes the events of one generation as server-sent events.
class EventWriter {
 public:
  explicit EventWriter(SteadyTime began) : began_(began) {}

  void Started(const std::string& request_id, const std::string& worker_id, std::string& out) const;
  void Append(const scheduler::StreamEvent& event, SteadyTime now, std::string& out);

 private:
  SteadyTime began_;
  std::optional<SteadyTime> first_;
};

WireError ToMessage(const Error& error);
// The error with the code that the floors below gave it.
Error FromMessage(const WireError& error);

WorkerLoad ToMessage(const scheduler::SchedulerStats& stats);

}  // namespace inferflux::worker
