// The rotary frequencies of a model, with the scaling that extends its context. They are computed once, here, from the
// context that the model is configured for. They never depend on the length of a sequence, because sequences share
// blocks of keys.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "compute/params.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::model {

// Whether YaRN's ramp begins and ends at integer pairs: a key of our own, because GGUF has none.
inline constexpr const char* kYarnTruncateKey = "inferflux.rope.yarn_truncate";

struct RopeRules {
  bool round_yarn_ramp = true;  // what kYarnTruncateKey is where a file omits it: as in training for most models
};

// Reads rope.* of the architecture of `config`, whose head_dim and (trained) context must be set. `context`: the number
// of tokens that the model is configured for. Supported scalings:
//   linear    positions are divided by a factor (arXiv:2306.15595);
//   yarn      fast pairs keep their frequency, slow ones are divided, with a ramp between (arXiv:2309.00071);
//   longrope  one factor per pair: rope_factors_long if `context` exceeds the original context, otherwise
//             rope_factors_short (arXiv:2402.13753);
//   dynamic   the base grows with `context` beyond the trained context (NTK-aware; rope.scaling.dynamic_factor);
// and the tensor rope_freqs.weight: Llama 3's factors, one per pair. Any other scaling is an error.
Result<compute::RopeSpec> ReadRope(const ModelSource& source, const ModelConfig& config, int32_t context,
                                   const RopeRules& rules = {});

// The length up to which RoPE is another than beyond: LongRoPE's original context, with dynamic scaling the trained
// one. Empty if RoPE does not depend on the configured context. transformers chooses by the length of each prompt; here
// the configured context chooses for all of them.
Result<std::optional<int32_t>> RopeSwitch(const ModelSource& source);

// The frequencies of the same architecture without any scaling.
Result<compute::RopeSpec> ReadUnscaledRope(const ModelSource& source, const ModelConfig& config, float base);

}  // namespace inferflux::model
