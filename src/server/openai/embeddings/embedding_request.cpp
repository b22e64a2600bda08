#include "server/openai/embeddings/embedding_request.h"

#include <fmt/ranges.h>

#include <algorithm>
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

ApiResult<size_t> Dimensions(const serving::ServedModel& model, std::optional<int64_t> asked) {
  const serving::EmbeddingInfo& made = model.info.embedding;
  if (!asked || *asked == made.dimensions) return static_cast<size_t>(made.dimensions);
  if (std::ranges::find(made.shorter, *asked) != made.shorter.end()) return static_cast<size_t>(*asked);
  if (made.shorter.empty()) {
    return Refuse("dimensions", "must be {} or left out: the model '{}' was not trained for shorter vectors",
                  made.dimensions, model.id);
  }
  return Refuse("dimensions", "must be {} or one of {} for the model '{}', but is {}", made.dimensions,
                fmt::join(made.shorter, ", "), model.id, *asked);
}

}  // namespace

ApiResult<EmbeddingRequest> ParseEmbeddingRequest(const json::object& body) {
  EmbeddingRequest out;
  if (ApiStatus taken = ParseObject<EmbeddingRequest>(kEmbeddingFields, "", body, out); !taken) return Forward(taken);
  if (out.inputs.empty()) return RefuseAs("missing_required_parameter", "input", "'input' is missing");
  return out;
}

ApiResult<EmbeddingJob> PrepareEmbedding(const Services& services, const net::Request& request, const Caller& caller) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  auto parsed = ParseEmbeddingRequest(*body);
  if (!parsed) return Forward(parsed);
  constexpr serving::Feature kNeeds[] = {serving::Feature::kEmbeddings};
  auto model = FindModel(services, parsed->model, kNeeds);
  if (!model) return Forward(model);
  auto dimensions = Dimensions(**model, parsed->dimensions);
  if (!dimensions) return Forward(dimensions);

  EmbeddingJob out{.model = std::move(*model), .dimensions = *dimensions, .base64 = parsed->base64};
  for (size_t i = 0; i < parsed->inputs.size(); ++i) {
    const std::string name = EntryName("input", i, parsed->inputs.size());
    auto prompt = serving::RawPromptTokens(*out.model, parsed->inputs[i]);
    if (!prompt) return tl::make_unexpected(FromGeneration(std::move(prompt.error()), name));
    if (prompt->size() > static_cast<size_t>(out.model->info.context)) {
      return RefuseAs("context_length_exceeded", name,
                      fmt::format("'{}' has {} tokens, and the model '{}' takes at most {}; shorten it", name,
                                  prompt->size(), out.model->id, out.model->info.context));
    }
    out.requests.push_back({.prompt = std::move(*prompt), .embed = true});
    out.requests.back().account = caller.account;
    out.requests.back().cache_salt = caller.cache_salt;
  }
  return out;
}

}  // namespace inferflux::server
