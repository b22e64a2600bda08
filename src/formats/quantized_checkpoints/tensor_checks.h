// What every reader of quantised checkpoints asks of the tensors that belong together.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "base/result.h"
#include "formats/safetensors/safetensors_file.h"

namespace inferflux::formats {

// No weight of today has a larger dimension, and a product of two of them fits in 63 bits.
inline constexpr int64_t kMaxTensorDimension = int64_t{1} << 28;

// kDataLoss names the tensor and what it should be.
Status CheckKind(const SafetensorsTensor& tensor, std::initializer_list<SafetensorsDtype> dtypes, size_t rank);

// kDataLoss names both tensors and both shapes.
Status CheckShape(const SafetensorsTensor& tensor, std::initializer_list<uint64_t> shape,
                  const SafetensorsTensor& belongs_to);

// Scales as floats, of any floating-point type. kDataLoss names a tensor that holds something else, or a value that is
// not finite.
Result<std::vector<float>> ReadScaleTensor(const SafetensorsTensor& scales);

}  // namespace inferflux::formats
