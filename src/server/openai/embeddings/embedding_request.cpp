#include "server/openai/embeddings/embedding_request.h"

#include <utility>

#include "server/request/fields.h"
#include "server/request/find_model.h"
#include "server/request/json_body.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

ApiStatus TakeInput(const json::value& value, std::string_view param, EmbeddingRequest& out) {
  auto inputs = ReadRawPrompts(value, param, kMaxInputs);
  if (!inputs) return Forward(inputs);
  for (size_t i = 0; i < inputs->size(); ++i) {
    if (std::visit([](const auto& input) { return input.empty(); }, (*inputs)[i])) {
      return Refuse(EntryName(param, i, inputs->size()), "must not be empty");
    }
  }
  out.inputs = std::move(*inputs);
  return {};
}

ApiStatus TakeEncoding(const json::value& value, std::string_view param, EmbeddingRequest& out) {
  const auto format = ReadText(value, param, 16);
  if (!format) return Forward(format);
  if (*format != "float" && *format != "base64") return Refuse(param, "must be 'float' or 'base64'");
  out.base64 = *format == "base64";
  return {};
}

constexpr Field<EmbeddingRequest> kEmbeddingFields[] = {
    {"model", TextField<EmbeddingRequest>{&EmbeddingRequest::model, 256}},
    {"input", CustomField<EmbeddingRequest>{TakeInput}},
    {"encoding_format", CustomField<EmbeddingRequest>{TakeEncoding}},
    {"dimensions", IntegerField<EmbeddingRequest>{&EmbeddingRequest::dimensions, 1, 1 << 24}},
    {"user", TextField<EmbeddingRequest>{&EmbeddingRequest::user, 512}},
};

}  // namespace

ApiResult<EmbeddingRequest> ParseEmbeddingRequest(const json::object& body) {
  EmbeddingRequest out;
  if (ApiStatus taken = ParseObject<EmbeddingRequest>(kEmbeddingFields, "", body, out); !taken) return Forward(taken);
  if (out.inputs.empty()) return RefuseAs("missing_required_parameter", "input", "'input' is missing");
  return out;
}

ApiResult<PreparedInputs> PrepareEmbedding(const Services& services, const net::Request& request,
                                           const Caller& caller) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  auto parsed = ParseEmbeddingRequest(*body);
  if (!parsed) return Forward(parsed);
  constexpr serving::Feature kNeeds[] = {serving::Feature::kEmbeddings};
  auto model = FindModel(services, parsed->model, kNeeds);
  if (!model) return Forward(model);
  EmbeddingTexts texts{.texts = std::move(parsed->inputs), .dimensions = parsed->dimensions, .param = "input"};
  auto job = MakeEmbeddingJob(std::move(*model), std::move(texts), caller);
  if (!job) return Forward(job);
  return PreparedInputs{.job = std::move(*job), .base64 = parsed->base64};
}

std::vector<FieldRow> EmbeddingFieldRows() {
  std::vector<FieldRow> out;
  AppendRows<EmbeddingRequest>(kEmbeddingFields, out);
  return out;
}

}  // namespace inferflux::server
