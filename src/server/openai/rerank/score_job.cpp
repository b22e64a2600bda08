#include "server/openai/rerank/score_job.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "server/openai/rerank/score_values.h"
#include "server/request/fields.h"
#include "server/request/find_model.h"
#include "server/request/trace/request_trace.h"
#include "serving/generation/pair_prompt.h"

namespace inferflux::server {
namespace {

scheduler::GenerationRequest MakeScoreRequest(std::vector<TokenId> prompt, int32_t second_text, const Caller& caller) {
  scheduler::GenerationRequest out{.prompt = std::move(prompt), .score = true, .second_text = second_text};
  out.request_id = caller.request_id;
  out.account = caller.client();
  out.account_limits = caller.account_limits;
  out.cache_salt = caller.cache_salt;
  out.deadline = caller.deadline;
  if (caller.trace) out.trace_parent = caller.trace->trace_parent();
  return out;
}

size_t LongestPrompt(const serving::ServedModel& model, const CutSpec& cut) {
  const auto context = static_cast<size_t>(model.info.context);
  if (!cut.whole || *cut.whole < 0) return context;
  return std::min(context, static_cast<size_t>(*cut.whole));
}

ApiStatus CheckContext(const serving::ServedModel& model, const std::string& param, size_t tokens) {
  const auto context = static_cast<size_t>(model.info.context);
  if (tokens <= context) return {};
  return RefuseAs(
      "context_length_exceeded", param,
      fmt::format("'{}' and what belongs to it have {} tokens, and the model '{}' takes at most {}; shorten "
                  "it, or have it cut with \"truncate_prompt_tokens\": -1",
                  param, tokens, model.id, context));
}

EmbeddingJob EmptyJob(std::shared_ptr<const serving::ServedModel> model, std::string param) {
  EmbeddingJob out{.model = std::move(model), .requests = {}, .param = std::move(param)};
  out.dimensions = out.model->engine.pooling.labels.size();
  return out;
}

}  // namespace

ApiResult<std::shared_ptr<const serving::ServedModel>> FindScorer(const Services& services, const std::string& id) {
  constexpr serving::Feature kNeeds[] = {serving::Feature::kScores};
  return FindModel(services, id, kNeeds);
}

ApiResult<size_t> RelevanceOf(const serving::ServedModel& model) {
  const auto& labels = model.engine.pooling.labels;
  if (const auto label = RelevanceLabel(labels)) return *label;
  ApiError error{.status = 422, .param = "model", .code = "missing_capability"};
  error.message = fmt::format(
      "the model '{}' sorts texts into {} classes ({}), none of which says how well two texts fit; use /classify, or "
      "rerank with a model of one label",
      model.id, labels.size(), fmt::join(labels.begin(), labels.begin() + std::min<size_t>(labels.size(), 8), ", "));
  return tl::make_unexpected(std::move(error));
}

ApiResult<EmbeddingJob> MakePairJob(std::shared_ptr<const serving::ServedModel> model,
                                    const std::vector<TextPair>& pairs, const CutSpec& cut, const Caller& caller) {
  EmbeddingJob out = EmptyJob(std::move(model), "documents");
  serving::PairLimits limits;
  if (cut.document) limits.document = static_cast<size_t>(*cut.document);
  if (cut.document || cut.whole) limits.whole = LongestPrompt(*out.model, cut);
  for (const TextPair& pair : pairs) {
    auto prompt = serving::MakePairPrompt(*out.model, pair.query, pair.document, limits);
    if (!prompt) return tl::make_unexpected(FromGeneration(std::move(prompt.error()), pair.param));
    if (auto fits = CheckContext(*out.model, pair.param, prompt->tokens.size()); !fits) return Forward(fits);
    out.requests.push_back(MakeScoreRequest(std::move(prompt->tokens), prompt->second_text, caller));
  }
  return out;
}

ApiResult<EmbeddingJob> MakeClassifyJob(std::shared_ptr<const serving::ServedModel> model,
                                        std::vector<serving::RawPrompt> texts, const CutSpec& cut,
                                        const std::string& param, const Caller& caller) {
  EmbeddingJob out = EmptyJob(std::move(model), param);
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string name = EntryName(param, i, texts.size());
    auto prompt = serving::RawPromptTokens(*out.model, texts[i]);
    if (!prompt) return tl::make_unexpected(FromGeneration(std::move(prompt.error()), name));
    const size_t most = LongestPrompt(*out.model, cut);
    if (cut.whole && prompt->size() > most) {
      const TokenId last = prompt->back();  // often a special token that ends the text
      prompt->resize(std::max<size_t>(1, most));
      if (out.model->tokenizer->IsControl(last)) prompt->back() = last;
    }
    if (auto fits = CheckContext(*out.model, name, prompt->size()); !fits) return Forward(fits);
    out.requests.push_back(MakeScoreRequest(std::move(*prompt), 0, caller));
  }
  return out;
}

}  // namespace inferflux::server
