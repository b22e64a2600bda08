#include "server/anthropic/count_tokens.h"

#include <utility>

#include "server/anthropic/anthropic_error.h"
#include "server/anthropic/messages_request.h"
#include "server/anthropic/prepare_messages.h"
#include "server/request/find_model.h"
#include "server/request/first_use.h"
#include "server/request/json_body.h"
#include "serving/generation/chat_prompt.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace {

ApiResult<size_t> Count(const Services& services, const net::Request& request) {
  if (ApiStatus version = CheckVersion(request); !version) return Forward(version);
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  auto messages = ParseCountRequest(*body);
  if (!messages) return Forward(messages);
  constexpr serving::Feature kNeeds[] = {serving::Feature::kChat};
  const auto model = FindModel(services, messages->model, kNeeds);
  if (!model) return Forward(model);
  auto prompt = serving::ChatPrompt(**model, std::move(messages->chat));
  if (!prompt) return tl::make_unexpected(FromMessagesGeneration(std::move(prompt.error())));
  return prompt->size();
}

}  // namespace

asio::awaitable<void> CountTokens(Services& services, const Caller& caller, const net::Request& request,
                                  net::ResponseWriter& writer) {
  const Prepare<size_t> prepare = [&](const Caller&) { return Count(services, request); };
  const Prepared<size_t> count = co_await PrepareWithModel<size_t>(services, caller, prepare, writer);
  net::Response response =
      *count ? net::Response(200, "application/json", fmt::format(R"({{"input_tokens":{}}})", **count))
             : AnthropicErrorResponse(count->error());
  co_await writer.Send(std::move(response));
}

}  // namespace inferflux::server
