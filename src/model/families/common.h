// What most decoder families share, so that a family's file says only where it differs.
#pragma once

#include "base/result.h"
#include "model/model_config.h"
#include "model/model_source.h"

namespace inferflux::model {

// Reads sizes, norm and RoPE under the architecture's own key prefix, and checks that they can belong together.
// attention_scale is 1 / sqrt(head_dim).
Result<ModelConfig> ReadDecoderConfig(const ModelSource& source);

}  // namespace inferflux::model
