// The keys of a mixture of experts (MoE): how many experts there are, which layers have them, and how they are chosen.
#pragma once

#include "base/result.h"
#include "model/loading/model_source.h"
#include "model/model_config.h"

namespace inferflux::model {

// Reads expert_*, leading_dense_block_count and interleave_moe_layer_step of the architecture of `config`, whose layers
// and feed_forward must be set. What a file omits stays as the family has set it. kDataLoss names a key whose value
// contradicts another one.
Status ReadExperts(const ModelSource& source, ModelConfig* config);

}  // namespace inferflux::model
