// NVFP4 of compressed-tensors ("nvfp4-pack-quantized") and NVIDIA's ModelOpt: w[o][i] = f * s[o][i / 16] * q[o][i],
// with q of four bits (OCP's E2M1), s unsigned E4M3, and f the per-tensor scale, a float. GGUF's NVFP4 holds q and s. f
// becomes a separate tensor, NAME.scale, which multiplies the outputs of the matmul.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "formats/safetensors/safetensors_file.h"

namespace inferflux::formats {

class Nvfp4 {
 public:
  enum class ScaleUse {
    kDivides,     // compressed-tensors' weight_global_scale: f is 1 over it
    kMultiplies,  // ModelOpt's weight_scale_2: f
  };

  // packed: [outputs, inputs / 2] of U8, the first of two inputs in the low half; scales: [outputs, inputs / 16] of
  // E4M3; tensor_scale: one value. kDataLoss if shapes or types contradict each other (it names both
  // tensors), if a scale is negative or NaN, or if f is not finite and positive.
  static Result<Nvfp4> Open(const SafetensorsTensor& packed, const SafetensorsTensor& scales,
                            const SafetensorsTensor& tensor_scale, ScaleUse how);

  int64_t outputs() const { return outputs_; }
  int64_t inputs() const { return inputs_; }
  TensorType type() const;  // NVFP4; or F32, multiplied by f, if the inputs are not whole GGUF blocks

  // f, if Read leaves it out.
  float tensor_scale() const { return type() == TensorType::kNvfp4 ? tensor_scale_ : 1.0f; }
  std::vector<std::byte> Read() const;  // [outputs, inputs] in type()

 private:
  Nvfp4() = default;

  const std::byte* packed_ = nullptr;
  const std::byte* scales_ = nullptr;
  float tensor_scale_ = 1.0f;
  int64_t inputs_ = 0, outputs_ = 0;
};

// One value that belongs to a weight, [1] of F32.
struct TensorScale {
  float value = 1.0f;

  std::vector<std::byte> Read() const;
};

}  // namespace inferflux::formats
