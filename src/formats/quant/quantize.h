// Encodes floats as the blocks of a file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "formats/tensor_type.h"

namespace inferflux::formats {

// F32, F16, BF16, Q4_0 to Q8_0, Q2_K to Q6_K, IQ4_NL, IQ4_XS, MXFP4, TQ1_0 and TQ2_0.
bool CanQuantize(TensorType type);

// Encodes `n` finite values as n / block_elements blocks. `importance` is null, or has a weight of at least 0 for each
// value: how much its error matters (from an importance matrix: the mean square of the column's activations). Requires
// CanQuantize(type), `n` a multiple of the block's elements, and `blocks` aligned to 8 bytes at a tensor's start.
void QuantizeRow(TensorType type, const float* values, const float* importance, std::byte* blocks, int64_t n);

}  // namespace inferflux::formats
