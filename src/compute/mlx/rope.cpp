#include <mlx/ops.h>

#include <cmath>

#include "compute/mlx/arrays.h"
#include "compute/mlx/mlx_backend.h"

namespace inferflux::compute {

// On the host: there are few angles, all layers of a step share them, and far positions need an accurate cosine.
Mlx::Buffer Mlx::RopeAngles(Context&, const Batch& batch, const RopeSpec& spec) {
  const auto pairs = static_cast<int64_t>(spec.inverse_frequencies.size());
  const auto& positions = batch.geometry.positions;
  return {MakeArray<float>({Int(static_cast<int64_t>(positions.size())), Int(2 * pairs)}, mx::float32, [&](float* out) {
    for (const int32_t position : positions) {
      for (int64_t i = 0; i < pairs; ++i) {
        const float angle = static_cast<float>(position) * spec.inverse_frequencies[i];
        out[i] = std::cos(angle) * spec.magnitude;
        out[pairs + i] = std::sin(angle) * spec.magnitude;
      }
      out += 2 * pairs;
    }
  })};
}

// Composed operations, not fast::rope: that supports neither a magnitude nor rows of several sequences at their own
// positions, and would recompute the angles in every layer.
Mlx::Buffer Mlx::Rope(Context&, View x, View angles, const RopeParams& params) {
  const int rows = Int(x.rows()), heads = params.heads, dim = params.head_dim, pairs = Int(angles.cols() / 2);
  const mx::array cosines = mx::expand_dims(mx::slice(angles.values, {0, 0}, {rows, pairs}), 1);
  const mx::array sines = mx::expand_dims(mx::slice(angles.values, {0, pairs}, {rows, 2 * pairs}), 1);
  const mx::array apart = mx::reshape(x.values, {rows, heads, dim});
  const bool halves = params.style == RopeStyle::kHalves;
  const mx::Shape step{1, 1, halves ? 1 : 2};
  const int second = halves ? pairs : 1;
  const mx::array a = mx::slice(apart, {0, 0, 0}, {rows, heads, halves ? pairs : 2 * pairs}, step);
  const mx::array b = mx::slice(apart, {0, 0, second}, {rows, heads, 2 * pairs}, step);
  const mx::array turned_a = a * cosines - b * sines;
  const mx::array turned_b = a * sines + b * cosines;
  std::vector<mx::array> pieces;
  if (halves) {
    pieces = {turned_a, turned_b};
  } else {
    pieces = {mx::reshape(mx::stack({turned_a, turned_b}, -1), {rows, heads, 2 * pairs})};
  }
  if (2 * pairs < dim) pieces.push_back(mx::slice(apart, {0, 0, 2 * pairs}, {rows, heads, dim}));  // not rotated
  return {mx::reshape(mx::concatenate(std::move(pieces), -1), {rows, heads * dim})};
}

}  // namespace inferflux::compute
