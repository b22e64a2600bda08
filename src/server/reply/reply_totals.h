// Totals over the answers to one request.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "scheduler/generation.h"
#include "server/request/api_error.h"
#include "server/request/trace/request_trace.h"

namespace inferflux::server {

// The outcome of a request, for the metrics: "stop", "length", "error", "cancelled" (its client left) or "rejected".
using Outcome = std::string;

class ReplyTotals {
 public:
  // `trace`, if it is not null, learns of each answer.
  ReplyTotals(size_t choices_per_prompt, std::shared_ptr<RequestTrace> trace)
      : per_prompt_(choices_per_prompt), trace_(std::move(trace)) {}

  // A prompt's tokens count once, regardless of its number of choices.
  void Count(size_t index, const scheduler::Finish& finish);

  const scheduler::Usage& usage() const { return usage_; }
  const std::optional<ApiError>& error() const { return error_; }  // the first one
  const Outcome& outcome() const { return outcome_; }

 private:
  const size_t per_prompt_;
  const std::shared_ptr<RequestTrace> trace_;
  scheduler::Usage usage_;
  std::optional<ApiError> error_;
  Outcome outcome_ = "stop";
};

}  // namespace inferflux::server
