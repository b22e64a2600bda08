#include "server/openai/openai_api.h"

#include "server/openai/embeddings/embedding_endpoint.h"
#include "server/openai/model_endpoints.h"
#include "server/openai/next_tokens/next_tokens.h"
#include "server/openai/prepare.h"
#include "server/openai/sampling_endpoint.h"
#include "server/reply/generate.h"

namespace inferflux::server {
namespace {

boost::asio::awaitable<void> Chat(Services& services, const Caller& caller, const net::Request& request,
                                  net::ResponseWriter& writer) {
  return Generate({"chat", PrepareChat, ErrorResponse}, services, caller, request, writer);
}

boost::asio::awaitable<void> Complete(Services& services, const Caller& caller, const net::Request& request,
                                      net::ResponseWriter& writer) {
  return Generate({"completion", PrepareCompletion, ErrorResponse}, services, caller, request, writer);
}

boost::asio::awaitable<void> ScoreNext(Services& services, const Caller& caller, const net::Request& request,
                                       net::ResponseWriter& writer) {
  return Generate({"next_tokens", PrepareNextTokens, ErrorResponse}, services, caller, request, writer);
}

constexpr Route kOpenAiRoutes[] = {
    {"POST", "/v1/chat/completions", Access::kGenerate, &Chat},
    {"POST", "/v1/completions", Access::kGenerate, &Complete},
    {"POST", "/v1/embeddings", Access::kGenerate, &Embed},
    {"POST", "/v1/next_tokens", Access::kGenerate, &ScoreNext},
    {"GET", "/v1/models", Access::kRead, &ListModels},
    {"GET", "/v1/models/{id...}", Access::kRead, &DescribeModel},
    {"GET", "/v1/sampling_parameters", Access::kRead, &ListSamplingParameters},
    // The same without /v1, for clients whose base URL lacks it.
    {"POST", "/chat/completions", Access::kGenerate, &Chat},
    {"POST", "/completions", Access::kGenerate, &Complete},
    {"POST", "/embeddings", Access::kGenerate, &Embed},
    {"GET", "/models", Access::kRead, &ListModels},
    {"GET", "/models/{id...}", Access::kRead, &DescribeModel},
};

}  // namespace

Api OpenAiApi() { return {.routes = kOpenAiRoutes}; }

}  // namespace inferflux::server
