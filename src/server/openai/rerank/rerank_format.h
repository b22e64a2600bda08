// The replies of the rerank endpoints, /score and /classify.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inferflux::server {

struct RankedDocument {
  size_t index = 0;  // in the request
  double score = 0;
};

// Best first; of equal scores the earlier document. At most `top` of them, if it is given.
std::vector<RankedDocument> Rank(std::span<const double> scores, std::optional<int64_t> top);

enum class RerankForm {
  kResults,  // vLLM's, Jina's and llama-server's
  kCohere,   // the same with `meta`, version 2
  kList,     // Text Embeddings Inference's: a bare list
};

// `documents`: the request's, to be repeated in the reply; empty: they are not.
std::string RerankJson(RerankForm form, std::span<const RankedDocument> ranked, std::span<const std::string> documents,
                       std::string_view model, int64_t prompt_tokens);

std::string ScoresJson(std::span<const double> scores, std::string_view model, int64_t prompt_tokens);

// `scores`: of each text, one for each label.
std::string ClassesJson(std::span<const std::vector<double>> scores, std::span<const std::string> labels,
                        std::string_view model, int64_t prompt_tokens);

}  // namespace inferflux::server
