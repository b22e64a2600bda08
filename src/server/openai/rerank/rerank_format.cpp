#include "server/openai/rerank/rerank_format.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <chrono>
#include <utility>

#include "server/request/unique_id.h"

namespace inferflux::server {
namespace json = boost::json;
namespace {

json::object UsageOf(int64_t prompt_tokens) {
  return {{"prompt_tokens", prompt_tokens}, {"total_tokens", prompt_tokens}};
}

int64_t Now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::vector<RankedDocument> Rank(std::span<const double> scores, std::optional<int64_t> top) {
  std::vector<RankedDocument> out;
  for (size_t i = 0; i < scores.size(); ++i) out.push_back({.index = i, .score = scores[i]});
  std::ranges::stable_sort(out, [](const auto& a, const auto& b) { return a.score > b.score; });
  if (top) out.resize(std::min(out.size(), static_cast<size_t>(*top)));
  return out;
}

std::string RerankJson(RerankForm form, std::span<const RankedDocument> ranked, std::span<const std::string> documents,
                       std::string_view model, int64_t prompt_tokens) {
  json::array results;
  for (const RankedDocument& one : ranked) {
    json::object entry{{"index", one.index}, {form == RerankForm::kList ? "score" : "relevance_score", one.score}};
    if (!documents.empty()) {
      if (form == RerankForm::kList) {
        entry["text"] = documents[one.index];
      } else {
        entry["document"] = {{"text", documents[one.index]}};
      }
    }
    results.push_back(std::move(entry));
  }
  if (form == RerankForm::kList) return json::serialize(results);
  json::object out{{"id", UniqueId("rerank-")}, {"object", "list"}, {"model", json::string(model)}};
  out["results"] = std::move(results);
  out["usage"] = UsageOf(prompt_tokens);
  if (form == RerankForm::kCohere) {
    out["meta"] = {{"api_version", {{"version", "2"}}}, {"billed_units", {{"search_units", 1}}}};
  }
  return json::serialize(out);
}

std::string ScoresJson(std::span<const double> scores, std::string_view model, int64_t prompt_tokens) {
  json::array data;
  for (size_t i = 0; i < scores.size(); ++i) {
    data.push_back({{"index", i}, {"object", "score"}, {"score", scores[i]}});
  }
  json::object out{{"id", UniqueId("score-")}, {"object", "list"}, {"created", Now()}, {"model", json::string(model)}};
  out["data"] = std::move(data);
  out["usage"] = UsageOf(prompt_tokens);
  return json::serialize(out);
}

std::string ClassesJson(std::span<const std::vector<double>> scores, std::span<const std::string> labels,
                        std::string_view model, int64_t prompt_tokens) {
  json::array data;
  for (size_t i = 0; i < scores.size(); ++i) {
    const auto best = static_cast<size_t>(std::ranges::max_element(scores[i]) - scores[i].begin());
    data.push_back({{"index", i},
                    {"label", labels[best]},
                    {"probs", json::array(scores[i].begin(), scores[i].end())},
                    {"num_classes", labels.size()}});
  }
  json::object out{
      {"id", UniqueId("classify-")}, {"object", "list"}, {"created", Now()}, {"model", json::string(model)}};
  out["data"] = std::move(data);
  out["usage"] = UsageOf(prompt_tokens);
  return json::serialize(out);
}

}  // namespace inferflux::server
