// Rows of floats: the plain vector code, on Google Highway for the instruction set that this file is compiled for.
// Lanes are filled by index, so a row's result depends on the row alone.
#pragma once

#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include <cmath>
#include <limits>

#include "compute/cpu/kernels.h"

namespace inferflux::compute::cpu {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using FloatVector = hn::Vec<hn::ScalableTag<float>>;

// out[i] = f(inputs[i]...); what lies past n is read as zero and not written.
template <class F, class... In>
inline void Map(float* out, int64_t n, F f, const In*... in) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, in + i)...), d, out + i);
  if (i < n) {
    const auto mask = hn::FirstN(d, static_cast<size_t>(n - i));
    hn::BlendedStore(f(hn::MaskedLoad(mask, d, in + i)...), mask, d, out + i);
  }
}

void AddRow(const float* a, const float* b, float* out, int64_t n) {
  Map(
      out, n, [](auto x, auto y) { return hn::Add(x, y); }, a, b);
}

void ScaleRow(const float* x, float factor, float* out, int64_t n) {
  const auto by = hn::Set(hn::ScalableTag<float>(), factor);
  Map(
      out, n, [=](auto v) { return hn::Mul(v, by); }, x);
}

void RmsNormRow(const float* x, const float* weight, float epsilon, float* out, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto squares = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    squares = hn::MulAdd(v, v, squares);
  }
  if (i < n) {
    const auto v = hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n - i)), d, x + i);
    squares = hn::MulAdd(v, v, squares);
  }
  const float mean = hn::GetLane(hn::SumOfLanes(d, squares)) / static_cast<float>(n);
  const auto inverse = hn::Set(d, 1.0f / std::sqrt(mean + epsilon));
  Map(
      out, n, [=](auto v, auto w) { return hn::Mul(hn::Mul(v, inverse), w); }, x, weight);
}

void GateSilu(const float* gate, const float* up, float* out, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto one = hn::Set(d, 1.0f);
  const auto most = hn::Set(d, 88.0f);  // exp stays finite; the quotient is below 1e-36
  const auto f = [=](auto g, auto u) {
    const auto e = hn::Exp(d, hn::Min(hn::Neg(g), most));
    return hn::Mul(hn::Div(g, hn::Add(one, e)), u);
  };
  Map(out, n, f, gate, up);
}

void GateGeluTanh(const float* gate, const float* up, float* out, int64_t n) {
  const hn::ScalableTag<float> d;
  const auto one = hn::Set(d, 1.0f);
  const auto half = hn::Set(d, 0.5f);
  const auto root = hn::Set(d, 0.7978845608028654f);  // sqrt(2 / pi)
  const auto cubic = hn::Set(d, 0.044715f);
  const auto f = [=](auto g, auto u) {
    const auto inner = hn::Mul(root, hn::MulAdd(hn::Mul(cubic, hn::Mul(g, g)), g, g));
    return hn::Mul(hn::Mul(hn::Mul(half, g), hn::Add(one, hn::Tanh(d, inner))), u);
  };
  Map(out, n, f, gate, up);
}

// Highway has no erf; the models that want this one are small encoders.
void GateGeluErf(const float* gate, const float* up, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    out[i] = 0.5f * gate[i] * (1.0f + std::erf(gate[i] * 0.7071067811865476f)) * up[i];  // 1 / sqrt(2)
  }
}

// One head: out[a] = x[a] cos - x[b] sin, out[b] = x[a] sin + x[b] cos, with a = i, b = i + pairs.
void RopeHalves(const float* x, const float* cosines, const float* sines, int64_t pairs, float* out) {
  Map(
      out, pairs, [](auto a, auto b, auto c, auto s) { return hn::NegMulAdd(b, s, hn::Mul(a, c)); }, x, x + pairs,
      cosines, sines);
  Map(
      out + pairs, pairs, [](auto a, auto b, auto c, auto s) { return hn::MulAdd(a, s, hn::Mul(b, c)); }, x, x + pairs,
      cosines, sines);
}

// The same with a = 2i, b = 2i + 1.
void RopeInterleaved(const float* x, const float* cosines, const float* sines, int64_t pairs, float* out) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= pairs; i += lanes) {
    FloatVector a, b;
    hn::LoadInterleaved2(d, x + 2 * i, a, b);
    const auto c = hn::LoadU(d, cosines + i);
    const auto s = hn::LoadU(d, sines + i);
    hn::StoreInterleaved2(hn::NegMulAdd(b, s, hn::Mul(a, c)), hn::MulAdd(a, s, hn::Mul(b, c)), d, out + 2 * i);
  }
  for (; i < pairs; ++i) {
    const float a = x[2 * i];
    const float b = x[2 * i + 1];
    out[2 * i] = a * cosines[i] - b * sines[i];
    out[2 * i + 1] = a * sines[i] + b * cosines[i];
  }
}

}  // namespace
}  // namespace inferflux::compute::cpu
