// NVFP4 as compressed-tensors ("nvfp4-pack-quantized") and NVIDIA's ModelOpt hold it: w[o][i] = f * s[o][i / 16] *
// q[o][i], q of four bits (OCP's E2M1), s unsigned E4M3, f a float of the whole tensor. GGUF's NVFP4 holds q and s; f
// goes into a tensor of its own beside it, NAME.scale, by which a product's outputs are multiplied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "formats/safetensors/safetensors_file.h"

namespace inferflux::formats {

class Nvfp4 {
 public:
  enum class Factor {
    kDivides,     // compressed-tensors' weight_global_scale: f is 1 over it
    kMultiplies,  // ModelOpt's weight_scale_2: f
  };

  // packed: [outputs, inputs / 2] of U8, the first of two inputs in the low half; scales: [outputs, inputs / 16] of
  // E4M3; factor: one value. kDataLoss where shapes or types contradict each other (both tensors are named), a scale
  // has a sign or is no number, or f is none that is finite and positive.
  static Result<Nvfp4> Open(const SafetensorsTensor& packed, const SafetensorsTensor& scales,
                            const SafetensorsTensor& factor, Factor how);

  int64_t outputs() const { return outputs_; }
  int64_t inputs() const { return inputs_; }
  TensorType type() const;  // NVFP4; or F32, f multiplied in, where inputs are no whole blocks of GGUF's

  // f, where Read leaves it out.
  float factor() const { return type() == TensorType::kNvfp4 ? factor_ : 1.0f; }
  std::vector<std::byte> Read() const;  // [outputs, inputs] in type()

 private:
  Nvfp4() = default;

  const std::byte* packed_ = nullptr;
  const std::byte* scales_ = nullptr;
  float factor_ = 1.0f;
  int64_t inputs_ = 0, outputs_ = 0;
};

// One value that belongs to a weight, [1] of F32.
struct TensorScale {
  float value = 1.0f;

  std::vector<std::byte> Read() const;
};

}  // namespace inferflux::formats
