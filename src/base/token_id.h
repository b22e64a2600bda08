// A token of a model's vocabulary; valid ids run from 0 to the vocabulary's size less one.
#pragma once

#include <cstdint>

namespace inferflux {

using TokenId = int32_t;

}  // namespace inferflux
