#include "formats/weight_layout/fp8_layout.h"

#include "base/half.h"

namespace inferflux::formats {

void ReadRow(const Fp8Layout& layout, int64_t row, int64_t inputs, float* out) {
  const std::byte* values = layout.values.data() + row * inputs;
  const float* scales = layout.scales.data() + row / layout.block_outputs * ScaleColumns(layout, inputs);
  for (int64_t i = 0; i < inputs; ++i) {
    out[i] = ToFloat(Fp8{static_cast<uint8_t>(values[i])}) * scales[i / layout.block_inputs];
  }
}

}  // namespace inferflux::formats
