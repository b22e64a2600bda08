// A token of a model's vocabulary. Valid ids are 0 to the vocabulary size - 1.
#pragma once

#include <cstdint>

namespace inferflux {

using TokenId = int32_t;

}  // namespace inferflux
