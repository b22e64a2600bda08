// The parsed and checked bodies of the rerank endpoints, /score and /classify.
//
// /rerank takes the fields of vLLM, Jina, Cohere, llama-server and Text Embeddings Inference, which name the same
// things differently.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/openai/fields/raw_prompts.h"
#include "server/reply/field_rows.h"
#include "server/request/api_error.h"

namespace inferflux::server {

inline constexpr size_t kMostScoredTexts = 10'000;

// The fields that all of them share.
struct ScoreOptions {
  std::string model;
  std::string user;
  bool raw = false;                               // scores as the head makes them
  std::optional<int64_t> truncate_prompt_tokens;  // -1: the context
};

struct RerankRequest {
  ScoreOptions options;
  std::optional<std::string> query;
  std::vector<std::string> documents;
  bool texts = false;  // the documents came as `texts`: the reply has that API's form
  std::optional<int64_t> top_n;
  std::optional<bool> return_documents;
  std::optional<int64_t> max_tokens_per_doc;
};

struct ScoreRequest {
  ScoreOptions options;
  std::vector<std::string> first;  // one, or as many as there are in `second`
  std::vector<std::string> second;
  std::string second_param = "text_2";  // its field in the request
};

struct ClassifyRequest {
  ScoreOptions options;
  std::vector<RawPrompt> input;
};

ApiResult<RerankRequest> ParseRerankRequest(const boost::json::object& body);
ApiResult<ScoreRequest> ParseScoreRequest(const boost::json::object& body);
ApiResult<ClassifyRequest> ParseClassifyRequest(const boost::json::object& body);

// Their fields, for the documentation.
std::vector<FieldRow> RerankFieldRows();
std::vector<FieldRow> ScoreFieldRows();
std::vector<FieldRow> ClassifyFieldRows();

}  // namespace inferflux::server
