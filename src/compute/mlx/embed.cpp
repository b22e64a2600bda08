#include <mlx/ops.h>

#include "compute/mlx/arrays.h"
#include "compute/mlx/mlx_backend.h"
#include "compute/mlx/weights.h"

namespace inferflux::compute {

Mlx::Buffer Mlx::Embed(Context&, const Table& table, const Batch& batch) {
  const Weights& weights = table.parts.front();
  const auto rows = [&](const mx::array& of) { return mx::take(of, batch.tokens, 0); };
  if (!weights.scales) return {mx::astype(rows(weights.values), mx::float32)};
  if (!weights.biases) {
    return {mx::dequantize(rows(weights.values), rows(*weights.scales), std::nullopt, weights.group, weights.bits,
                           weights.mode, /*global_scale=*/std::nullopt, mx::float32)};
  }
  const auto floats = [&](const mx::array& of) { return mx::astype(rows(of), mx::float32); };
  return {mx::dequantize(rows(weights.values), floats(*weights.scales), floats(*weights.biases), weights.group,
                         weights.bits)};
}

}  // namespace inferflux::compute
