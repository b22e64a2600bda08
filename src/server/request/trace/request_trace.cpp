#include "server/request/trace/request_trace.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace inferflux::server {
namespace {

using scheduler::FinishReason;
using scheduler::TimelinePhase;
using telemetry::SpanTime;

struct OperationRow {
  std::string_view route;
  std::string_view operation;  // of gen_ai.operation.name
};

constexpr OperationRow kGenAiOperations[] = {{"/v1/chat/completions", "chat"},
                                             {"/v1/messages", "chat"},
                                             {"/v1/responses", "chat"},
                                             {"/api/chat", "chat"},
                                             {"/v1/completions", "text_completion"},
                                             {"/api/generate", "text_completion"},
                                             {"/infill", "text_completion"},
                                             {"/v1/embeddings", "embeddings"},
                                             {"/api/embed", "embeddings"},
                                             {"/api/embeddings", "embeddings"}};

std::string GenAiOperation(std::string_view route) {
  const auto* row = std::ranges::find(kGenAiOperations, route, &OperationRow::route);
  return row == std::end(kGenAiOperations) ? std::string() : std::string(row->operation);
}

const char* FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    default:
      return "error";
  }
}

// The facts of the log that are numbers of the conventions.
constexpr std::pair<std::string_view, const char*> kUsageFacts[] = {
    {"prompt_tokens", "gen_ai.usage.input_tokens"},
    {"completion_tokens", "gen_ai.usage.output_tokens"},
    {"cached_tokens", "gen_ai.usage.cache_read.input_tokens"}};

SpanTime TimeAfter(SpanTime time, double seconds) {
  return time + std::chrono::duration_cast<SpanTime::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

RequestTrace::RequestTrace(std::optional<telemetry::TraceContext> caller, int percent, std::string_view method,
                           std::string_view route, std::string_view request_id)
    : operation_(GenAiOperation(route)) {
  own_.trace = caller ? caller->trace : telemetry::NewTraceId();
  own_.span = telemetry::NewSpanId();
  own_.sampled = caller ? caller->sampled : telemetry::IsSampled(own_.trace, percent);
  if (!own_.sampled) return;
  span_.trace = own_.trace;
  span_.id = own_.span;
  if (caller) span_.parent = caller->span;
  span_.name = operation_.empty() ? std::string(route) : operation_;
  span_.kind = telemetry::Span::Kind::kServer;
  span_.begin = std::chrono::system_clock::now();
  span_.attributes = {{"gen_ai.provider.name", "inferflux"},
                      {"http.request.method", std::string(method)},
                      {"http.route", std::string(route)},
                      {"inferflux.request.id", std::string(request_id)}};
  if (!operation_.empty()) span_.attributes.push_back({"gen_ai.operation.name", operation_});
}

void RequestTrace::AddGeneration(const scheduler::Finish& finish) {
  if (!own_.sampled) return;
  const std::lock_guard lock(mutex_);
  if (finish_reasons_.size() >= kMostGenerations) return;
  finish_reasons_.emplace_back(FinishReasonName(finish.reason));
  if (finish.phases.empty()) return;
  // Its phases are told in seconds since its arrival, and the last of them ends now.
  const SpanTime arrived = TimeAfter(std::chrono::system_clock::now(), -finish.phases.back().end);
  AddPhase("queue", TimelinePhase::Kind::kQueued, finish.phases, arrived);
  AddPhase("prefill", TimelinePhase::Kind::kPrefill, finish.phases, arrived);
  AddPhase("decode", TimelinePhase::Kind::kDecode, finish.phases, arrived);
}

// From the first phase of the kind to the end of the last.
void RequestTrace::AddPhase(const char* name, TimelinePhase::Kind kind, const std::vector<TimelinePhase>& phases,
                            SpanTime arrived) {
  const auto first = std::ranges::find(phases, kind, &TimelinePhase::kind);
  if (first == phases.end()) return;
  telemetry::Span out{.trace = own_.trace, .id = telemetry::NewSpanId(), .parent = own_.span, .name = name};
  out.begin = std::max(span_.begin, TimeAfter(arrived, first->begin));
  int64_t tokens = 0;
  int64_t steps = 0;
  for (const TimelinePhase& phase : phases) {
    if (phase.kind != kind) continue;
    out.end = std::max(out.begin, TimeAfter(arrived, phase.end));
    tokens += phase.tokens;
    steps += phase.steps;
  }
  if (kind != TimelinePhase::Kind::kQueued) {
    out.attributes = {{"inferflux.tokens", tokens}, {"inferflux.steps", steps}};
  }
  phases_.push_back(std::move(out));
}

void RequestTrace::Note(const log::Field& fact) {
  if (!own_.sampled) return;
  const std::lock_guard lock(mutex_);
  if (fact.name == "model") model_ = fact.value;
  if (fact.name == "reason") span_.message = fact.value;
  const auto* usage =
      std::ranges::find(kUsageFacts, std::string_view(fact.name), &std::pair<std::string_view, const char*>::first);
  if (usage == std::end(kUsageFacts)) return;
  int64_t count = 0;
  std::from_chars(fact.value.data(), fact.value.data() + fact.value.size(), count);
  span_.attributes.push_back({usage->second, count});
}

std::vector<telemetry::Span> RequestTrace::End(int status) {
  if (!own_.sampled) return {};
  const std::lock_guard lock(mutex_);
  span_.end = std::chrono::system_clock::now();
  if (!model_.empty()) {
    if (!operation_.empty()) span_.name = operation_ + " " + model_;
    span_.attributes.push_back({"gen_ai.request.model", model_});
    span_.attributes.push_back({"gen_ai.response.model", model_});
  }
  if (!finish_reasons_.empty()) {
    span_.attributes.push_back({"gen_ai.response.finish_reasons", std::exchange(finish_reasons_, {})});
  }
  if (status != 0) span_.attributes.push_back({"http.response.status_code", int64_t{status}});
  // An error within a stream comes after its status of 200.
  span_.failed = status == 0 || status >= 500 || (status < 400 && !span_.message.empty());
  if (span_.failed) {
    const bool stream = status != 0 && status < 400;
    const std::string type = status == 0 ? "client_disconnected" : stream ? "stream_error" : std::to_string(status);
    span_.attributes.push_back({"error.type", type});
  }
  std::vector<telemetry::Span> out;
  out.push_back(span_);
  for (telemetry::Span& phase : std::exchange(phases_, {})) {
    phase.end = std::min(phase.end, span_.end);
    phase.begin = std::min(phase.begin, phase.end);
    out.push_back(std::move(phase));
  }
  return out;
}

}  // namespace inferflux::server
