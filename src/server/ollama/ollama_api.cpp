#include "server/ollama/ollama_api.h"

#include "server/ollama/ollama_changes.h"
#include "server/ollama/ollama_embed.h"
#include "server/ollama/ollama_error.h"
#include "server/ollama/ollama_models.h"
#include "server/ollama/prepare_ollama.h"
#include "server/reply/generate.h"

namespace inferflux::server {
namespace {

boost::asio::awaitable<void> RunOllamaChat(Services& services, const Caller& caller, const net::Request& request,
                                           net::ResponseWriter& writer) {
  return Generate({"ollama_chat", PrepareOllamaChat, OllamaErrorResponse}, services, caller, request, writer);
}

boost::asio::awaitable<void> RunOllamaGenerate(Services& services, const Caller& caller, const net::Request& request,
                                               net::ResponseWriter& writer) {
  return Generate({"ollama_generate", PrepareOllamaGenerate, OllamaErrorResponse}, services, caller, request, writer);
}

constexpr Route kOllamaRoutes[] = {
    {"POST", "/api/chat", Access::kGenerate, &RunOllamaChat},
    {"POST", "/api/generate", Access::kGenerate, &RunOllamaGenerate},
    {"POST", "/api/embed", Access::kGenerate, &OllamaEmbed},
    {"POST", "/api/embeddings", Access::kGenerate, &OllamaEmbeddings},
    {"GET", "/api/tags", Access::kRead, &OllamaTags},
    {"GET", "/api/ps", Access::kRead, &OllamaRunning},
    {"POST", "/api/show", Access::kRead, &OllamaShow},
    {"GET", "/api/version", Access::kOpen, &OllamaVersion},
    {"POST", "/api/pull", Access::kRead, &RefuseTransfer},
    {"POST", "/api/push", Access::kRead, &RefuseTransfer},
    {"POST", "/api/create", Access::kAdmin, &CreateOllamaModel},
    {"POST", "/api/copy", Access::kAdmin, &CopyOllamaModel},
    {"DELETE", "/api/delete", Access::kAdmin, &DeleteOllamaModel},
};

}  // namespace

Api OllamaApi() { return {.routes = kOllamaRoutes, .refuse = OllamaErrorResponse, .prefix = "/api/"}; }

}  // namespace inferflux::server
