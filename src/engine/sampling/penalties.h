// Changes to logits before any probability is computed: bias, penalties on earlier tokens, and bans.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/token_id.h"
#include "base/token_mask.h"
#include "engine/sampling/sampling_params.h"

namespace inferflux::engine {

class Penalties {
 public:
  // Ids must be in range, also the mask's. The mask may be null; tokens past its end are not allowed. `history`: the
  // sequence's tokens, of which the first `prompt_tokens` are its prompt.
  void Apply(std::span<float> logits, const SamplingParams& params, std::span<const TokenId> history,
             int32_t prompt_tokens, std::span<const TokenId> banned, const TokenMask* mask);

 private:
  std::vector<int32_t> counts_;  // [vocab], all 0 between calls
};

}  // namespace inferflux::engine
