#include <mlx/ops.h>

#include "compute/mlx/arrays.h"
#include "compute/mlx/mlx_backend.h"

namespace inferflux::compute {
namespace {

// [rows, streams, n] of [rows, streams * n].
mx::array Apart(const Mlx::View& x, int64_t streams) {
  return mx::reshape(x.values, {Int(x.rows()), Int(streams), Int(x.cols() / streams)});
}

mx::array MeanSquare(const mx::array& x) { return mx::mean(mx::square(x), -1, /*keepdims=*/true); }

}  // namespace

Mlx::Buffer Mlx::MixStreams(Context&, View x, View factors, int32_t inputs) {
  const int outputs = Int(factors.cols() / inputs);
  // [rows, outputs, inputs, 1] times [rows, 1, inputs, n], summed over the inputs.
  const mx::array by = mx::reshape(factors.values, {Int(factors.rows()), outputs, inputs, 1});
  const mx::array mixed = mx::sum(by * mx::expand_dims(Apart(x, inputs), 1), 2);
  return {mx::reshape(mixed, {Int(x.rows()), outputs * Int(x.cols() / inputs)})};
}

Mlx::Buffer Mlx::MatchMagnitudes(Context&, View x, View like) {
  const mx::array streams = Apart(x, x.cols() / like.cols());
  const mx::array wanted = MeanSquare(mx::expand_dims(like.values, 1));
  const mx::array own = mx::maximum(MeanSquare(streams), mx::array(kLeastMeanSquare));
  return {mx::reshape(streams * mx::sqrt(wanted / own), {Int(x.rows()), Int(x.cols())})};
}

Mlx::Buffer Mlx::CutRows(Context&, View x, float deviations) {
  const mx::array mean = mx::mean(x.values, -1, /*keepdims=*/true);
  const mx::array deviation = mx::sqrt(MeanSquare(x.values - mean));
  return {mx::maximum(x.values - (mean + mx::array(deviations) * deviation), mx::array(0.0f))};
}

}  // namespace inferflux::compute
