// Affine groups of MLX checkpoints (formats/weight_layout/affine_layout.h), for every backend: as the smallest GGUF
// type that holds every weight exactly. That is Q4_1 for up to 4 bits and Q5_1 for 5, if groups consist of whole blocks
// and float16 holds scales and biases, and F32 otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "formats/safetensors/safetensors_file.h"
#include "formats/weight_layout/affine_layout.h"

namespace inferflux::formats {

class MlxAffineWeights {
 public:
  // weight: [outputs, inputs * bits / 32] of U32. The bits follow from the shapes and `group_size`. kDataLoss names
  // both tensors if their shapes or types contradict each other. kUnsupported names the bits.
  static Result<MlxAffineWeights> Open(const SafetensorsTensor& weight, const SafetensorsTensor& scales,
                                       const SafetensorsTensor& biases, int64_t group_size);
  // One expert of stacked tensors, [experts, outputs, ...]. Errors as for Open.
  static Result<MlxAffineWeights> OpenExpert(const SafetensorsTensor& weights, const SafetensorsTensor& scales,
                                             const SafetensorsTensor& biases, int64_t group_size, uint64_t expert);

  int64_t outputs() const { return outputs_; }
  int64_t inputs() const { return inputs_; }
  TensorType type() const { return type_; }
  const AffineLayout& layout() const { return layout_; }

  // [outputs, inputs] in type(), outputs() rows of whole blocks.
  std::vector<std::byte> Read() const;

 private:
  MlxAffineWeights() = default;

  AffineLayout layout_;
  int64_t outputs_ = 0, inputs_ = 0;
  TensorType type_ = TensorType::kF32;
};

}  // namespace inferflux::formats
