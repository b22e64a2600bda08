// The parsed and checked body of POST /v1/embeddings, and its requests to a model.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "net/http_message.h"
#include "server/openai/fields/raw_prompts.h"
#include "server/reply/embedding_run.h"
#include "server/reply/field_rows.h"
#include "server/request/services.h"

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

struct PreparedInputs {
  EmbeddingJob job;
  bool base64 = false;
};

ApiResult<PreparedInputs> PrepareEmbedding(const Services& services, const net::Request& request, const Caller& caller);

// Its fields, for the documentation.
std::vector<FieldRow> EmbeddingFieldRows();

}  // namespace inferflux::server
