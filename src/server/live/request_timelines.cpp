#include "server/live/request_timelines.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/request/api_error.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

using scheduler::FinishedRequest;
using scheduler::FinishReason;
using scheduler::TimelinePhase;

constexpr size_t kMostListed = 100;

struct EndedRequest {
  std::string model;
  FinishedRequest request;
};

std::string_view OutcomeName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      break;
  }
  return "error";
}

std::string_view PhaseName(TimelinePhase::Kind kind) {
  switch (kind) {
    case TimelinePhase::Kind::kQueued:
      return "queued";
    case TimelinePhase::Kind::kPrefill:
      return "prefill";
    case TimelinePhase::Kind::kDecode:
      return "decode";
    case TimelinePhase::Kind::kWaiting:
      return "waiting";
    case TimelinePhase::Kind::kPreempted:
      break;
  }
  return "preempted";
}

bool MaySee(const Caller& caller, const FinishedRequest& request) {
  return request.account == caller.client() || keys::Has(caller.scopes, Scope::kAdmin);
}

// Of all loaded models, the last that ended first. `id` empty: any.
std::vector<EndedRequest> CollectEnded(const Services& services, const Caller& caller, std::string_view id) {
  std::vector<EndedRequest> out;
  for (const auto& model : services.models.List()) {
    const scheduler::RequestHistory* history = model->scheduler->history();
    if (history == nullptr) continue;
    for (FinishedRequest& request : id.empty() ? history->All() : history->Find(id)) {
      if (MaySee(caller, request)) out.push_back({model->id, std::move(request)});
    }
  }
  std::ranges::stable_sort(out, std::ranges::greater(), [](const EndedRequest& each) { return each.request.ended; });
  return out;
}

json::object SummaryOf(const EndedRequest& ended) {
  const FinishedRequest& request = ended.request;
  const auto since_epoch = request.ended.time_since_epoch();
  return {{"id", request.request_id},
          {"object", "request"},
          {"model", ended.model},
          {"ended_at", std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count()},
          {"seconds", request.seconds},
          {"outcome", OutcomeName(request.reason)},
          {"prompt_tokens", request.usage.prompt_tokens},
          {"cached_tokens", request.usage.cached_tokens},
          {"completion_tokens", request.usage.completion_tokens},
          {"drafted_tokens", request.usage.drafted_tokens},
          {"accepted_tokens", request.usage.accepted_tokens}};
}

json::object WithPhases(const EndedRequest& ended) {
  json::array phases;
  for (const TimelinePhase& phase : ended.request.phases) {
    phases.push_back({{"kind", PhaseName(phase.kind)},
                      {"begin", phase.begin},
                      {"end", phase.end},
                      {"tokens", phase.tokens},
                      {"steps", phase.steps}});
  }
  json::object out = SummaryOf(ended);
  out["phases"] = std::move(phases);
  return out;
}

net::Response JsonAnswer(const json::object& body) {
  return net::Response(200, "application/json", json::serialize(body));
}

}  // namespace

boost::asio::awaitable<void> ListRequests(Services& services, const Caller& caller, const net::Request&,
                                          net::ResponseWriter& writer) {
  json::array data;
  for (const EndedRequest& ended : CollectEnded(services, caller, "")) {
    if (data.size() == kMostListed) break;
    data.push_back(SummaryOf(ended));
  }
  net::Response answer = JsonAnswer({{"object", "list"}, {"data", std::move(data)}});
  co_await writer.Send(std::move(answer));
}

boost::asio::awaitable<void> DescribeRequest(Services& services, const Caller& caller, const net::Request& request,
                                             net::ResponseWriter& writer) {
  const std::string id = request.parameters.at("id");
  json::array generations;
  for (const EndedRequest& ended : CollectEnded(services, caller, id)) generations.push_back(WithPhases(ended));
  if (generations.empty()) {
    net::Response missing = ErrorResponse(
        {404,
         fmt::format("no request '{}' is among the last {} that ended of each loaded model; its id is in the "
                     "X-Request-Id of its answer",
                     id, scheduler::RequestHistory::kMostRequests),
         "invalid_request_error", "id", "not_found"});
    co_await writer.Send(std::move(missing));
    co_return;
  }
  net::Response answer =
      JsonAnswer({{"id", id}, {"object", "request.timeline"}, {"generations", std::move(generations)}});
  co_await writer.Send(std::move(answer));
}

}  // namespace inferflux::server
