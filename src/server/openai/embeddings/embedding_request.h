// The parsed and checked body of POST /v1/embeddings, and its requests to a model.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/http_message.h"
#include "scheduler/generation.h"
#include "server/openai/fields/raw_prompts.h"
#include "server/request/services.h"
#include "serving/models/served_model.h"

namespace inferflux::server {

inline constexpr size_t kMaxInputs = 2048;

struct EmbeddingRequest {
  std::string model;
  std::vector<RawPrompt> inputs;
  bool base64 = false;  // encoding_format
  std::optional<int64_t> dimensions;
  std::string user;
};

ApiResult<EmbeddingRequest> ParseEmbeddingRequest(const boost::json::object& body);

// A request that is ready to run: checked, with its model found and its inputs tokenised.
struct EmbeddingJob {
  std::shared_ptr<const serving::ServedModel> model;
  std::vector<scheduler::GenerationRequest> requests;  // one for each input
  size_t dimensions = 0;
  bool base64 = false;
};

ApiResult<EmbeddingJob> PrepareEmbedding(const Services& services, const net::Request& request, const Caller& caller);

}  // namespace inferflux::server
