#include <mlx/ops.h>

#include "compute/mlx/arrays.h"
#include "compute/mlx/mlx_backend.h"
#include "compute/mlx/weights.h"

namespace inferflux::compute {

Mlx::Buffer Mlx::Embed(Context&, const Table& table, const Batch& batch) {
  const Weights& weights = table.parts.front();
  const auto rows = [&](const mx::array& of) { return mx::take(of, batch.tokens, 0); };
  if (!weights.scales) return {mx::astype(rows(weights.values), mx::float32)};
  return {
      mx::dequantize(rows(weights.values), rows(*weights.scales), rows(*weights.biases), kAffineGroup, weights.bits)};
}

}  // namespace inferflux::compute
