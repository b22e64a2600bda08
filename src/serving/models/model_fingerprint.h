// Identifies a model's weights by a sample of them.
#pragma once

#include <cstdint>

#include "model/loading/model_source.h"

namespace inferflux::serving {

// A hash that differs between models of different weights, except under attack or by an unlikely collision. It covers
// the names, types and shapes of the tensors that every decoder has in its first, middle and last layer, and samples of
// their values.
uint64_t ModelFingerprint(const model::ModelSource& source);

}  // namespace inferflux::serving
