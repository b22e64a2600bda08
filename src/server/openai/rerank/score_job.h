// Scores texts, or pairs of texts, of one request with a model's classification head.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/reply/embedding_run.h"
#include "server/request/access/api_keys.h"
#include "server/request/api_error.h"
#include "server/request/services.h"
#include "serving/models/served_model.h"

namespace inferflux::server {

struct TextPair {
  std::string query;
  std::string document;
  std::string param;  // the document's name in errors: "documents[3]"
};

// How texts that are too long are cut; otherwise they are errors.
struct CutSpec {
  std::optional<int64_t> document;  // most tokens of a document
  std::optional<int64_t> whole;     // most tokens of a prompt; -1: the model's context
};

// A request that is ready to run, and what makes the body of its reply.
struct ScoreJob {
  EmbeddingJob job;
  std::function<std::string(const EmbeddingAnswer& answer)> body;
};

// Finds a model that scores. 422 if it has no head for that.
ApiResult<std::shared_ptr<const serving::ServedModel>> FindScorer(const Services& services, const std::string& id);

// 422 if the model's labels are classes, of which none says how well two texts fit; otherwise that label.
ApiResult<size_t> RelevanceOf(const serving::ServedModel& model);

// One request of the scheduler for each pair. 400 for a pair that is longer than the context.
ApiResult<EmbeddingJob> MakePairJob(std::shared_ptr<const serving::ServedModel> model,
                                    const std::vector<TextPair>& pairs, const CutSpec& cut, const Caller& caller);

// The same for single texts, whose field is `param`.
ApiResult<EmbeddingJob> MakeClassifyJob(std::shared_ptr<const serving::ServedModel> model,
                                        std::vector<serving::RawPrompt> texts, const CutSpec& cut,
                                        const std::string& param, const Caller& caller);

}  // namespace inferflux::server
