// What may come next at one position of a text, and how likely the model finds it: the answer to a request that
// generates nothing.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "scheduler/generation.h"
#include "text/reasoning/output_matcher.h"
#include "text/tokenizer/tokenizer.h"

namespace inferflux::scheduler {

// `logits`: of the position after the prompt, [vocab_size]. `matcher` is at the position where the output begins, and
// may be null: then any token may come next. `output`: the tokens of the output that the prompt ends with.
// kInvalidArgument if the constraint does not allow them; its message tells how far they fit.
Result<NextTokens> ScoreNextTokens(std::span<const float> logits, const text::OutputMatcher* matcher,
                                   std::span<const TokenId> output, int32_t top, const text::Tokenizer& tokenizer);

}  // namespace inferflux::scheduler
