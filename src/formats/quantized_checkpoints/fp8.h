// Weights of 8-bit floats with scales: w[o][i] = scale[...] * fp8[o][i].
//
// Sources: there is one scale for the tensor, one for each output (FBGEMM, compressed-tensors: "weight_scale"), or one
// for each block of outputs and inputs (DeepSeek-V3's "weight_scale_inv", which multiplies in spite of its name;
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
  // `block`: outputs and inputs that share a scale, if config.json has weight_block_size; zeros: derive it from the
  // scales' shape. kDataLoss names both tensors if their shapes do not match.
  static Result<Fp8Weights> Open(const SafetensorsTensor& weight, const SafetensorsTensor& scales,
                                 std::array<uint32_t, 2> block);

  int64_t outputs() const { return outputs_; }
  int64_t inputs() const { return inputs_; }
  TensorType type() const { return type_; }  // BF16 if that is exact, as with scales that are powers of 2

  // The weight in its own layout, a quarter of the size of F32. None if type() is smaller, for other floats than E4M3,
  // and for scales that cover fewer inputs than kFp8Run or have extreme values.
  std::optional<Fp8Layout> layout() const;

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
