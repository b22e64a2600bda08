#include "server/responses/create_response.h"

#include <boost/asio/this_coro.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <string>
#include <utility>

#include "server/reply/background_runs.h"
#include "server/reply/custom_tools.h"
#include "server/reply/reply_loop.h"
#include "server/request/count_request.h"
#include "server/request/find_model.h"
#include "server/request/first_use.h"
#include "server/request/json_body.h"
#include "server/request/unique_id.h"
#include "server/responses/responses_reply.h"
#include "server/responses/responses_request.h"
#include "server/responses/stored_responses.h"
#include "serving/generation/build_generation.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

// The most responses that may run without a client at once.
constexpr size_t kMostBackgroundRuns = 256;

struct ResponseJob {
  Job job;
  std::string id;
  bool background = false;
  json::object started;  // the response before anything was generated
};
// What the request continues: the items of a stored response, or of a conversation.
ApiResult<json::array> PastItems(const Services& services, const ResponsesRequest& request, const Caller& caller) {
  if (!request.previous.empty()) return HistoryOfResponse(*services.objects, caller, request.previous);
  if (!request.conversation.empty()) return ItemsOfConversation(*services.objects, caller, request.conversation);
  return json::array();
}

// Keeps the response, and appends it to its conversation. One that runs in the background is kept when it begins, too.
ResponsesReply::OnEnd Keeper(ObjectStore& objects, const Caller& caller, const ResponsesRequest& request,
                             json::array history) {
  if (!request.store && request.conversation.empty()) return {};
  return [&objects, owner = caller.account, store = request.store, conversation = request.conversation,
          input = request.input.items, history = std::move(history)](const json::object& response) {
    const json::value& status = response.at("status");
    if (!conversation.empty() && status != "failed" && status != "in_progress") {
      json::array added = input;
      for (const json::value& item : response.at("output").as_array()) added.push_back(item);
      AppendToConversation(objects, owner, conversation, added);
    }
    // Last: a client that reads "completed" may continue the conversation at once.
    if (store) KeepResponse(objects, owner, response, input, history);
  };
}

ApiResult<ResponseJob> PrepareResponse(const Services& services, const net::Request& http, const Caller& caller) {
  auto body = ParseJsonBody(http.body);
  if (!body) return Forward(body);
  auto request = ParseResponsesRequest(*body);
  if (!request) return Forward(request);
  if (request->background && services.background->size() >= kMostBackgroundRuns) {
    return tl::make_unexpected(ApiError{429, "too many responses run in the background; wait for some of them",
                                        "rate_limit_error", "", "overloaded"});
  }
  auto past = PastItems(services, *request, caller);
  if (!past) return Forward(past);
  auto model = FindModel(services, request->model, serving::Needs(serving::Feature::kChat, *request, request->stream));
  if (!model) return Forward(model);

  json::array items = std::move(*past);
  for (const json::value& item : request->input.items) items.push_back(item);
  if (!request->instructions.empty()) {
    request->chat.messages.push_back({{"role", "system"}, {"content", request->instructions}});
  }
  for (json::value& message : MessagesOfItems(items)) request->chat.messages.push_back(std::move(message));
  request->priority += caller.priority;
  request->request_id = caller.request_id;
  request->account = caller.client();
  request->account_limits = caller.account_limits;
  request->cache_salt = JoinedSalt(caller.cache_salt, request->prompt_cache_key);
  std::vector<std::string> custom_tools = CustomNames(request->chat.functions);
  auto built = serving::BuildChat(**model, std::move(request->chat), *request);
  if (!built) return tl::make_unexpected(FromResponsesGeneration(std::move(built.error())));

  ResponseJob out{.job = {.model = std::move(*model),
                          .requests = std::move(built->requests),
                          .stream = request->stream,
                          .prompt_param = "input"},
                  .id = UniqueId("resp_"),
                  .background = request->background,
                  .started = {}};
  ResponsesReply::OnEnd keep = Keeper(*services.objects, caller, *request, std::move(items));
  auto surface = std::make_unique<ResponsesReply>(ResponsesReply::Shape{.id = out.id,
                                                                        .model = out.job.model->id,
                                                                        .echo = std::move(request->echo),
                                                                        .logprobs = request->logprobs,
                                                                        .custom_tools = std::move(custom_tools)},
                                                  std::move(built->answers.front()), keep);
  out.started = surface->Started("in_progress");
  if (out.background) keep(out.started);
  out.job.surface = std::move(surface);
  return out;
}

}  // namespace

asio::awaitable<void> CreateResponse(Services& services, const Caller& caller, const net::Request& request,
                                     net::ResponseWriter& writer) {
  const Prepare<ResponseJob> prepare = [&](const Caller& who) { return PrepareResponse(services, request, who); };
  const Prepared<ResponseJob> prepared = co_await PrepareWithModel<ResponseJob>(services, caller, prepare, writer);
  if (!*prepared) {
    CountRequest(services.metrics, "responses", nullptr, "rejected");
    co_await writer.Send(ErrorResponse(prepared->error()));
    co_return;
  }
  ResponseJob& response = **prepared;
  BindToCaller(caller, response.job);
  const auto model = response.job.model;
  if (response.background) {
    CountRequest(services.metrics, "responses", model.get(), "background");
    BackgroundRuns::Events events;
    if (response.job.stream) {
      events.log = std::make_shared<EventLog>();
      events.keep = [&objects = *services.objects, owner = caller.account, id = response.id, log = events.log] {
        KeepEvents(objects, owner, id, *log);
      };
    }
    const std::shared_ptr<EventLog> log = events.log;
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    services.background->Start(response.id, std::move(response.job), executor, std::move(events));
    if (log) {
      co_await FollowEvents(log, 0, writer);
      co_return;
    }
    net::Response started(200, "application/json", json::serialize(response.started));
    co_await writer.Send(std::move(started));
    co_return;
  }
  const Outcome outcome = co_await Reply(std::move(response.job), writer);
  CountRequest(services.metrics, "responses", model.get(), outcome);
}

}  // namespace inferflux::server
