// Weights of 8-bit floats with scales: w[o][i] = scale[...] * fp8[o][i].
//
// Sources: the scales are one for the tensor, one an output (FBGEMM, compressed-tensors: "weight_scale"), or one a
// block of outputs and inputs (DeepSeek-V3's "weight_scale_inv", which multiplies in spite of its name;
// arXiv:2412.19437).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "formats/safetensors/safetensors_file.h"
#include "formats/weight_layout/fp8_layout.h"

namespace inferflux::formats {

class Fp8Weights {
 public:
  // `block`: outputs and inputs that share a scale, where config.json has weight_block_size; zeros: by the scales'
  // shape. kDataLoss names both tensors where their shapes do not fit.
  static Result<Fp8Weights> Open(const SafetensorsTensor& weight, const SafetensorsTensor& scales,
                                 std::array<uint32_t, 2> block);

  int64_t outputs() const { return outputs_; }
  int64_t inputs() const { return inputs_; }
  TensorType type() const { return type_; }  // BF16 where it holds every weight exactly, as with scales of powers of 2

  // As it is, which takes a quarter of F32; none where type() is smaller, of other floats than E4M3, and of scales for
  // fewer inputs than kFp8Run, or that hardly are numbers of weights.
  std::optional<Fp8Layout> form() const;

  // [outputs, inputs] in type().
  std::vector<std::byte> Read() const;

 private:
  Fp8Weights() = default;
  float Scale(int64_t output, int64_t input) const {
    return (*scales_)[static_cast<size_t>(output / block_outputs_ * block_columns_ + input / block_inputs_)];
  }

  const SafetensorsTensor* weight_ = nullptr;
  int64_t inputs_ = 0, outputs_ = 0;
  int64_t block_outputs_ = 1, block_inputs_ = 1, block_columns_ = 1;
  std::shared_ptr<const std::vector<float>> scales_;
  TensorType type_ = TensorType::kF32;
};

}  // namespace inferflux::formats
