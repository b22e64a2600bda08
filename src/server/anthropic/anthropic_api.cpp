#include "server/anthropic/anthropic_api.h"

#include "server/anthropic/anthropic_error.h"
#include "server/anthropic/count_tokens.h"
#include "server/anthropic/prepare_messages.h"
#include "server/reply/generate.h"

namespace inferflux::server {
namespace {

boost::asio::awaitable<void> Messages(Services& services, const Caller& caller, const net::Request& request,
                                      net::ResponseWriter& writer) {
  return Generate({"messages", PrepareMessages, AnthropicErrorResponse}, services, caller, request, writer);
}

constexpr Route kAnthropicRoutes[] = {
    {"POST", "/v1/messages", Access::kGenerate, &Messages},
    {"POST", "/v1/messages/count_tokens", Access::kGenerate, &CountTokens},
};

}  // namespace

Api AnthropicApi() { return {.routes = kAnthropicRoutes, .refuse = AnthropicErrorResponse, .key_header = "x-api-key"}; }

}  // namespace inferflux::server
