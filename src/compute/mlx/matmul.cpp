#include <mlx/ops.h>

#include "compute/mlx/arrays.h"
#include "compute/mlx/mlx_backend.h"
#include "compute/mlx/weights.h"

namespace inferflux::compute {

mx::array Product(const mx::array& x, const Mlx::Weights& weights, bool narrow) {
  const mx::Dtype type = MatmulType(weights, narrow);
  if (weights.scales) {
    const mx::array product = mx::quantized_matmul(mx::astype(x, type), weights.values, *weights.scales, weights.biases,
                                                   /*transpose=*/true, weights.group, weights.bits, weights.mode);
    return mx::astype(product, mx::float32);
  }
  const mx::array transposed = mx::swapaxes(mx::astype(weights.values, type), -1, -2);
  return mx::astype(mx::matmul(mx::astype(x, type), transposed), mx::float32);
}

Mlx::Buffer Mlx::MatMul(Context& context, View x, const Matrix& matrix) {
  if (x.rows() == 0) return {mx::zeros({0, Int(matrix.rows)}, mx::float32)};
  std::vector<mx::array> products;
  for (const Weights& part : matrix.parts) products.push_back(Product(x.values, part, context.narrow_products));
  return {products.size() == 1 ? products.front() : mx::concatenate(std::move(products), -1)};
}

}  // namespace inferflux::compute
