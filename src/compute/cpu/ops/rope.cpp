#include <algorithm>
#include <cmath>

#include "compute/cpu/ops/row_ops.h"

namespace inferflux::compute {

host::Buffer Cpu::RopeAngles(Context& context, const Batch& batch, const RopeSpec& spec) {
  const auto pairs = static_cast<int64_t>(spec.inverse_frequencies.size());
  Buffer out = context.arena.Allocate(batch.rows(), 2 * pairs);
  constexpr int64_t kCost = 16;  // cost of a sine and a cosine, in floats moved
  cpu::ForRows(context, out.rows(), kCost * pairs, [&](int64_t r) {
    for (int64_t i = 0; i < pairs; ++i) {
      const float angle = static_cast<float>(batch.positions[r]) * spec.inverse_frequencies[i];
      out.row(r)[i] = std::cos(angle) * spec.magnitude;
      out.row(r)[pairs + i] = std::sin(angle) * spec.magnitude;
    }
  });
  return out;
}

host::Buffer Cpu::Rope(Context& context, View x, View angles, const RopeParams& params) {
  const int64_t pairs = angles.cols / 2;
  const auto kernel = context.kernels.rope[static_cast<int>(params.style)];
  return cpu::MapRows(context, x, [&](int64_t r, float* out) {
    for (int64_t h = 0; h < params.heads; ++h) {
      const float* from = x.row(r) + h * params.head_dim;
      float* to = out + h * params.head_dim;
      kernel(from, angles.row(r), angles.row(r) + pairs, pairs, to);
      std::copy(from + 2 * pairs, from + params.head_dim, to + 2 * pairs);  // dimensions past the rotated ones stay
    }
  });
}

}  // namespace inferflux::compute
