#include "server/openai/rerank/rerank_endpoint.h"

#include <string>
#include <utility>
#include <vector>

#include "server/openai/rerank/rerank_format.h"
#include "server/openai/rerank/rerank_request.h"
#include "server/openai/rerank/score_job.h"
#include "server/openai/rerank/score_values.h"
#include "server/request/count_request.h"
#include "server/request/fields.h"
#include "server/request/first_use.h"
#include "server/request/json_body.h"

namespace inferflux::server {
namespace asio = boost::asio;
namespace {

constexpr int64_t kCohereDocumentTokens = 4096;

// The score of one label, of each text.
std::vector<double> ScoresOf(const EmbeddingAnswer& answer, model::ScoreFunction function, bool raw, size_t label) {
  std::vector<double> out;
  for (const auto& scores : answer.vectors) out.push_back(ReportedScores(scores, function, raw).at(label));
  return out;
}

ApiResult<ScoreJob> PrepareRerank(const Services& services, const net::Request& request, const Caller& caller,
                                  bool cohere) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  auto parsed = ParseRerankRequest(*body);
  if (!parsed) return Forward(parsed);
  auto model = FindScorer(services, parsed->options.model);
  if (!model) return Forward(model);
  const auto label = RelevanceOf(**model);
  if (!label) return Forward(label);
  CutSpec cut{.document = parsed->max_tokens_per_doc, .whole = parsed->options.truncate_prompt_tokens};
  if (cohere && !cut.document) cut.document = kCohereDocumentTokens;
  std::vector<TextPair> pairs;
  for (size_t i = 0; i < parsed->documents.size(); ++i) {
    pairs.push_back(
        {*parsed->query, parsed->documents[i], fmt::format("{}[{}]", parsed->texts ? "texts" : "documents", i)});
  }
  const model::ScoreFunction function = (*model)->engine.pooling.score_function;
  auto job = MakePairJob(std::move(*model), pairs, cut, caller);
  if (!job) return Forward(job);
  const RerankForm form = parsed->texts ? RerankForm::kList : cohere ? RerankForm::kCohere : RerankForm::kResults;
  std::vector<std::string> documents;
  if (parsed->return_documents.value_or(form == RerankForm::kResults)) documents = std::move(parsed->documents);
  ScoreJob out{.job = std::move(*job)};
  out.body = [form, label = *label, function, raw = parsed->options.raw, top = parsed->top_n, name = out.job.model->id,
              documents = std::move(documents)](const EmbeddingAnswer& answer) {
    const auto ranked = Rank(ScoresOf(answer, function, raw, label), top);
    return RerankJson(form, ranked, documents, name, answer.prompt_tokens);
  };
  return out;
}

ApiResult<ScoreJob> PrepareScore(const Services& services, const net::Request& request, const Caller& caller) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  auto parsed = ParseScoreRequest(*body);
  if (!parsed) return Forward(parsed);
  auto model = FindScorer(services, parsed->options.model);
  if (!model) return Forward(model);
  const auto label = RelevanceOf(**model);
  if (!label) return Forward(label);
  std::vector<TextPair> pairs;
  for (size_t i = 0; i < parsed->second.size(); ++i) {
    const std::string& first = parsed->first[parsed->first.size() == 1 ? 0 : i];
    pairs.push_back({first, parsed->second[i], EntryName(parsed->second_param, i, parsed->second.size())});
  }
  const model::ScoreFunction function = (*model)->engine.pooling.score_function;
  auto job = MakePairJob(std::move(*model), pairs, {.whole = parsed->options.truncate_prompt_tokens}, caller);
  if (!job) return Forward(job);
  ScoreJob out{.job = std::move(*job)};
  out.body = [label = *label, function, raw = parsed->options.raw,
              name = out.job.model->id](const EmbeddingAnswer& answer) {
    return ScoresJson(ScoresOf(answer, function, raw, label), name, answer.prompt_tokens);
  };
  return out;
}

ApiResult<ScoreJob> PrepareClassify(const Services& services, const net::Request& request, const Caller& caller) {
  auto body = ParseJsonBody(request.body);
  if (!body) return Forward(body);
  auto parsed = ParseClassifyRequest(*body);
  if (!parsed) return Forward(parsed);
  auto model = FindScorer(services, parsed->options.model);
  if (!model) return Forward(model);
  const model::PoolingConfig pooling = (*model)->engine.pooling;
  const CutSpec cut{.whole = parsed->options.truncate_prompt_tokens};
  auto job = MakeClassifyJob(std::move(*model), std::move(parsed->input), cut, "input", caller);
  if (!job) return Forward(job);
  ScoreJob out{.job = std::move(*job)};
  out.body = [pooling, raw = parsed->options.raw, name = out.job.model->id](const EmbeddingAnswer& answer) {
    std::vector<std::vector<double>> scores;
    for (const auto& one : answer.vectors) scores.push_back(ReportedScores(one, pooling.score_function, raw));
    return ClassesJson(scores, pooling.labels, name, answer.prompt_tokens);
  };
  return out;
}

asio::awaitable<void> AnswerScores(std::string endpoint, Prepare<ScoreJob> prepare, Services& services,
                                   const Caller& caller, net::ResponseWriter& writer) {
  const Prepared<ScoreJob> job = co_await PrepareWithModel<ScoreJob>(services, caller, prepare, writer);
  if (!*job) {
    CountRequest(services.metrics, endpoint, nullptr, "rejected");
    co_await writer.Send(ErrorResponse(job->error()));
    co_return;
  }
  EmbeddingJob& ready = (*job)->job;
  const EmbeddingAnswer answer = co_await RunEmbedding(ready, writer);
  if (answer.cancelled) {
    CountRequest(services.metrics, endpoint, ready.model.get(), "cancelled");
    co_return;
  }
  net::Response response =
      answer.error ? ErrorResponse(*answer.error) : net::Response(200, "application/json", (*job)->body(answer));
  CountRequest(services.metrics, endpoint, ready.model.get(), answer.error ? "error" : "stop");
  co_await writer.Send(std::move(response));
}

asio::awaitable<void> AnswerRerank(bool cohere, Services& services, const Caller& caller, const net::Request& request,
                                   net::ResponseWriter& writer) {
  Prepare<ScoreJob> prepare = [&services, &request, cohere](const Caller& who) {
    return PrepareRerank(services, request, who, cohere);
  };
  return AnswerScores("rerank", std::move(prepare), services, caller, writer);
}

}  // namespace

asio::awaitable<void> Rerank(Services& services, const Caller& caller, const net::Request& request,
                             net::ResponseWriter& writer) {
  return AnswerRerank(false, services, caller, request, writer);
}

asio::awaitable<void> RerankCohere(Services& services, const Caller& caller, const net::Request& request,
                                   net::ResponseWriter& writer) {
  return AnswerRerank(true, services, caller, request, writer);
}

asio::awaitable<void> ScorePairs(Services& services, const Caller& caller, const net::Request& request,
                                 net::ResponseWriter& writer) {
  Prepare<ScoreJob> prepare = [&services, &request](const Caller& who) { return PrepareScore(services, request, who); };
  return AnswerScores("score", std::move(prepare), services, caller, writer);
}

asio::awaitable<void> Classify(Services& services, const Caller& caller, const net::Request& request,
                               net::ResponseWriter& writer) {
  Prepare<ScoreJob> prepare = [&services, &request](const Caller& who) {
    return PrepareClassify(services, request, who);
  };
  return AnswerScores("classify", std::move(prepare), services, caller, writer);
}

}  // namespace inferflux::server
