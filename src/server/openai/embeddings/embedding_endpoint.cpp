#include "server/openai/embeddings/embedding_endpoint.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/openai/embeddings/embedding_format.h"
#include "server/openai/embeddings/embedding_request.h"
#include "server/request/count_request.h"
#include "serving/generation/generation_group.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace {

// The inputs of one request that the scheduler holds at once: enough to fill its steps, but few enough that a long list
// does not fill its queue.
constexpr size_t kWave = 64;

struct EmbeddingAnswer {
  std::vector<std::string> vectors;  // JSON
  int64_t prompt_tokens = 0;
  std::optional<ApiError> error;
  bool cancelled = false;
};

// The result goes through a unique_ptr because a coroutine's result must be default-constructible here.
using PreparedEmbedding = std::unique_ptr<ApiResult<EmbeddingJob>>;

asio::awaitable<PreparedEmbedding> RunPrepare(const Services& services, const net::Request& request,
                                              const Caller& caller) {
  co_return std::make_unique<ApiResult<EmbeddingJob>>(PrepareEmbedding(services, request, caller));
}

void Take(const EmbeddingJob& job, scheduler::StreamEvent event, size_t index, EmbeddingAnswer& answer) {
  if (!event.finish) return;
  answer.prompt_tokens += event.finish->usage.prompt_tokens;
  if (event.finish->reason != scheduler::FinishReason::kStop) {
    if (answer.error) return;
    const bool failed = event.finish->reason == scheduler::FinishReason::kError;
    answer.error = failed ? FromError(event.finish->error, "") : FromStatus(503, "the request was cancelled");
    return;
  }
  const auto vector = Shorten(std::move(event.embedding), job.dimensions, job.model->info.embedding.normalised);
  answer.vectors[index] = job.base64 ? Base64Json(vector) : FloatsJson(vector);
}

asio::awaitable<void> RunWave(EmbeddingJob& job, size_t first, net::ResponseWriter& writer, EmbeddingAnswer& answer) {
  const size_t last = std::min(first + kWave, job.requests.size());
  std::vector<scheduler::GenerationRequest> wave(std::make_move_iterator(job.requests.begin() + first),
                                                 std::make_move_iterator(job.requests.begin() + last));
  auto group = serving::GenerationGroup::Submit(*job.model->scheduler, std::move(wave),
                                                [notifier = writer.notifier()] { notifier->Notify(); });
  if (!group) {
    answer.error = FromError(group.error(), "input");
    co_return;
  }
  const auto take = [&](size_t index, scheduler::StreamEvent event) {
    Take(job, std::move(event), first + index, answer);
  };
  while (!group->finished() && !answer.error) {
    if (writer.Gone()) {
      answer.cancelled = true;
      co_return;
    }
    if (!group->Drain(take)) co_await writer.notifier()->Wait();
  }
}

}  // namespace

asio::awaitable<void> Embed(Services& services, const Caller& caller, const net::Request& request,
                            net::ResponseWriter& writer) {
  const PreparedEmbedding job =
      co_await asio::co_spawn(services.preparation, RunPrepare(services, request, caller), asio::use_awaitable);
  if (!*job) {
    CountRequest(services.metrics, "embeddings", nullptr, "rejected");
    co_await writer.Send(ErrorResponse(job->error()));
    co_return;
  }
  EmbeddingJob& ready = **job;
  EmbeddingAnswer answer;
  answer.vectors.resize(ready.requests.size());
  for (size_t first = 0; first < ready.requests.size() && !answer.error && !answer.cancelled; first += kWave) {
    co_await RunWave(ready, first, writer, answer);
  }
  if (answer.cancelled) {
    CountRequest(services.metrics, "embeddings", ready.model.get(), "cancelled");
    co_return;
  }
  net::Response response;
  if (answer.error) {
    response = ErrorResponse(*answer.error);
  } else {
    const std::string body = EmbeddingsJson(answer.vectors, ready.model->id, answer.prompt_tokens);
    response = net::Response(200, "application/json", body);
  }
  CountRequest(services.metrics, "embeddings", ready.model.get(), answer.error ? "error" : "stop");
  co_await writer.Send(std::move(response));
}

}  // namespace inferflux::server
