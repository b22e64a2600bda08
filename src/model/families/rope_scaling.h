// The rotary frequencies of a model, with the scaling that stretches its context. All is chosen here, once, from the
// context that the model is configured for; never from the length of a sequence, since keys of shared blocks must not
// depend on it.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "compute/params.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::model {

struct RopeRules {
  bool round_yarn_ramp = true;  // YaRN's ramp begins and ends at whole pairs, as most models were trained
};

// Reads rope.* of the architecture of `config`, whose head_dim and (trained) context are set. `context`: what the model
// is configured for. Knows the scalings
//   linear    positions are divided by a factor (arXiv:2306.15595);
//   yarn      fast pairs keep their frequency, slow ones are divided, with a ramp between (arXiv:2309.00071);
//   longrope  a factor a pair, rope_factors_long or _short, by whether `context` exceeds the original
//   (arXiv:2402.13753); dynamic   the base grows with `context` where that exceeds the trained one (NTK-aware;
//   rope.scaling.dynamic_factor);
// and the tensor rope_freqs.weight: Llama 3's factors, one a pair. Another one is an error.
Result<compute::RopeSpec> ReadRope(const ModelSource& source, const ModelConfig& config, int32_t context,
                                   const RopeRules& rules = {});

// The frequencies of the same architecture without any scaling.
Result<compute::RopeSpec> ReadUnscaledRope(const ModelSource& source, const ModelConfig& config, float base);

}  // namespace inferflux::model
