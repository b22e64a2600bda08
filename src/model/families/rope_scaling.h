// The rotary frequencies of a model, with the scaling that stretches its context.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "compute/params.h"
#include "model/model_source.h"

namespace inferflux::model {

// Reads `prefix`rope.* and the tensor rope_freqs.weight (Llama 3's factors, one a pair). An unknown scaling is an error.
Result<compute::RopeSpec> ReadRope(const ModelSource& source, const std::string& prefix, int32_t head_dim);

}  // namespace inferflux::model
