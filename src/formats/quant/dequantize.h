// Decodes the blocks of a file to floats: plain scalar code, the oracle of every faster kernel.
//
// Each type gives, bit for bit, the results of PyPI's `gguf` (quants.py), including the order of the float operations.
#pragma once

#include <cstddef>
#include <cstdint>

#include "formats/tensor_type.h"

namespace inferflux::formats {

// Whether DequantizeRow supports the type: currently all, including integers.
bool CanDequantize(TensorType type);

// Decodes `n` floats from n / block_elements blocks of a type that CanDequantize. `n` must be a multiple of the block's
// elements, and `blocks` aligned as in a GGUF file: a tensor's start to 8 bytes.
void DequantizeRow(TensorType type, const std::byte* blocks, float* out, int64_t n);

}  // namespace inferflux::formats
