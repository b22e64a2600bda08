// Which weights a model has, told from a few of them.
#pragma once

#include <cstdint>

#include "model/loading/model_source.h"

namespace inferflux::serving {

// A number that models of different weights do not share, but for malice or a very odd chance: the names, types and
// shapes of the tensors that every decoder has in its first, middle and last layer, and pieces of their values.
uint64_t ModelFingerprint(const model::ModelSource& source);

}  // namespace inferflux::serving
