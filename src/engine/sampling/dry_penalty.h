// Penalises what would go on repeating a passage: DRY, "don't repeat yourself" (P. E. Weidmann, text-generation-webui
// pull request 5677, 2024). The longest earlier passage that equals the text's end and was followed by a token counts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token_id.h"
#include "engine/sampling/sampling_params.h"

namespace inferflux::engine {

class DryPenalty {
 public:
  // Ids must be inside the row. `history`: the sequence's tokens, prompt and output.
  void Apply(std::span<float> logits, const SamplingParams& params, std::span<const TokenId> history);

 private:
  std::vector<int32_t> repeats_;    // [vocab], all 0 between calls: tokens that the token would repeat
  std::vector<TokenId> continued_;  // where it is not 0
};

}  // namespace inferflux::engine
