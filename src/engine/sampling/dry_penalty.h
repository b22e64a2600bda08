// Penalises tokens that would continue a repetition: DRY, "don't repeat yourself" (P. E. Weidmann,
// text-generation-webui pull request 5677, 2024). What counts is the longest earlier passage that equals the end of the
// text and was followed by the token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token_id.h"
#include "engine/sampling/sampling_params.h"

namespace inferflux::engine {

class DryPenalty {
 public:
  // Ids must be in range. `history`: the sequence's tokens, prompt and output.
  void Apply(std::span<float> logits, const SamplingParams& params, std::span<const TokenId> history);

 private:
  std::vector<int32_t> repeats_;    // [vocab], all 0 between calls: tokens of repetition that the token continues
  std::vector<TokenId> continued_;  // tokens with a value other than 0
};

}  // namespace inferflux::engine
