// Turns a query and a text into the one prompt that a cross-encoder scores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/token_id.h"
#include "serving/generation/generation_error.h"
#include "serving/models/served_model.h"

namespace inferflux::serving {

struct PairPrompt {
  std::vector<TokenId> tokens;
  int32_t second_text = 0;  // where the document begins; 0: a template joined the two
};

// How a document that is too long is cut. Its beginning stays.
struct PairLimits {
  std::optional<size_t> document;  // most tokens of the document
  std::optional<size_t> whole;     // most tokens of the prompt, by a shorter document
};

// Uses the model's template for reranking if it has one (tokenizer.chat_template.rerank, with {query} and {document}),
// or a chat template for the roles "query" and "document"; otherwise the special tokens that the tokenizer puts around
// and between two texts. Text of the request never becomes a control token.
GenerationResult<PairPrompt> MakePairPrompt(const ServedModel& model, const std::string& query,
                                            const std::string& document, const PairLimits& limits = {});

}  // namespace inferflux::serving
