#include "server/openai/llama_server/llama_server_api.h"

#include "server/openai/llama_server/infill.h"
#include "server/openai/llama_server/server_state.h"
#include "server/openai/llama_server/tokenize_endpoints.h"
#include "server/openai/rerank/rerank_endpoint.h"
#include "server/reply/generate.h"

namespace inferflux::server {
namespace {

boost::asio::awaitable<void> Infill(Services& services, const Caller& caller, const net::Request& request,
                                    net::ResponseWriter& writer) {
  return Generate({"infill", PrepareInfill, ErrorResponse}, services, caller, request, writer);
}

net::Response RefuseAudio(Services&, const net::Request&) {
  return ErrorResponse({404, "this server has no models of speech; it serves text only", "invalid_request_error", "",
                        "unsupported_endpoint"});
}

net::Response RefuseImages(Services&, const net::Request&) {
  return ErrorResponse({404, "this server has no models that make images; it serves text only", "invalid_request_error",
                        "", "unsupported_endpoint"});
}

constexpr Route kLlamaServerRoutes[] = {
    {"GET", "/health", Access::kOpen, &LlamaHealth},
    {"GET", "/props", Access::kRead, &LlamaProps},
    {"GET", "/slots", Access::kRead, &LlamaSlots},
    {"POST", "/tokenize", Access::kRead, &Tokenize},
    {"POST", "/detokenize", Access::kRead, &Detokenize},
    {"GET", "/tokenizer_info", Access::kRead, &TokenizerInfo},
    {"POST", "/apply-template", Access::kRead, &ApplyTemplate},
    {"POST", "/infill", Access::kGenerate, &Infill},
    {"POST", "/rerank", Access::kGenerate, &Rerank},
    {"POST", "/reranking", Access::kGenerate, &Rerank},
    {"POST", "/v1/rerank", Access::kGenerate, &Rerank},
    {"POST", "/v1/reranking", Access::kGenerate, &Rerank},
    {"POST", "/v2/rerank", Access::kGenerate, &RerankCohere},
    {"POST", "/score", Access::kGenerate, &ScorePairs},
    {"POST", "/v1/score", Access::kGenerate, &ScorePairs},
    {"POST", "/classify", Access::kGenerate, &Classify},
    {"POST", "/v1/classify", Access::kGenerate, &Classify},
    {"POST", "/v1/audio/{rest...}", Access::kRead, &RefuseAudio},
    {"POST", "/v1/images/{rest...}", Access::kRead, &RefuseImages},
};

}  // namespace

Api LlamaServerApi() { return {.routes = kLlamaServerRoutes}; }

}  // namespace inferflux::server
