#include "server/anthropic/prepare_messages.h"

#include <utility>

#include "server/anthropic/messages_reply.h"
#include "server/anthropic/messages_request.h"
#include "server/request/find_model.h"
#include "server/request/json_body.h"
#include "serving/generation/build_generation.h"

namespace inferflux::server {

ApiStatus CheckVersion(const net::Request& request) {
  const std::string_view version = net::FindHeader(request.headers, "anthropic-version");
  if (version.empty() || version == "2023-06-01" || version == "2026-10-21") return {};
  return RefuseAs("invalid_value", "anthropic-version",
                  fmt::format("anthropic-version: \"{}\" is not supported; use 2026-10-21 or 2023-06-01", version));
}

ApiResult<Job> PrepareMessages(const Services& services, const net::Request& request, const Caller& caller) {
  if (ApiStatus version = CheckVersion(request); !version) return Forward(version);
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  auto messages = ParseMessagesRequest(*body);
  if (!messages) return Forward(messages);
  auto model =
      FindModel(services, messages->model, serving::Needs(serving::Feature::kChat, *messages, messages->stream));
  if (!model) return Forward(model);

  messages->request_id = caller.request_id;
  messages->account = caller.client();
  messages->account_limits = caller.account_limits;
  messages->cache_salt = caller.cache_salt;
  auto built = serving::BuildChat(**model, std::move(messages->chat), *messages);
  if (!built) return tl::make_unexpected(FromMessagesGeneration(std::move(built.error())));
  Job out{.model = std::move(*model),
          .requests = std::move(built->requests),
          .stream = messages->stream,
          .prompt_param = "messages"};
  const auto prompt_tokens = static_cast<int32_t>(out.requests.front().prompt.size());
  out.surface = std::make_unique<MessagesReply>(out.model->id, prompt_tokens, std::move(built->answers.front()));
  return out;
}

}  // namespace inferflux::server
