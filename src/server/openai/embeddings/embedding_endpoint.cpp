#include "server/openai/embeddings/embedding_endpoint.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/openai/embeddings/embedding_format.h"
#include "server/openai/embeddings/embedding_request.h"
#include "server/request/count_request.h"
#include "server/request/first_use.h"

namespace inferflux::server {
namespace asio = boost::asio;
asio::awaitable<void> Embed(Services& services, const Caller& caller, const net::Request& request,
                            net::ResponseWriter& writer) {
  const Prepare<PreparedInputs> prepare = [&](const Caller& who) { return PrepareEmbedding(services, request, who); };
  const Prepared<PreparedInputs> job = co_await PrepareWithModel<PreparedInputs>(services, caller, prepare, writer);
  if (!*job) {
    CountRequest(services.metrics, "embeddings", nullptr, "rejected");
    co_await writer.Send(ErrorResponse(job->error()));
    co_return;
  }
  EmbeddingJob& ready = (*job)->job;
  const EmbeddingAnswer answer = co_await RunEmbedding(ready, writer);
  if (answer.cancelled) {
    CountRequest(services.metrics, "embeddings", ready.model.get(), "cancelled");
    co_return;
  }
  net::Response response;
  if (answer.error) {
    response = ErrorResponse(*answer.error);
  } else {
    std::vector<std::string> vectors;
    for (const auto& vector : answer.vectors) {
      vectors.push_back((*job)->base64 ? Base64Json(vector) : FloatsJson(vector));
    }
    const std::string body = EmbeddingsJson(vectors, ready.model->id, answer.prompt_tokens);
    response = net::Response(200, "application/json", body);
  }
  CountRequest(services.metrics, "embeddings", ready.model.get(), answer.error ? "error" : "stop");
  co_await writer.Send(std::move(response));
}

}  // namespace inferflux::server
