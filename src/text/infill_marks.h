// The tokens of models that fill in the middle of a text.
#pragma once

#include <optional>

#include "base/token_id.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::text {

// Bavarian et al., "Efficient Training of Language Models to Fill in the Middle", arXiv:2207.14255: prefix, suffix,
// then the middle, which the model writes.
struct InfillMarks {
  TokenId prefix = 0;
  TokenId suffix = 0;
  TokenId middle = 0;
  // Of models that read whole repositories: before the repository's name and before each file's.
  std::optional<TokenId> repository;
  std::optional<TokenId> file;
};

// Finds the marks by their names. None if the vocabulary has no complete set.
std::optional<InfillMarks> FindInfillMarks(const Tokenizer& tokenizer);

}  // namespace inferflux::text
