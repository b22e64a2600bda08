#include <mlx/fast.h>
#include <mlx/ops.h>

#include "compute/mlx/arrays.h"
#include "compute/mlx/mlx_backend.h"

namespace inferflux::compute {

Mlx::Buffer Mlx::RmsNorm(Context&, View x, View weight, float epsilon) {
  const mx::array scale = mx::reshape(weight.values, {Int(weight.cols())});
  if (weight.cols() == x.cols()) return {mx::fast::rms_norm(x.values, scale, epsilon)};
  const int runs = Int(x.cols() / weight.cols());
  const mx::array apart = mx::reshape(x.values, {Int(x.rows()), runs, Int(weight.cols())});
  return {mx::reshape(mx::fast::rms_norm(apart, scale, epsilon), {Int(x.rows()), Int(x.cols())})};
}

Mlx::Buffer Mlx::LayerNorm(Context&, View x, View weight, View bias, float epsilon) {
  const mx::Shape width{Int(x.cols())};
  return {mx::fast::layer_norm(x.values, mx::reshape(weight.values, width), mx::reshape(bias.values, width), epsilon)};
}

}  // namespace inferflux::compute
