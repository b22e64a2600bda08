#include <mlx/ops.h>

#include "compute/mlx/arrays.h"
#include "compute/mlx/mlx_backend.h"

namespace inferflux::compute {
namespace {

mx::array Activated(const mx::array& x, Activation activation) {
  const auto number = [](float value) { return mx::array(value); };
  switch (activation) {
    case Activation::kSilu:
      return x * mx::sigmoid(x);
    case Activation::kGeluTanh: {
      const mx::array inner = number(0.7978845608028654f) * (x + number(0.044715f) * x * x * x);  // sqrt(2 / pi)
      return number(0.5f) * x * (number(1.0f) + mx::tanh(inner));
    }
    case Activation::kGeluErf:
      return number(0.5f) * x * (number(1.0f) + mx::erf(x * number(0.7071067811865476f)));  // 1 / sqrt(2)
    case Activation::kReluSquared:
      return mx::square(mx::maximum(x, number(0.0f)));
    case Activation::kSigmoid:
      return mx::sigmoid(x);
    case Activation::kExpExcess: {
      const mx::array below = mx::minimum(x, number(0.0f));
      return mx::expm1(below) - below;
    }
    case Activation::kClampedSwiglu:
      return x * mx::sigmoid(number(1.702f) * x);
  }
  return x;
}

}  // namespace

Mlx::View Mlx::Columns(View x, int64_t first, int64_t count) {
  return {mx::slice(x.values, {0, Int(first)}, {Int(x.rows()), Int(first + count)})};
}

Mlx::Buffer Mlx::GatherRows(Context&, View x, std::span<const int32_t> rows) {
  if (rows.empty()) return {mx::zeros({0, Int(x.cols())}, mx::float32)};
  return {mx::take(x.values, IndexArray(rows), 0)};
}

Mlx::Buffer Mlx::Scale(Context&, View x, float factor) { return {x.values * mx::array(factor)}; }

Mlx::Buffer Mlx::Add(Context&, View a, View b) { return {a.values + b.values}; }

Mlx::Buffer Mlx::AddBias(Context&, View x, View bias) { return {x.values + bias.values}; }

Mlx::Buffer Mlx::ScaleColumns(Context&, View x, View scales) { return {x.values * scales.values}; }

Mlx::Buffer Mlx::GatherColumns(Context&, View x, std::span<const int32_t> columns) {
  return {mx::take(x.values, IndexArray(columns), 1)};
}

Mlx::Buffer Mlx::Gate(Context&, View gate, View up, Activation activation) {
  if (activation != Activation::kClampedSwiglu) return {Activated(gate.values, activation) * up.values};
  const mx::array limit(7.0f);
  const mx::array clamped = mx::clip(up.values, mx::array(-7.0f), limit) + mx::array(1.0f);
  return {Activated(mx::minimum(gate.values, limit), activation) * clamped};
}

Mlx::Buffer Mlx::Activate(Context&, View x, Activation activation) { return {Activated(x.values, activation)}; }

Mlx::Buffer Mlx::SoftCap(Context&, View x, float cap) { return {mx::array(cap) * mx::tanh(x.values / mx::array(cap))}; }

}  // namespace inferflux::compute
