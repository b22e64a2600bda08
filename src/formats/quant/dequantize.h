// From the blocks of a file to floats: plain scalar code, the oracle of every faster kernel.
//
// Each type gives, bit for bit, what PyPI's `gguf` (quants.py) gives: the order of the float operations is part of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "formats/tensor_type.h"

namespace inferflux::formats {

// Whether DequantizeRow knows the type; it knows every type that a model file holds, integers included.
bool CanDequantize(TensorType type);

// `n` floats from n / block_elements blocks. Needs CanDequantize(type), n a multiple of the block, and `blocks` aligned
// as in a GGUF file (every block starts at a multiple of its widest field).
void DequantizeRow(TensorType type, const std::byte* blocks, float* out, int64_t n);

}  // namespace inferflux::formats
