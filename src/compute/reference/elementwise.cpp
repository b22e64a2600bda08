#include <algorithm>
#include <cmath>

#include "compute/host/copies.h"
#include "compute/reference/reference_backend.h"

namespace inferflux::compute {
namespace {

float Sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

float Activated(float x, Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return x * Sigmoid(x);
    case Activation::kGeluTanh:
      return 0.5f * x * (1.0f + std::tanh(0.7978845608028654f * (x + 0.044715f * x * x * x)));  // sqrt(2 / pi)
    case Activation::kGeluErf:
      return 0.5f * x * (1.0f + std::erf(x * 0.7071067811865476f));  // 1 / sqrt(2)
    case Activation::kReluSquared:
      return std::max(x, 0.0f) * std::max(x, 0.0f);
    case Activation::kSigmoid:
      return Sigmoid(x);
    case Activation::kExpExcess:
      return x < 0.0f ? std::expm1(x) - x : 0.0f;
    case Activation::kClampedSwiglu:
      return x * Sigmoid(1.702f * x);
  }
  return x;
}

float Gated(float gate, float up, Activation activation) {
  if (activation != Activation::kClampedSwiglu) return Activated(gate, activation) * up;
  constexpr float kLimit = 7.0f;
  return Activated(std::min(gate, kLimit), activation) * (std::clamp(up, -kLimit, kLimit) + 1.0f);
}

// out[r, c] = f(r, c) for a result of x's shape.
template <class F>
host::Buffer Fill(host::Arena& arena, host::View x, F f) {
  host::Buffer out = arena.Allocate(x.rows, x.cols);
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t c = 0; c < x.cols; ++c) out.row(r)[c] = f(r, c);
  }
  return out;
}

}  // namespace

host::Buffer Reference::Scale(Context& context, View x, float factor) {
  return Fill(context.arena, x, [&](int64_t r, int64_t c) { return x.row(r)[c] * factor; });
}

host::Buffer Reference::Add(Context& context, View a, View b) {
  return Fill(context.arena, a, [&](int64_t r, int64_t c) { return a.row(r)[c] + b.row(r)[c]; });
}

host::Buffer Reference::AddBias(Context& context, View x, View bias) {
  return Fill(context.arena, x, [&](int64_t r, int64_t c) { return x.row(r)[c] + bias.data[c]; });
}

host::Buffer Reference::ScaleColumns(Context& context, View x, View scales) {
  return Fill(context.arena, x, [&](int64_t r, int64_t c) { return x.row(r)[c] * scales.data[c]; });
}

host::Buffer Reference::Gate(Context& context, View gate, View up, Activation activation) {
  return Fill(context.arena, gate,
              [&](int64_t r, int64_t c) { return Gated(gate.row(r)[c], up.row(r)[c], activation); });
}

host::Buffer Reference::Activate(Context& context, View x, Activation activation) {
  return Fill(context.arena, x, [&](int64_t r, int64_t c) { return Activated(x.row(r)[c], activation); });
}

host::Buffer Reference::SoftCap(Context& context, View x, float cap) {
  return Fill(context.arena, x, [&](int64_t r, int64_t c) { return cap * std::tanh(x.row(r)[c] / cap); });
}

host::Buffer Reference::GatherRows(Context& context, View x, std::span<const int32_t> rows) {
  return host::GatherRows(context.arena, x, rows);
}

std::vector<float> Reference::Read(Context&, View x) { return host::Read(x); }

}  // namespace inferflux::compute
