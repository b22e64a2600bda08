// Embeds the texts of one request, for any API. If the client disconnects, what remains is not computed.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/response_writer.h"
#include "scheduler/generation.h"
#include "server/request/access/api_keys.h"
#include "server/request/api_error.h"
#include "serving/generation/chat_prompt.h"
#include "serving/models/served_model.h"

namespace inferflux::server {

struct EmbeddingTexts {
  std::vector<serving::RawPrompt> texts;
  std::optional<int64_t> dimensions;  // none: as many as the model makes
  bool truncate = false;              // cut a text that is longer than the context; otherwise it is an error
  std::string param;                  // the field's name in errors
};

// Ready to run: checked and tokenised.
struct EmbeddingJob {
  std::shared_ptr<const serving::ServedModel> model;
  std::vector<scheduler::GenerationRequest> requests;  // one for each text
  size_t dimensions = 0;
  std::shared_ptr<RequestTrace> trace = nullptr;
  std::string param = "input";  // the field of the texts, for errors
};

// 400 for dimensions that the model does not have, for ids that are not in its vocabulary, and for a text that is
// longer than its context.
ApiResult<EmbeddingJob> MakeEmbeddingJob(std::shared_ptr<const serving::ServedModel> model, EmbeddingTexts texts,
                                         const Caller& caller);

struct EmbeddingAnswer {
  std::vector<std::vector<float>> vectors;  // in the order of the texts
  int64_t prompt_tokens = 0;
  std::optional<ApiError> error;
  bool cancelled = false;  // the client has disconnected
};

boost::asio::awaitable<EmbeddingAnswer> RunEmbedding(EmbeddingJob& job, net::ResponseWriter& writer);

// The first `dimensions` values, scaled to length 1 if the whole vector was.
std::vector<float> Shorten(std::vector<float> vector, size_t dimensions, bool normalised);

// [0.25,-1], each number in the shortest form that parses to the same float.
std::string FloatsJson(const std::vector<float>& vector);

}  // namespace inferflux::server
