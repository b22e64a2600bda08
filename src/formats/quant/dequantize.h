// From the blocks of a file to floats: plain scalar code, the oracle of every faster kernel.
//
// Each type gives, bit for bit, what PyPI's `gguf` (quants.py) gives: the order of the float operations is part of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "formats/tensor_type.h"

namespace inferflux::formats {

// Whether DequantizeRow knows the type: so far it knows all of them, integers included.
bool CanDequantize(TensorType type);

// `n` floats from n / block_elements blocks, of a type that CanDequantize. Needs n a multiple of the block's elements,
// and `blocks` aligned as in a GGUF file: a tensor's start to 8 bytes.
void DequantizeRow(TensorType type, const std::byte* blocks, float* out, int64_t n);

}  // namespace inferflux::formats
