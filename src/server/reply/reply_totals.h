// Totals over the answers to one request.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "scheduler/generation.h"
#include "server/request/api_error.h"

namespace inferflux::server {

// The outcome of a request, for the metrics: "stop", "length", "error", "cancelled" (its client left) or "rejected".
using Outcome = std::string;

class ReplyTotals {
 public:
  explicit ReplyTotals(size_t choices_per_prompt) : per_prompt_(choices_per_prompt) {}

  // A prompt's tokens count once, regardless of its number of choices.
  void Count(size_t index, const scheduler::Finish& finish);

  const scheduler::Usage& usage() const { return usage_; }
  const std::optional<ApiError>& error() const { return error_; }  // the first one
  const Outcome& outcome() const { return outcome_; }

 private:
  const size_t per_prompt_;
  scheduler::Usage usage_;
  std::optional<ApiError> error_;
  Outcome outcome_ = "stop";
};

}  // namespace inferflux::server
