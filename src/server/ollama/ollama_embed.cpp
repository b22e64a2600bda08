#include "server/ollama/ollama_embed.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <limits>
#include <memory>
#include <utility>

#include "server/ollama/ollama_error.h"
#include "server/ollama/ollama_fields.h"
#include "server/ollama/prepare_ollama.h"
#include "server/reply/embedding_run.h"
#include "server/request/count_request.h"
#include "server/request/first_use.h"
#include "server/request/json_body.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace json = boost::json;
namespace {

constexpr size_t kMostOllamaTexts = 2048;
constexpr size_t kAnyOllamaText = std::numeric_limits<size_t>::max();  // only the body's size limit applies

struct OllamaEmbedRequest {
  std::string model;
  bool truncate = true;
  std::optional<double> keep_alive;  // seconds; negative: for ever
  EmbeddingTexts inputs;
};

// A text, or a list of texts. An empty text has no vector.
ApiStatus TakeOllamaInput(const json::value& value, std::string_view param, OllamaEmbedRequest& out) {
  const json::array one{value};
  const json::array* list = &one;
  if (!value.is_string()) {
    const auto given = ReadArray(value, param, kMostOllamaTexts);
    if (!given) return Forward(given);
    list = *given;
  }
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string name = EntryName(param, i, list->size());
    ApiResult<std::string> text = ReadText((*list)[i], name, kAnyOllamaText);
    if (!text) return Forward(text);
    if (text->empty()) return Refuse(name, "must not be empty");
    out.inputs.texts.push_back(std::move(*text));
  }
  out.inputs.param = param;
  return {};
}

ApiStatus TakeOllamaDimensions(const json::value& value, std::string_view param, OllamaEmbedRequest& out) {
  return ReadInteger(value, param, 1, 1 << 24).map([&](int64_t count) { out.inputs.dimensions = count; });
}

ApiStatus TakeEmbedKeepAlive(const json::value& value, std::string_view param, OllamaEmbedRequest& out) {
  return ReadDuration(value, param).map([&](double seconds) { out.keep_alive = seconds; });
}

constexpr IgnoredField kNothingSampled = {IgnoredField::Type::kObject, "an embedding samples nothing"};
constexpr Field<OllamaEmbedRequest> kOllamaEmbedFields[] = {
    {"model", TextField<OllamaEmbedRequest>{&OllamaEmbedRequest::model, 256}},
    {"input", CustomField<OllamaEmbedRequest>{TakeOllamaInput}},
    {"truncate", BooleanField<OllamaEmbedRequest>{&OllamaEmbedRequest::truncate}},
    {"dimensions", CustomField<OllamaEmbedRequest>{TakeOllamaDimensions}},
    {"options", kNothingSampled},
    {"keep_alive", CustomField<OllamaEmbedRequest>{TakeEmbedKeepAlive}},
};
constexpr Field<OllamaEmbedRequest> kOllamaEmbeddingsFields[] = {
    {"model", TextField<OllamaEmbedRequest>{&OllamaEmbedRequest::model, 256}},
    {"prompt", CustomField<OllamaEmbedRequest>{TakeOllamaInput}},
    {"options", kNothingSampled},
    {"keep_alive", CustomField<OllamaEmbedRequest>{TakeEmbedKeepAlive}},
};

struct OllamaEmbedJob {
  EmbeddingJob job;
  std::string model;  // as the request named it
};

ApiResult<OllamaEmbedJob> PrepareOllamaEmbed(std::span<const Field<OllamaEmbedRequest>> fields, std::string_view input,
                                             const Services& services, const net::Request& request,
                                             const Caller& caller) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  OllamaEmbedRequest parsed;
  if (ApiStatus taken = ParseObject<OllamaEmbedRequest>(fields, "", *body, parsed); !taken) return Forward(taken);
  if (parsed.model.empty()) return RefuseAs("missing_required_parameter", "model", "'model' is missing");
  if (parsed.inputs.param.empty()) {
    return RefuseAs("missing_required_parameter", input, fmt::format("'{}' is missing", input));
  }
  parsed.inputs.truncate = parsed.truncate;
  constexpr serving::Feature kNeeds[] = {serving::Feature::kEmbeddings};
  auto model = FindOllamaModel(services, parsed.model, kNeeds);
  if (!model) return Forward(model);
  KeepOllamaModel(services, caller, **model, parsed.keep_alive);
  auto job = MakeEmbeddingJob(std::move(*model), std::move(parsed.inputs), caller);
  if (!job) return Forward(job);
  return OllamaEmbedJob{std::move(*job), std::move(parsed.model)};
}

std::string OllamaEmbedBody(const EmbeddingAnswer& answer, const std::string& model, bool single,
                            std::chrono::steady_clock::duration took) {
  if (single) return fmt::format(R"({{"embedding":{}}})", FloatsJson(answer.vectors.front()));
  std::string vectors;
  for (const auto& vector : answer.vectors) {
    if (!vectors.empty()) vectors += ',';
    vectors += FloatsJson(vector);
  }
  return fmt::format(R"({{"model":{},"embeddings":[{}],"total_duration":{},"load_duration":0,"prompt_eval_count":{}}})",
                     json::serialize(json::string(model)), vectors,
                     std::chrono::duration_cast<std::chrono::nanoseconds>(took).count(), answer.prompt_tokens);
}

asio::awaitable<void> RunOllamaEmbed(bool single, Services& services, const Caller& caller, const net::Request& request,
                                     net::ResponseWriter& writer) {
  const auto began = std::chrono::steady_clock::now();
  const Prepare<OllamaEmbedJob> prepare = [&](const Caller& who) {
    return single ? PrepareOllamaEmbed(kOllamaEmbeddingsFields, "prompt", services, request, who)
                  : PrepareOllamaEmbed(kOllamaEmbedFields, "input", services, request, who);
  };
  const Prepared<OllamaEmbedJob> prepared =
      co_await PrepareWithModel<OllamaEmbedJob>(services, caller, prepare, writer);
  if (!*prepared) {
    CountRequest(services.metrics, "ollama_embed", nullptr, "rejected");
    co_await writer.Send(OllamaErrorResponse(prepared->error()));
    co_return;
  }
  EmbeddingJob& job = (*prepared)->job;
  const EmbeddingAnswer answer = co_await RunEmbedding(job, writer);
  const char* outcome = answer.cancelled ? "cancelled" : answer.error ? "error" : "stop";
  CountRequest(services.metrics, "ollama_embed", job.model.get(), outcome);
  if (answer.cancelled) co_return;
  net::Response response;
  if (answer.error) {
    response = OllamaErrorResponse(*answer.error);
  } else {
    const auto took = std::chrono::steady_clock::now() - began;
    response = net::Response(200, "application/json", OllamaEmbedBody(answer, (*prepared)->model, single, took));
  }
  co_await writer.Send(std::move(response));
}

}  // namespace

asio::awaitable<void> OllamaEmbed(Services& services, const Caller& caller, const net::Request& request,
                                  net::ResponseWriter& writer) {
  return RunOllamaEmbed(false, services, caller, request, writer);
}

asio::awaitable<void> OllamaEmbeddings(Services& services, const Caller& caller, const net::Request& request,
                                       net::ResponseWriter& writer) {
  return RunOllamaEmbed(true, services, caller, request, writer);
}

std::vector<FieldRow> OllamaEmbedFieldRows() {
  std::vector<FieldRow> out;
  AppendRows<OllamaEmbedRequest>(kOllamaEmbedFields, out);
  return out;
}

}  // namespace inferflux::server
