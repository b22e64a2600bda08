// Checks of tensors that belong together, for all readers of quantised checkpoints.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "base/result.h"
#include "formats/safetensors/safetensors_file.h"

namespace inferflux::formats {

// No current model has a larger dimension, and the product of two dimensions fits in 63 bits.
inline constexpr int64_t kMaxTensorDimension = int64_t{1} << 28;

// kDataLoss names the tensor and the expected type or rank.
Status CheckKind(const SafetensorsTensor& tensor, std::initializer_list<SafetensorsDtype> dtypes, size_t rank);

// kDataLoss names both tensors and both shapes.
Status CheckShape(const SafetensorsTensor& tensor, std::initializer_list<uint64_t> shape,
                  const SafetensorsTensor& belongs_to);

// Scales as floats, from any floating-point type. kDataLoss names a tensor with another type, or with a value that is
// not finite.
Result<std::vector<float>> ReadScaleTensor(const SafetensorsTensor& scales);

}  // namespace inferflux::formats
