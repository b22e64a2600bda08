// The trace of one request that runs a model: a span of the request, and below it spans of how long its generations
// waited, took in their prompts, and decoded. Attributes have the names of OpenTelemetry's conventions for generative
// AI.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log_line.h"
#include "scheduler/generation.h"
#include "telemetry/span.h"

namespace inferflux::server {

class RequestTrace {
 public:
  // Of a request with more, only the first have spans.
  static constexpr size_t kMostGenerations = 16;

  // `caller` is what the request's traceparent says; none: the trace begins here. `percent` of those are recorded.
  RequestTrace(std::optional<telemetry::TraceContext> caller, int percent, std::string_view method,
               std::string_view route, std::string_view request_id);

  bool sampled() const { return own_.sampled; }
  std::string trace_id() const { return telemetry::ToHex(own_.trace); }
  // For those that work for this request.
  std::string trace_parent() const { return telemetry::FormatTraceParent(own_); }

  // Any thread. A generation of the request has ended, just now.
  void AddGeneration(const scheduler::Finish& finish);
  // Any thread. What the log's line of the request says.
  void Note(const log::Field& fact);

  // The request has ended; `status` 0: its client left before an answer. The request's own span is the first. None if
  // it is not recorded.
  std::vector<telemetry::Span> End(int status);

 private:
  void AddPhase(const char* name, scheduler::TimelinePhase::Kind kind,
                const std::vector<scheduler::TimelinePhase>& phases, telemetry::SpanTime arrived);

  telemetry::TraceContext own_;
  std::mutex mutex_;  // guards what follows
  telemetry::Span span_;
  std::string operation_;
  std::string model_;
  std::vector<std::string> finish_reasons_;
  std::vector<telemetry::Span> phases_;
};

}  // namespace inferflux::server
