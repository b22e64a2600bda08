#include <algorithm>
#include <cmath>

#include "compute/reference/reference_backend.h"

namespace inferflux::compute {

host::Buffer Reference::RopeAngles(Context& context, const Batch& batch, const RopeSpec& spec) {
  const auto pairs = static_cast<int64_t>(spec.inverse_frequencies.size());
  Buffer out = context.arena.Allocate(batch.rows(), 2 * pairs);
  for (int64_t r = 0; r < out.rows(); ++r) {
    for (int64_t i = 0; i < pairs; ++i) {
      const float angle = static_cast<float>(batch.positions[r]) * spec.inverse_frequencies[i];
      out.row(r)[i] = std::cos(angle) * spec.magnitude;
      out.row(r)[pairs + i] = std::sin(angle) * spec.magnitude;
    }
  }
  return out;
}

host::Buffer Reference::Rope(Context& context, View x, View angles, const RopeParams& params) {
  Buffer out = context.arena.Allocate(x.rows, x.cols);
  const int64_t pairs = angles.cols / 2;
  const bool halves = params.style == RopeStyle::kHalves;
  for (int64_t r = 0; r < x.rows; ++r) {
    const float* cosines = angles.row(r);
    const float* sines = cosines + pairs;
    std::copy_n(x.row(r), x.cols, out.row(r));  // dimensions past the rotated ones stay
    for (int64_t h = 0; h < params.heads; ++h) {
      const float* in = x.row(r) + h * params.head_dim;
      float* to = out.row(r) + h * params.head_dim;
      for (int64_t i = 0; i < pairs; ++i) {
        const int64_t a = halves ? i : 2 * i;
        const int64_t b = halves ? i + pairs : 2 * i + 1;
        to[a] = in[a] * cosines[i] - in[b] * sines[i];
        to[b] = in[a] * sines[i] + in[b] * cosines[i];
      }
    }
  }
  return out;
}

}  // namespace inferflux::compute
